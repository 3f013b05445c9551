/** Phases in which slots recall: at once, and all must succeed. */
import { describeError, isRetryable, MemoryError, type MemoryRecallMessage } from "@keepsake/core";
import type { RecalledBatch } from "./history.ts";
import { parseRecallResult } from "./recall-result.ts";
import { callAll, callHandler, type Handler, isGivenUp, type Round } from "./round.ts";
import type { SlotLock } from "./slots.ts";
import { emitTimed } from "./turn.ts";

type RecallRound = Round & { readonly phase: "turn.started" | "compaction.completed" };

/**
 * What each slot recalled, in the order of slots; slots without a handler for the phase are left out.
 * @throws MemoryError `recall_failed` (`compaction_failed` after a compaction) or `invalid_recall`: of several failures
 * the first in the order of slots, once all have settled.
 */
export async function recallAll(round: RecallRound, locks: readonly SlotLock[]): Promise<readonly RecalledBatch[]> {
  const { turn, phase, callerSignal } = round;
  const recalling = locks.filter(({ slot }) => slot.definition.provider.recall[phase] !== undefined);
  const startedAt = turn.host.clock.now();
  const outcomes = await callAll<unknown, RecalledBatch | MemoryError>(turn, recalling, {
    call: (lock) => callHandler(round, lock, recallHandler),
    answered: (lock, answer) => {
      const slot = lock.slot.name;
      const messages = parseRecallResult(slot, answer);
      emitTimed(turn, startedAt, { code: "recall_completed", slot, phase, counts: sizeOf(messages) });
      return { lock, messages };
    },
    failed: ({ slot: { name: slot } }, cause) => {
      const error = recallError(round, slot, cause);
      if (!isGivenUp(round)) {
        emitTimed(turn, startedAt, { code: "recall_failed", slot, phase, error: describeError(error) });
      }
      return error;
    },
  });
  for (const signal of [turn.signal, callerSignal]) signal?.throwIfAborted();
  return outcomes.map((outcome) => {
    if (outcome instanceof MemoryError) throw outcome;
    return outcome;
  });
}

const recallHandler: Handler = {
  kind: "recall",
  invoke: ({ slot }, phase, context) => {
    const { recall } = slot.definition.provider;
    if (phase === "turn.started") return recall["turn.started"](context); // as eve does, as a method of `recall`
    const compactionCompleted = recall["compaction.completed"]; // and as a function
    return compactionCompleted?.(context as never);
  },
  input: ({ turn }) => turn.input,
  result: ({ slot }, answer) => {
    const messages = parseRecallResult(slot.name, answer);
    const { messages: records, characters } = sizeOf(messages);
    return { records, characters, output: () => messages };
  },
};

/** Whatever a provider throws, its words stay with it: only what kind of error it was goes on. */
function recallError({ phase }: RecallRound, slot: string, cause: unknown): MemoryError {
  if (isOurs(cause) && cause.code === "invalid_recall" && cause.slot === slot) return cause;
  const details = { slot, cause, retryable: isRetryable(cause) };
  const what = `Memory slot "${slot}" could not recall.`;
  return phase === "turn.started"
    ? new MemoryError("recall_failed", `${what} The turn was not started.`, details)
    : new MemoryError("compaction_failed", `${what} The history is as it was.`, details);
}

function isOurs(error: unknown): error is MemoryError {
  try {
    return error instanceof MemoryError;
  } catch {
    return false; // a proxy that answers nothing
  }
}

function sizeOf(messages: readonly MemoryRecallMessage[]): { readonly messages: number; readonly characters: number } {
  return { messages: messages.length, characters: messages.reduce((sum, { content }) => sum + content.length, 0) };
}
