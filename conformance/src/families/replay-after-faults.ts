/**
 * Replay while the backend fails. What an operation recalled is kept by a request of its own, after those that read; where
 * that one fails and nobody says so, the recall looks like any other, and the next one of the operation differs from it.
 */
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Turn } from "../drive/contexts.ts";
import { attempt, endingFaults, moments, passingFault, recover, recovered } from "../drive/faulting.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { alsoAbout, isSame } from "../drive/replayed.ts";
import { defineFamily, type Family } from "../family.ts";
import { quiet } from "../time/wait.ts";

const mostMoments = 6;

const afterFault = defineCheck({
  id: "replay/after-fault",
  clause: "MEM-RPL-07",
  title: "One operation recalls while any of its requests fails, and again when another memory was written since",
  needs: ["replay", "backend", "current"],
  reasons: {
    differs:
      "What an operation recalled could not be kept, and nobody says so: look for a catch around that write, or for one that is not waited for.",
    "in-process":
      "What could not be kept where other instances find it is kept in this one, although replay is declared durable.",
    "after-failure":
      "What an operation recalls is not kept any more once that has failed: it is noted as kept before it is, or given up.",
  },
  async run(bench, fail) {
    const [handle, other] = [await bench.open(), await otherInstance(bench)];
    const requests = await requestsOfReplay(bench, handle);
    const unsettled: string[] = [];
    for (const fault of faultsOf(bench)) {
      for (const after of moments(requests, mostMoments)) {
        const asking = await aboutToAsk(bench, handle);
        const { person, turn, memory } = asking;
        const when = `"${fault.name}" after ${after} requests`;
        bench.backend.inject(fault, { after });
        const first = await attempt(bench, () => person.recall(turn));
        if (first.state === "fulfilled") await quiet(bench.busy); // what it did not wait for meets the fault too
        await recover(bench);
        if (first.state === "pending") {
          unsettled.push(when);
          continue;
        }
        await recovered(bench, () => asking.writeAnother());
        const again = await recovered(bench, () => person.recall(turn));
        if (first.state === "fulfilled") {
          if (!isSame(first.value, again))
            fail("differs", `An operation that had recalled under ${when} recalled other messages later.`);
          if (other !== undefined && !isSame(first.value, await person.again(other).recall(turn)))
            fail("in-process", `What an operation recalled under ${when} another instance did not recall.`);
          continue;
        }
        if (!again.text.includes(memory.word))
          fail("after-failure", `An operation that had failed under ${when} recalled nothing later.`);
        await asking.writeAnother();
        if (!isSame(again, await person.recall(turn)))
          fail("after-failure", `An operation that had failed under ${when} recalled differently from then on.`);
      }
    }
    if (unsettled.length > 0)
      bench.advise(`Not decided: its time is real, and it was still trying, under: ${unsettled.join(", ")}.`);
  },
});

export const replayAfterFaults: Family = defineFamily({
  name: "replay after faults",
  clauses: [
    {
      id: "MEM-RPL-07",
      level: "MUST",
      profile: "strict",
      sentence:
        "While its backend fails, a recall rejects, or its operation recalls the same from then on; one that rejected can be asked again, and then it does.",
      source: "P3, P4",
    },
  ],
  checks: [afterFault],
  mutants: [
    {
      id: "replay/pin-swallowed",
      flaw: "Recalls all the same when what an operation recalled could not be kept.",
      kills: { "replay/after-fault": "differs" },
      spares: ["replay/interleaved", "replay/restart", "faults/recall", "faults/first-of-several"],
      store: (store) => ({
        ...store,
        pin: (scope, operation, ids, signal) => store.pin(scope, operation, ids, signal).catch(() => ids),
      }),
    },
    {
      id: "replay/pins-in-the-background",
      flaw: "Does not wait for what an operation recalled to be kept.",
      kills: { "replay/after-fault": "differs", "replay/restart": "differs" },
      spares: ["replay/interleaved", "faults/recall"],
      store: (store) => {
        const own = new Map<string, readonly string[]>();
        return {
          ...store,
          async pin(scope, operation, ids, signal) {
            const name = `${scope} ${operation}`;
            if (!own.has(name))
              store.pin(scope, operation, ids, signal).then(
                (kept) => own.set(name, kept),
                () => {},
              );
            return own.get(name) ?? ids;
          },
        };
      },
    },
    {
      id: "replay/pinned-here-instead",
      flaw: "Keeps in the instance what it could not keep in its backend, and declares that replay outlives a restart.",
      kills: { "replay/after-fault": "in-process" },
      spares: ["replay/interleaved", "replay/restart", "faults/recall"],
      store: (store) => {
        const own = new Map<string, readonly string[]>();
        return {
          ...store,
          async pin(scope, operation, ids, signal) {
            const kept = own.get(`${scope} ${operation}`);
            if (kept !== undefined) return kept;
            return store.pin(scope, operation, ids, signal).catch(() => {
              own.set(`${scope} ${operation}`, ids);
              return ids;
            });
          },
        };
      },
    },
    {
      id: "replay/gives-up-pinning",
      flaw: "Leaves it be to keep what an operation recalls once that has failed three times.",
      kills: { "replay/after-fault": "after-failure" },
      spares: ["replay/interleaved", "replay/restart", "faults/recall", "faults/again-and-again"],
      store: (store) => {
        const failures = new Map<string, number>();
        return {
          ...store,
          async pin(scope, operation, ids, signal) {
            const failed = failures.get(`${scope} ${operation}`) ?? 0;
            if (failed >= 3) return ids;
            return store.pin(scope, operation, ids, signal).catch((error: unknown) => {
              failures.set(`${scope} ${operation}`, failed + 1);
              throw error;
            });
          },
        };
      },
    },
  ],
});

/** One that passes, and one under which something is kept and nobody is told, or half of it is. */
function faultsOf(bench: Bench): readonly Fault[] {
  const half = endingFaults(bench).find(({ kind }) => kind === "lost-reply" || kind === "torn-write");
  return half === undefined ? [passingFault(bench)] : [passingFault(bench), half];
}

/** Whoever declares that replay is durable keeps it where others find it. */
async function otherInstance(bench: Bench): Promise<Handle | undefined> {
  return bench.facts.declared.replay === "durable" ? bench.open() : undefined;
}

/** How many requests an operation's recall makes. Ends the check where it does not come to the same twice while all is well. */
async function requestsOfReplay(bench: Bench, handle: Handle): Promise<number> {
  const { person, turn, memory, writeAnother } = await aboutToAsk(bench, handle);
  const before = bench.backend.observed().length;
  const first = await person.recall(turn);
  await quiet(bench.busy);
  const requests = bench.backend.observed().length - before;
  if (!first.text.includes(memory.word)) bench.notApplicable("It does not recall what was written before.");
  await writeAnother();
  if (!isSame(first, await person.recall(turn)))
    bench.notApplicable("It does not recall the same under one operation while all is well, either.");
  return requests;
}

interface Asking {
  readonly person: Person;
  readonly turn: Turn;
  readonly memory: Canary;
  /** Writes another memory that the question asks for. */
  writeAnother(): Promise<unknown>;
}

/** Somebody new who has a memory, and a turn that asks for it. */
async function aboutToAsk(bench: Bench, handle: Handle): Promise<Asking> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.again().write(memory.text);
  const writeAnother = () => person.again().write(alsoAbout(memory, bench.canary()));
  return { person, memory, turn: person.begin(memory.query), writeAnother };
}
