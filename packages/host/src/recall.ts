/** The first phase of a turn: all slots recall at once, and all must succeed. */
import { describeError, MemoryError, type MemoryRecallMessage, type ModelMessage } from "@keepsake/core";
import { parseRecallResult } from "./recall-result.ts";
import type { SlotLock } from "./slots.ts";
import { emit, handlerContext, type Turn, unlessAborted } from "./turn.ts";

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
  return outcomes.map((outcome, index) => {
    if (outcome.status === "fulfilled") return outcome.value;
    throw recallError(locks[index]?.slot.name ?? "", outcome.reason);
  });
}

async function recallSlot(
  turn: Turn,
  lock: SlotLock,
  messages: readonly ModelMessage[],
): Promise<readonly MemoryRecallMessage[]> {
  const { clock } = turn.host;
  const slot = lock.slot.name;
  const startedAt = clock.now();
  try {
    const context = handlerContext(turn, lock, { phase: "turn.started", messages, abortSignal: turn.signal });
    const result = await unlessAborted(turn, turn.signal, () =>
      lock.slot.definition.provider.recall["turn.started"](context),
    );
    const recalled = parseRecallResult(slot, result);
    const characters = recalled.reduce((sum, { content }) => sum + content.length, 0);
    const counts = { messages: recalled.length, characters };
    emit(turn, { code: "recall_completed", slot, durationMs: clock.now() - startedAt, counts });
    return recalled;
  } catch (error) {
    if (!turn.signal.aborted) {
      emit(turn, { code: "recall_failed", slot, durationMs: clock.now() - startedAt, error: describeError(error) });
    }
    throw error;
  }
}

function recallError(slot: string, reason: unknown): MemoryError {
  if (MemoryError.isInstance(reason) && reason.code === "invalid_recall") return reason;
  return new MemoryError("recall_failed", `Memory slot "${slot}" could not recall. The turn was not started.`, {
    slot,
    cause: reason,
    retryable: MemoryError.isInstance(reason) && reason.retryable,
  });
}
