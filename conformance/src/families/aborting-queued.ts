/**
 * Aborting what waits for another call: a queue for each person, a lock on the file, one connection for all. The call that
 * is at work listens to its signal, and whoever stands behind it listens to nobody until it is their turn.
 */
import { createKeyedQueue, type MemoryProvider, withDeadline } from "@keepsake/core";
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { abortReason, isAbort } from "../drive/abort.ts";
import { asMethod, between, type HandlerCall } from "../drive/between.ts";
import type { WritePath } from "../drive/facts.ts";
import { endlessFaults, recoverFromAbandoned } from "../drive/faulting.ts";
import { type Operation, operationsOf, ready } from "../drive/operations.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family, type Mutant } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { quietOr, watch } from "../time/wait.ts";

const behindWrite = defineCheck({
  id: "aborting-queued/behind-a-write",
  clause: "MEM-ABT-06",
  title: "While a write waits for its backend, every other operation is aborted, and ends at once",
  needs: ["backend"],
  reasons: {
    late: "What comes behind another call waits for it whatever its own signal says: in a queue, for a lock, for a connection, or on a promise that they share.",
    resolved: "The abort of a call that waits for another is answered as if all were well.",
    "other-error": "The abort of a call that waits for another is turned into an error of the provider's.",
  },
  async run(bench, fail) {
    const fault = endlessFaults(bench).find(({ kind }) => kind === "hang");
    if (fault === undefined) return bench.untestable("This backend cannot be made to wait.");
    const handle = await bench.open();
    const [writer, other] = [bench.someone(handle), bench.someone(handle)];
    const operations: Operation[] = [];
    for (const person of [writer, other]) {
      for (const name of operationsOf(bench)) {
        const operation = await ready(bench, handle, name, { hurried: false, person });
        if (operation !== undefined) operations.push(operation);
      }
    }
    let tried = 0;
    for (const [index, path] of bench.writePaths.entries()) {
      const behind = operations.filter(({ person }) => person === writer || index === 0);
      for (const { operation, outcome } of await abortedBehind(bench, { writer, path, fault }, behind)) {
        tried += 1;
        const whose = operation.person === writer ? "same person's" : "other person's";
        const where = `The ${whose} ${operation.name}, aborted while a write by ${path} was waiting,`;
        if (outcome.state === "pending") return fail("late", `${where} was still open.`);
        if (outcome.state === "fulfilled") return fail("resolved", `${where} resolved.`);
        if (!isAbort(outcome.error))
          fail("other-error", `${where} rejected with neither the reason nor an AbortError.`);
      }
    }
    if (tried === 0) bench.notApplicable("None of its operations waits while a write does.");
  },
});

const mutants: readonly Mutant[] = [
  {
    id: "aborting-queued/deaf-in-the-queue",
    flaw: "Lets the captures of a person wait for each other, and looks at the signal of each when it is its turn.",
    kills: { "aborting-queued/behind-a-write": "late" },
    spares: ["aborting/before", "aborting/during-hang", "stopping/two-calls"],
    provider: (provider) => {
      const inOrder = createKeyedQueue();
      return captured(provider, (call) => inOrder(keyOf(call), async () => asMethod(call)));
    },
  },
  {
    id: "aborting-queued/one-lock-for-all",
    flaw: "Has one lock for everybody, and waits for it without the signal.",
    kills: { "aborting-queued/behind-a-write": "late" },
    spares: ["aborting/before", "aborting/during-hang", "aborting/usable-after"],
    provider: (provider) => {
      const inOrder = createKeyedQueue();
      return between(provider, (call) =>
        call.name === "tools" ? asMethod(call) : inOrder("everybody", async () => asMethod(call)),
      );
    },
  },
  {
    id: "aborting-queued/leaves-quietly",
    flaw: "Takes a capture that is aborted in its queue for one that need not be made.",
    kills: { "aborting-queued/behind-a-write": "resolved" },
    spares: ["aborting/before", "aborting/during-hang", "aborting/usable-after"],
    provider: (provider) => queued(provider, () => undefined),
  },
  {
    id: "aborting-queued/own-error-in-the-queue",
    flaw: "Says that memory is busy when a capture is aborted in its queue.",
    kills: { "aborting-queued/behind-a-write": "other-error" },
    spares: ["aborting/before", "aborting/during-hang", "aborting/usable-after"],
    provider: (provider) =>
      queued(provider, () => {
        throw new Error("Memory is busy.");
      }),
  },
];

export const abortingQueued: Family = defineFamily({
  name: "aborting-queued",
  clauses: [
    {
      id: "MEM-ABT-06",
      level: "MUST",
      profile: "base",
      sentence:
        "Recall, capture and every tool, aborted while another call, of the same person or of somebody else, waits for the backend, reject at once with the signal's reason or an AbortError.",
      source: "P5, E7.3, E7.4",
    },
  ],
  checks: [behindWrite],
  mutants,
});

interface Hanging {
  readonly writer: Person;
  readonly path: WritePath;
  readonly fault: Fault;
}

/** How each operation that waits while a write does ended when it alone was aborted; then all is well again. */
async function abortedBehind(
  bench: Bench,
  { writer, path, fault }: Hanging,
  operations: readonly Operation[],
): Promise<readonly { readonly operation: Operation; readonly outcome: Outcome<unknown> }[]> {
  const { backend, busy } = bench;
  const made = await Promise.all(
    operations.map(async (operation) => [operation, await operation.person.toolset()] as const),
  );
  const hanging = new AbortController();
  const seen = backend.observed().length;
  backend.inject(fault);
  const write = watch(
    writer.again(writer.handle, { hurried: false }).write(bench.canary().text, { path, signal: hanging.signal }),
  );
  const isThere = (): boolean => backend.observed().length > seen;
  await quietOr(
    () => isThere() || write.outcome.state !== "pending",
    () => false,
    200,
  );
  await quietOr(() => false, busy);
  const aborted: { operation: Operation; outcome: Outcome<unknown> }[] = [];
  for (const [operation, tools] of isThere() ? made : []) {
    const controller = new AbortController();
    const call = operation.run({ signal: controller.signal, tools });
    const watched = watch(call);
    await quietOr(() => watched.outcome.state !== "pending", busy);
    const isWaiting = watched.outcome.state === "pending";
    controller.abort(abortReason);
    const ended = await bench.atOnce(call);
    if (isWaiting) aborted.push({ operation, outcome: ended });
    if (ended.state === "pending") break;
  }
  hanging.abort();
  await recoverFromAbandoned(bench);
  return aborted;
}

function captured(provider: MemoryProvider, make: (call: HandlerCall) => unknown): MemoryProvider {
  return between(provider, (call) => (call.name.startsWith("capture") ? make(call) : asMethod(call)));
}

/** Captures in order; `leave` answers those that are aborted before it is their turn. */
function queued(provider: MemoryProvider, leave: () => unknown): MemoryProvider {
  const inOrder = createKeyedQueue();
  return captured(provider, async (call) => {
    const signal: AbortSignal = Reflect.get(call.context, "abortSignal");
    signal.throwIfAborted();
    let hasBegun = false;
    const turn = async (): Promise<unknown> => {
      signal.throwIfAborted();
      hasBegun = true;
      return asMethod(call);
    };
    try {
      return await withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, () => inOrder(keyOf(call), turn));
    } catch (error) {
      if (hasBegun) throw error;
      return leave();
    }
  });
}

function keyOf({ context }: HandlerCall): string {
  return Reflect.get(context, "memory").scope.key; // every context has it
}
