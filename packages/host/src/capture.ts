/** The last phase of a turn: every slot may keep something of it. */
import { describeError, type ModelMessage } from "@keepsake/core";
import type { SlotLock } from "./slots.ts";
import { emit, handlerContext, type Turn, unlessAborted } from "./turn.ts";

/** Lets all slots capture at once and waits for them. A failure is an event: the turn has happened all the same. */
export async function captureAll(
  turn: Turn,
  locks: readonly SlotLock[],
  messages: readonly ModelMessage[],
  abortSignal: AbortSignal,
): Promise<void> {
  const { clock } = turn.host;
  await Promise.all(
    locks.map(async (lock) => {
      const capture = lock.slot.definition.provider.capture?.["turn.completed"];
      if (capture === undefined) return;
      const slot = lock.slot.name;
      const startedAt = clock.now();
      try {
        const context = handlerContext(turn, lock, { phase: "turn.completed", messages, abortSignal });
        await unlessAborted(turn, abortSignal, () => capture(context));
        emit(turn, { code: "capture_completed", slot, durationMs: clock.now() - startedAt });
      } catch (error) {
        emit(turn, { code: "capture_failed", slot, durationMs: clock.now() - startedAt, error: describeError(error) });
      }
    }),
  );
}
