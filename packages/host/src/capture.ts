/** Phases in which every slot may keep something: a turn that is completed, and a history that is about to be cut. */
import { describeError, type MemoryProvider } from "@keepsake/core";
import type { SlotLock } from "./slots.ts";
import { elapsedMs, emit, handlerContext, isGivenUp, operationOf, type Round, traced, unlessAborted } from "./turn.ts";

export interface CaptureFailure {
  readonly slot: string;
  readonly error: unknown;
}

/** Lets all slots capture at once and waits for them. Answers the failures, in the order of slots; each is an event too. */
export async function captureAll(
  round: Round & { readonly phase: "turn.completed" | "compaction.requested" },
  locks: readonly SlotLock[],
): Promise<readonly CaptureFailure[]> {
  const outcomes = await Promise.all(
    locks.flatMap((lock) => {
      const capture = lock.slot.definition.provider.capture?.[round.phase];
      return capture === undefined ? [] : [captureSlot(round, lock, capture as Capture)];
    }),
  );
  return outcomes.filter((outcome) => outcome !== undefined);
}

type Capture = NonNullable<NonNullable<MemoryProvider["capture"]>["turn.completed"]>;

async function captureSlot(round: Round, lock: SlotLock, capture: Capture): Promise<CaptureFailure | undefined> {
  const { turn, phase, callerSignal } = round;
  const slot = lock.slot.name;
  const startedAt = turn.host.clock.now();
  const call = (abortSignal: AbortSignal) => capture(handlerContext(round, lock, abortSignal));
  try {
    await traced(
      turn,
      lock,
      () => unlessAborted(turn, call, callerSignal),
      () => ({
        call: { kind: "capture", phase, operationId: operationOf(round, slot), input: () => round.messages },
        result: () => ({}),
        wasGivenUp: () => isGivenUp(round),
      }),
    );
    emit(turn, { code: "capture_completed", slot, phase, durationMs: elapsedMs(turn, startedAt) });
    return undefined;
  } catch (error) {
    const durationMs = elapsedMs(turn, startedAt);
    emit(turn, { code: "capture_failed", slot, phase, durationMs, error: describeError(error) });
    return { slot, error };
  }
}
