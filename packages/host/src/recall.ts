/** The first phase of a turn: all slots recall at once, and all must succeed. */
import { describeError, MemoryError, type MemoryRecallMessage, type ModelMessage } from "@keepsake/core";
import { parseRecallResult } from "./recall-result.ts";
import type { SlotLock } from "./slots.ts";
import { elapsedMs, emit, handlerContext, type Turn, unlessAborted } from "./turn.ts";

/**
 * What each slot recalled, in the order of slots.
 * @throws MemoryError `recall_failed` or `invalid_recall`: of several failures the first in the order of slots.
 */
export async function recallAll(
  turn: Turn,
  locks: readonly SlotLock[],
  messages: readonly ModelMessage[],
): Promise<readonly (readonly MemoryRecallMessage[])[]> {
  const outcomes = await Promise.allSettled(locks.map((lock) => recallSlot(turn, lock, messages)));
  turn.signal.throwIfAborted();
  return outcomes.map((outcome) => {
    if (outcome.status === "fulfilled") return outcome.value;
    throw outcome.reason;
  });
}

async function recallSlot(
  turn: Turn,
  lock: SlotLock,
  messages: readonly ModelMessage[],
): Promise<readonly MemoryRecallMessage[]> {
  const slot = lock.slot.name;
  const startedAt = turn.host.clock.now();
  try {
    const recalled = parseRecallResult(slot, await callProvider(turn, lock, messages));
    const characters = recalled.reduce((sum, { content }) => sum + content.length, 0);
    const counts = { messages: recalled.length, characters };
    emit(turn, { code: "recall_completed", slot, durationMs: elapsedMs(turn, startedAt), counts });
    return recalled;
  } catch (error) {
    if (!turn.signal.aborted) {
      emit(turn, { code: "recall_failed", slot, durationMs: elapsedMs(turn, startedAt), error: describeError(error) });
    }
    throw error;
  }
}

/** Whatever a provider throws, its words stay with it: only what kind of error it was goes on. */
async function callProvider(turn: Turn, lock: SlotLock, messages: readonly ModelMessage[]): Promise<unknown> {
  const slot = lock.slot.name;
  try {
    return await unlessAborted(turn, (abortSignal) =>
      lock.slot.definition.provider.recall["turn.started"](
        handlerContext(turn, lock, { phase: "turn.started", messages, abortSignal }),
      ),
    );
  } catch (cause) {
    turn.signal.throwIfAborted();
    throw new MemoryError("recall_failed", `Memory slot "${slot}" could not recall. The turn was not started.`, {
      slot,
      cause,
      retryable: MemoryError.isInstance(cause) && cause.retryable,
    });
  }
}
