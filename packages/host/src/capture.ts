/** Phases in which every slot may keep something: a turn that is completed, and a history that is about to be cut. */
import { describeError, type MemoryTurnContext } from "@keepsake/core";
import { callAll, callHandler, type Round } from "./round.ts";
import type { SlotLock } from "./slots.ts";
import { emitTimed } from "./turn.ts";

export interface CaptureFailure {
  readonly slot: string;
  readonly error: unknown;
}

/** Lets all slots capture at once and waits for them. Answers the failures, in the order of slots; each is an event too. */
export async function captureAll(
  round: Round & { readonly phase: "turn.completed" | "compaction.requested" },
  locks: readonly SlotLock[],
): Promise<readonly CaptureFailure[]> {
  const { turn, phase, messages } = round;
  const capturing = locks.filter(({ slot }) => slot.definition.provider.capture?.[phase] !== undefined);
  const startedAt = turn.host.clock.now();
  const outcomes = await callAll(turn, capturing, {
    call: (lock) => {
      const capture = lock.slot.definition.provider.capture?.[phase];
      const handler = (context: MemoryTurnContext): unknown => capture?.(context as never);
      return callHandler(round, lock, handler, { kind: "capture", input: () => messages, result: () => ({}) });
    },
    answered: ({ slot }): CaptureFailure | undefined => {
      emitTimed(turn, startedAt, { code: "capture_completed", slot: slot.name, phase });
      return undefined;
    },
    failed: ({ slot }, error): CaptureFailure => {
      emitTimed(turn, startedAt, { code: "capture_failed", slot: slot.name, phase, error: describeError(error) });
      return { slot: slot.name, error };
    },
  });
  return outcomes.filter((outcome) => outcome !== undefined);
}
