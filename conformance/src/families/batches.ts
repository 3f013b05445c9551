/**
 * Several things in one write, and a backend that fails between them. A loop that goes on with the next message, or
 * `Promise.allSettled` with nobody who looks, answers as if all were kept; a ledger that is told of the whole before the
 * last of it is written keeps the rest out for good.
 */
import type { ImportResult } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { type Copies, copiesIn, isShown } from "../drive/copies.ts";
import { attempt, moments, passingFault, recover, recovered } from "../drive/faulting.ts";
import { userMessage } from "../drive/messages.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { batchMutants } from "./batch-mutants.ts";

const captured = defineCheck({
  id: "batches/capture",
  clause: "MEM-FLT-09",
  title: "A turn with three user messages is captured while the backend fails, and once more when it is well",
  needs: ["backend", "capture"],
  reasons: {
    part: "One message that could not be kept is left out, logged perhaps, and the capture resolves for the sake of the others.",
    lost: "After a part of a turn was kept, its operation counts as done.",
    twice: "What was kept of a turn before the failure is kept again when the turn comes again.",
  },
  run: (bench, fail) =>
    broken(bench, fail, {
      what: "capture",
      begin(person, memories) {
        const turn = person.begin(memories.map(({ text }) => userMessage(text)));
        return async () => {
          await person.capture(turn);
          return true;
        };
      },
    }),
});

const imported = defineCheck({
  id: "batches/import",
  clause: "MEM-FLT-10",
  title: "Three records are imported while the backend fails, and once more when it is well",
  needs: ["backend", "maintenance"],
  reasons: {
    part: "A record that could not be kept is left out, and is not among the refused.",
    lost: "After a part of an import was kept, the rest counts as being there.",
    twice: "What was kept before the failure is kept again when the import comes again.",
  },
  run: (bench, fail) =>
    broken(bench, fail, {
      what: "import",
      begin(person, memories) {
        const lines = memories.map(({ topic, text }) => ({ type: "memory" as const, id: topic, text }));
        return async () => {
          const result = await person.maintain("import", (each, key) => each.import({ key, lines }));
          return refusesNothing(result);
        };
      },
    }),
});

export const batches: Family = defineFamily({
  name: "batches",
  clauses: [
    {
      id: "MEM-FLT-09",
      level: "MUST",
      profile: "base",
      sentence:
        "A capture whose backend failed at one of several messages rejects unless it kept all of them, and when it comes again it keeps each once.",
      source: "P2, P4",
    },
    {
      id: "MEM-FLT-10",
      level: "MUST",
      profile: "base",
      sentence:
        "An import whose backend failed at one of several records rejects, or lists it as refused, unless it kept all of them, and when it comes again it keeps each once.",
      source: "P2, P4, P15",
    },
  ],
  checks: [captured, imported],
  mutants: batchMutants,
});

interface Batch {
  readonly what: "capture" | "import";
  /** The write of all memories, which can be done several times. Answers whether it says that all of them are kept. */
  begin(person: Person, memories: readonly Canary[]): () => Promise<boolean>;
}

const mostMoments = 10;

/** The write, broken after each number of its requests in turn, by somebody new each time. */
async function broken(bench: Bench, fail: Fail<"part" | "lost" | "twice">, { what, begin }: Batch): Promise<void> {
  const handle = await bench.open();
  const fault = passingFault(bench);
  const start = () => {
    const [person, memories] = [bench.someone(handle), [bench.canary(), bench.canary(), bench.canary()]];
    return { person, memories, write: begin(person, memories) };
  };
  const usual = start();
  const before = bench.backend.observed().length;
  await usual.write();
  const requests = bench.backend.observed().length - before;
  const single = await kept(usual.person, usual.memories);
  if (single.some((copies) => copies === undefined))
    bench.notApplicable(`Of several memories in one ${what}, it does not keep each as it was said.`);
  for (const after of moments(requests, mostMoments)) {
    const { person, memories, write } = start();
    bench.backend.inject(fault, { after });
    const outcome = await attempt(bench, write);
    await recover(bench);
    const where = `when all failed after ${after} of ${requests} requests`;
    if (outcome.state === "pending") continue;
    const isDone = outcome.state === "fulfilled" && outcome.value;
    if (!isDone) await recovered(bench, write);
    const found = await recovered(bench, () => kept(person, memories));
    const missing = found.filter((copies) => copies === undefined).length;
    if (missing > 0 && isDone) fail("part", `The ${what} resolved, and ${missing} of three were not kept, ${where}.`);
    if (missing > 0)
      fail("lost", `${missing} of three were not kept by the repeat of a ${what} that failed, ${where}.`);
    if (found.some((copies) => copies !== undefined && isMoreOften(copies, single)))
      fail("twice", `One of three stood there more than once after a repeated ${what}, ${where}.`);
  }
}

/** How often each of the memories is shown; `undefined` for one that is not. */
async function kept(person: Person, memories: readonly Canary[]): Promise<readonly (Copies | undefined)[]> {
  const together = await person.readings(memories.map(({ query }) => query).join(" "));
  const found: (Copies | undefined)[] = [];
  for (const memory of memories) {
    const copies = copiesIn(together, memory);
    const alone = isShown(copies) ? copies : copiesIn(await person.readings(memory.query), memory);
    found.push(isShown(alone) ? alone : undefined);
  }
  return found;
}

/** Whether some read path shows it more often than any memory of a write that nothing disturbed. */
function isMoreOften(copies: Copies, usual: readonly (Copies | undefined)[]): boolean {
  return [...copies].some(([path, count]) => {
    const most = Math.max(...usual.map((each) => each?.get(path) ?? 0));
    return most > 0 && count > most;
  });
}

function refusesNothing({ refused }: ImportResult): boolean {
  return refused.length === 0;
}
