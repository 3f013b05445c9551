/** Phases in which every slot may keep something: a turn that is completed, and a history that is about to be cut. */
import { describeError } from "@keepsake/core";
import { callAll, callHandler, type Handler, type Round } from "./round.ts";
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
  const { turn, phase } = round;
  const capturing = locks.filter(({ slot }) => slot.definition.provider.capture?.[phase] !== undefined);
  const startedAt = turn.host.clock.now();
  const outcomes = await callAll(turn, capturing, {
    call: (lock) => callHandler(round, lock, captureHandler),
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

const captureHandler: Handler = {
  kind: "capture",
  invoke: ({ slot }, phase, context) => {
    const capture = slot.definition.provider.capture?.[phase as "turn.completed"]; // called as eve does, as a function
    return capture?.(context);
  },
  input: ({ messages }) => messages,
  result: () => ({}),
};
