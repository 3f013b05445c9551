/** A turn while it is open: what of it dies with the process. The rest is the session's state. */
import type { MemoryScopeContext, Principal } from "@keepsake/core";
import type { RecalledBatch } from "./history.ts";
import { readConversation } from "./schemas.ts";
import type { TurnState } from "./session-state.ts";
import type { SlotLock } from "./slots.ts";
import type { Turn } from "./turn.ts";

/** Who spoke in a turn, and what. */
export type Spoken = Pick<TurnState, "caller" | "input">;

export interface OpenTurn extends Turn {
  readonly abort: AbortController;
  /** Stops listening to the caller's signal. */
  readonly unlink: () => void;
  /** Another process, or an earlier session of this one, began it. It waits to be resumed, started again or ended. */
  readonly interrupted: boolean;
  /** Present once every slot's scope is settled. */
  settled?: readonly SlotLock[];
  /** Present once the turn is ready for the model. */
  locks?: readonly SlotLock[];
  /** What was recalled, until somebody asks for the state, which has to know it again. */
  undigested?: readonly RecalledBatch[];
}

/** What a turn has of its session. */
type Setting = Pick<Turn, "host" | "sessionId" | "channel" | "modelId"> & { readonly initiator: Principal | null };

interface OpenTurnOptions {
  readonly abortSignal?: AbortSignal;
  readonly conversation?: MemoryScopeContext["conversation"];
  readonly interrupted?: boolean;
  /** Called when the caller's signal aborts. */
  readonly onAbort: (turn: OpenTurn, reason: unknown) => void;
}

export function openTurn(
  { host, sessionId, initiator, channel, modelId }: Setting,
  { sequence, caller, input }: Spoken & Pick<TurnState, "sequence">,
  { abortSignal, conversation, interrupted = false, onAbort }: OpenTurnOptions,
): OpenTurn {
  const id = `turn_${sequence}`;
  const auth = Object.freeze({ current: caller, initiator });
  const abort = new AbortController();
  const giveUp = (): void => onAbort(turn, abortSignal?.reason);
  const turn: OpenTurn = {
    host,
    sessionId,
    id,
    sequence,
    auth,
    channel,
    conversation: conversation === undefined ? undefined : readConversation(conversation),
    modelId,
    input,
    told: {
      session: Object.freeze({ id: sessionId, auth, turn: Object.freeze({ id, sequence }) }),
      sessionOfTools: Object.freeze({ id: sessionId, auth }),
      turn: Object.freeze({ id, input, sequence }),
    },
    signal: abort.signal,
    waiting: new Set(),
    abort,
    unlink: () => abortSignal?.removeEventListener("abort", giveUp),
    interrupted,
  };
  abortSignal?.addEventListener("abort", giveUp, { once: true });
  if (abortSignal?.aborted === true) abort.abort(abortSignal.reason); // in the meantime
  return turn;
}
