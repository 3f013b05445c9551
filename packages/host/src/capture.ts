/** The last phase of a turn: every slot may keep something of it. */
import { describeError, type ModelMessage } from "@keepsake/core";
import type { SlotLock } from "./slots.ts";
import { elapsedMs, emit, handlerContext, type Turn, unlessAborted } from "./turn.ts";

/** Lets all slots capture at once and waits for them. A failure is an event: the turn has happened all the same. */
export async function captureAll(
  turn: Turn,
  locks: readonly SlotLock[],
  messages: readonly ModelMessage[],
  callerSignal: AbortSignal | undefined,
): Promise<void> {
  await Promise.all(
    locks.map(async (lock) => {
      const capture = lock.slot.definition.provider.capture?.["turn.completed"];
      if (capture === undefined) return;
      const slot = lock.slot.name;
      const startedAt = turn.host.clock.now();
      try {
        const call = (abortSignal: AbortSignal) =>
          capture(handlerContext(turn, lock, { phase: "turn.completed", messages, abortSignal }));
        await unlessAborted(turn, call, callerSignal);
        emit(turn, { code: "capture_completed", slot, durationMs: elapsedMs(turn, startedAt) });
      } catch (error) {
        emit(turn, {
          code: "capture_failed",
          slot,
          durationMs: elapsedMs(turn, startedAt),
          error: describeError(error),
        });
      }
    }),
  );
}
