/** Phases in which slots recall: at once, and all must succeed. */
import { describeError, MemoryError, type MemoryProvider, type MemoryRecallMessage } from "@keepsake/core";
import type { RecalledBatch } from "./history.ts";
import { parseRecallResult } from "./recall-result.ts";
import type { SlotLock } from "./slots.ts";
import { elapsedMs, emit, handlerContext, isGivenUp, operationOf, type Round, traced, unlessAborted } from "./turn.ts";

type RecallRound = Round & { readonly phase: "turn.started" | "compaction.completed" };
type Recall = MemoryProvider["recall"]["turn.started"];

/**
 * What each slot recalled, in the order of slots; slots without a handler for the phase are left out.
 * @throws MemoryError `recall_failed` (`compaction_failed` after a compaction) or `invalid_recall`: of several failures
 * the first in the order of slots, once all have settled.
 */
export async function recallAll(round: RecallRound, locks: readonly SlotLock[]): Promise<readonly RecalledBatch[]> {
  const outcomes = await Promise.allSettled(
    locks.flatMap((lock) => {
      const recall = lock.slot.definition.provider.recall[round.phase];
      return recall === undefined ? [] : [recallSlot(round, lock, recall as Recall)];
    }),
  );
  for (const signal of [round.turn.signal, round.callerSignal]) signal?.throwIfAborted();
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}

async function recallSlot(round: RecallRound, lock: SlotLock, recall: Recall): Promise<RecalledBatch> {
  const { turn, phase } = round;
  const slot = lock.slot.name;
  const startedAt = turn.host.clock.now();
  try {
    const recalled = await traced(
      turn,
      lock,
      () => ask(round, lock, recall),
      () => ({
        call: { kind: "recall", phase, operationId: operationOf(round, slot), input: () => turn.input },
        result: (messages) => ({ ...sizeOf(messages), output: () => messages }),
        wasGivenUp: () => isGivenUp(round),
      }),
    );
    const { records: messages, characters } = sizeOf(recalled);
    const counts = { messages, characters };
    emit(turn, { code: "recall_completed", slot, phase, durationMs: elapsedMs(turn, startedAt), counts });
    return { lock, messages: recalled };
  } catch (error) {
    if (!isGivenUp(round)) {
      const durationMs = elapsedMs(turn, startedAt);
      emit(turn, { code: "recall_failed", slot, phase, durationMs, error: describeError(error) });
    }
    throw error;
  }
}

/** Whatever a provider throws, its words stay with it: only what kind of error it was goes on. */
async function ask(round: RecallRound, lock: SlotLock, recall: Recall): Promise<readonly MemoryRecallMessage[]> {
  const { turn, phase, callerSignal } = round;
  const { name: slot, definition } = lock.slot;
  // As eve calls them: the first as a method of `recall`, the other as a function.
  const receiver = phase === "turn.started" ? definition.provider.recall : undefined;
  const call = (abortSignal: AbortSignal) => recall.call(receiver as never, handlerContext(round, lock, abortSignal));
  let answer: unknown;
  try {
    answer = await unlessAborted(turn, call, callerSignal);
  } catch (cause) {
    for (const signal of [turn.signal, callerSignal]) signal?.throwIfAborted();
    const retryable = MemoryError.isInstance(cause) && cause.retryable;
    throw phase === "turn.started"
      ? new MemoryError("recall_failed", `Memory slot "${slot}" could not recall. The turn was not started.`, {
          slot,
          cause,
          retryable,
        })
      : new MemoryError("compaction_failed", `Memory slot "${slot}" could not recall. The history is as it was.`, {
          slot,
          cause,
          retryable,
        });
  }
  return parseRecallResult(slot, answer);
}

function sizeOf(messages: readonly MemoryRecallMessage[]): { readonly records: number; readonly characters: number } {
  return { records: messages.length, characters: messages.reduce((sum, { content }) => sum + content.length, 0) };
}
