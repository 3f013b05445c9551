/**
 * Stopping: a call that was aborted is over, and it alone. Providers went on trying behind the back of a caller who had
 * been told that nothing happened; others left a listener on the signal for each call of a long session, or let two callers
 * share one request, so that whoever stopped first stopped both.
 */
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Exchange, Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { type Canary, holds } from "../drive/canary.ts";
import { endlessFaults, passingFault, recoverFromAbandoned } from "../drive/faulting.ts";
import { defineFamily, type Family } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { eventLoopTurn, quiet, quietOr, watch } from "../time/wait.ts";
import { stoppingMutants } from "./stopping-mutants.ts";

const goesOn = defineCheck({
  id: "stopping/goes-on",
  clause: "MEM-STP-01",
  title: "A write is aborted while it waits, and its backend recovers",
  needs: ["current", "backend", "provider-time"],
  reasons: {
    "goes-on": "It goes on behind the caller's back: what tries again has a signal of its own, or none.",
  },
  async run(bench, fail) {
    let tried = 0;
    // Not where the backend has done the write, and only its answer is slow.
    for (const fault of [passingFault(bench), ...endlessFaults(bench).filter(isHang)]) {
      for (const path of bench.writePaths.filter((each) => each !== "import")) {
        const person = bench.someone(await bench.open());
        const [kept, aborted] = [bench.canary(), bench.canary()];
        await person.write(kept.text, { path });
        const writer = person.again(person.handle, { hurried: false });
        const sent = await sentAfterAbort(bench, fault, aborted, (signal) =>
          writer.write(aborted.text, { path, signal }),
        );
        if (sent === undefined) continue;
        tried += 1;
        const where = `A write by ${path}, aborted under "${fault.name}",`;
        if (sent > 0) fail("goes-on", `${where} sent ${sent} more requests after it had rejected.`);
        if (await person.knows(aborted)) fail("goes-on", `${where} was recalled.`);
        if (!(await person.knows(kept))) bench.untestable("What was written before was not recalled.");
      }
    }
    if (tried === 0) bench.notApplicable("None of its writes waits, or ends when it is aborted.");
  },
});

const rounds = 20;

const listeners = defineCheck({
  id: "stopping/listeners",
  clause: "MEM-STP-02",
  title: "Twenty recalls and writes have one signal, and settle",
  reasons: {
    left: "The abort listener is not removed when a call has settled: `removeEventListener` in a `finally`.",
  },
  async run(bench, fail) {
    const person = bench.someone(await bench.open());
    const { signal } = new AbortController();
    const round = async (): Promise<void> => {
      const memory = bench.canary();
      await person.write(memory.text, { signal });
      await person.recall(memory.query, { signal });
    };
    await round();
    const before = getEventListeners(signal, "abort").length;
    for (let time = 0; time < rounds; time += 1) await round();
    const more = await lasting(() => getEventListeners(signal, "abort").length - before);
    // The last requests may not have been collected yet.
    if (more >= rounds)
      fail("left", `After ${rounds} more recalls and writes their signal had ${more} more listeners.`);
  },
});

const twoCalls = defineCheck({
  id: "stopping/two-calls",
  clause: "MEM-STP-03",
  title: "Two recalls of one scope wait at once, and one of them is aborted",
  needs: ["backend"],
  reasons: {
    "held-by-other": "Recalls at once share one request, and whoever joined it can leave only when it ends.",
    "ended-by-other": "Recalls at once share one request under the first caller's signal, whose abort ends them all.",
  },
  async run(bench, fail) {
    const fault = endlessFaults(bench).find(isHang);
    if (fault === undefined) return bench.untestable("This backend cannot be made to wait.");
    const second = await oneOfTwo(bench, fault, 1);
    if (second === undefined) return bench.notApplicable("Its recalls do not wait for its backend.");
    if (second.aborted.state === "pending") fail("held-by-other", "The second, aborted alone, was still open.");
    const first = await oneOfTwo(bench, fault, 0);
    if (first === undefined) return bench.notApplicable("Its recalls do not wait for its backend.");
    if (first.aborted.state === "pending") fail("held-by-other", "The first, aborted alone, was still open.");
    if ([second, first].some(({ isOtherEnded }) => isOtherEnded))
      fail("ended-by-other", "One ended without the memory when only the other was aborted.");
  },
});

export const stopping: Family = defineFamily({
  name: "stopping",
  clauses: [
    {
      id: "MEM-STP-01",
      level: "MUST",
      profile: "base",
      sentence:
        "A write that was aborted before its backend took it, and has rejected, makes no further request, and is not recalled.",
      source: "P5",
    },
    {
      id: "MEM-STP-02",
      level: "SHOULD",
      profile: "base",
      sentence: "A call that has settled leaves no listener on its signal.",
      source: "P5, P16",
    },
    {
      id: "MEM-STP-03",
      level: "MUST",
      profile: "base",
      sentence: "Of two recalls at once, each is ended by its own signal at once, and by no other's.",
      source: "P5",
    },
  ],
  checks: [goesOn, listeners, twoCalls],
  mutants: stoppingMutants,
});

const isHang = ({ kind }: Fault): boolean => kind === "hang";
const reason = new DOMException("The turn was cancelled.", "TurnCancelled");

/** How many requests a write makes after it was aborted; `undefined` where it did not wait, or did not end. */
async function sentAfterAbort(
  bench: Bench,
  fault: Fault,
  memory: Canary,
  write: (signal: AbortSignal) => Promise<unknown>,
): Promise<number | undefined> {
  const { backend, time, busy } = bench;
  const controller = new AbortController();
  const seen = backend.observed().length;
  backend.inject(fault);
  const call = watch(write(controller.signal));
  const isSettled = (): boolean => call.outcome.state !== "pending";
  const isWaiting = await waits(bench, isSettled, seen);
  controller.abort(reason);
  await quietOr(isSettled, busy, 50);
  const isOver = isWaiting && call.outcome.state === "rejected";
  await quiet(busy);
  const before = backend.observed().length;
  const madeInAMinute = async (): Promise<readonly Exchange[]> => {
    const first = backend.observed().length;
    for (let step = 0; step < 6; step += 1) {
      await time.advance(10_000);
      await quiet(busy);
    }
    return backend.observed().slice(first);
  };
  backend.heal();
  const after = [...backend.observed().slice(before), ...(await madeInAMinute())];
  const idle = await madeInAMinute();
  await recoverFromAbandoned(bench);
  if (!isOver) return undefined;
  const withIt = after.filter(({ sent }) => holds([sent], memory.word));
  // A socket that was closed may be made once more, which says nothing of the write.
  return backend.kind === "tcp" ? withIt.length : Math.max(withIt.length, after.length - idle.length);
}

interface OneOfTwo {
  readonly aborted: Outcome<unknown>;
  /** Whether the other ended with the abort, or without what is stored. */
  readonly isOtherEnded: boolean;
}

/** Two recalls of one memory wait, and one is aborted; then all is well again. `undefined` where they do not wait. */
async function oneOfTwo(bench: Bench, fault: Fault, which: 0 | 1): Promise<OneOfTwo | undefined> {
  const [writer, handle] = [await bench.open(), await bench.open()];
  const [person, kept] = [bench.someone(bench.facts.capabilities.durable === true ? writer : handle), bench.canary()];
  await person.write(kept.text); // by another instance, so that what the recalls make first is made under their signals
  const controllers = [new AbortController(), new AbortController()] as const;
  const seen = bench.backend.observed().length;
  bench.backend.inject(fault);
  const recalls = controllers.map(({ signal }) =>
    person.again(handle, { hurried: false }).recall(kept.query, { signal }),
  );
  const [aborted, other] = which === 0 ? recalls : recalls.reverse();
  if (aborted === undefined || other === undefined) return undefined; // there are two
  const [call, otherCall] = [watch(aborted), watch(other)];
  const isSettled = (): boolean => call.outcome.state !== "pending" || otherCall.outcome.state !== "pending";
  const isWaiting = await waits(bench, isSettled, seen);
  controllers[which].abort(reason);
  const outcome = await bench.atOnce(aborted);
  const atOnce = await bench.atOnce(other);
  bench.backend.heal();
  // Nobody answers what a fault has held: it ends by a deadline, for which nobody waits in real time.
  if (bench.time.mode === "real") controllers[1 - which]?.abort();
  await otherCall.settled;
  await recoverFromAbandoned(bench);
  if (!isWaiting) return undefined;
  const later = otherCall.outcome;
  const isEmpty = later.state === "fulfilled" && !later.value.text.toLowerCase().includes(kept.word);
  return { aborted: outcome, isOtherEnded: (atOnce.state === "rejected" && isAbort(atOnce.error)) || isEmpty };
}

/** The abort itself, or an error that names it as its cause. One of a lost connection is none. */
function isAbort(error: unknown, depth = 0): boolean {
  const { name, cause } = Object(error);
  const isIt = error === reason || name === "AbortError" || name === reason.name;
  return isIt || (cause !== undefined && depth < 5 && isAbort(cause, depth + 1));
}

/** Whether a call has reached its backend, and has nothing left to do but wait. */
async function waits(bench: Bench, isSettled: () => boolean, seen: number): Promise<boolean> {
  const isThere = (): boolean => bench.backend.observed().length > seen;
  await quietOr(
    () => isThere() || isSettled(),
    () => false,
    200,
  );
  await quietOr(isSettled, bench.busy);
  return isThere() && !isSettled();
}

/** The number once it is small, or what is left after garbage was collected: a request takes its listener along then. */
async function lasting(count: () => number): Promise<number> {
  if (count() < rounds) return count();
  await collectGarbage();
  return count();
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  for (let round = 0; round < 5; round += 1) {
    collect();
    await eventLoopTurn();
  }
}
