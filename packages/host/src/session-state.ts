/** What a session is between calls, as plain JSON that its caller keeps. */
import { MemoryError, type Principal } from "@keepsake/core";
import { frozenCopy } from "./frozen-copy.ts";
import type { History, HistoryEntry } from "./history.ts";
import type { RecallDigests } from "./recall-digest.ts";
import { readSessionState } from "./schemas.ts";
import type { SlotLock } from "./slots.ts";

/** A session that another process can go on with. Nobody can change one that a session has given out. */
export interface SessionState {
  readonly version: 1;
  readonly sessionId: string;
  /** Who opened the session. */
  readonly initiator: Principal | null;
  /** The number of the next turn. */
  readonly nextSequence: number;
  readonly history: History;
  /** The latest turn that did not fail to start: who spoke, in which scopes. `null` before the first and after `clear`. */
  readonly turn: TurnState | null;
}

export interface TurnState {
  readonly sequence: number;
  /** Who spoke. */
  readonly caller: Principal | null;
  /** What was said, and what the application added to it. */
  readonly input: readonly HistoryEntry["message"][];
  /** What each slot worked on; slots that were off are left out. */
  readonly locks: readonly LockState[];
  /** How many compactions there were in or since this turn. */
  readonly compactions: number;
  /** Present while the turn waits for its answer. */
  readonly open?: OpenTurnState;
}

export interface LockState {
  readonly slot: string;
  readonly namespace: string;
  readonly scope: string | readonly string[];
}

export interface OpenTurnState {
  /** By slot: a digest of the scope and of what was recalled from it. */
  readonly recalled: RecallDigests;
  /** How much of the answer a compaction has taken into the history already. */
  readonly answered?: AnswerState;
}

export interface AnswerState {
  readonly messages: number;
  readonly digest: string;
}

export function newSessionState(sessionId: string, initiator: Principal | null): SessionState {
  return frozenCopy({ version: 1 as const, sessionId, initiator, nextSequence: 0, history: [], turn: null });
}

/** A turn is ready for the model: it has recalled, and its input is part of the history. */
export function withTurnBegun(
  state: SessionState,
  turn: Pick<TurnState, "sequence" | "caller" | "input"> & { readonly locks: readonly SlotLock[] },
  history: History,
): SessionState {
  const { sequence, caller, input } = turn;
  const locks = turn.locks.map((lock) => lock.state);
  const open = Object.freeze({ recalled: Object.freeze({}) });
  return Object.freeze({
    ...state,
    nextSequence: sequence + 1,
    history: Object.freeze(history),
    turn: Object.freeze({ sequence, caller, input, locks: Object.freeze(locks), compactions: 0, open }),
  });
}

export function withOpenTurn(state: SessionState, changes: Partial<OpenTurnState>): SessionState {
  const { turn } = state;
  if (turn?.open === undefined) return state;
  return Object.freeze({
    ...state,
    turn: Object.freeze({ ...turn, open: Object.freeze({ ...turn.open, ...changes }) }),
  });
}

/** A turn has ended, however: its number is used up, and no turn is open. */
export function withTurnEnded(state: SessionState, sequence: number, history: History): SessionState {
  return Object.freeze({
    ...state,
    nextSequence: sequence + 1,
    history: Object.freeze(history),
    turn: state.turn === null ? null : withoutOpen(state.turn),
  });
}

export function withCompaction(state: SessionState, history: History): SessionState {
  const { turn } = state;
  return Object.freeze({
    ...state,
    history: Object.freeze(history),
    turn: turn === null ? null : Object.freeze({ ...turn, compactions: turn.compactions + 1 }),
  });
}

/** Numbers go on, so that no later operation has the id of an earlier one. */
export function withoutHistory(state: SessionState): SessionState {
  return Object.freeze({ ...state, history: Object.freeze([]), turn: null });
}

function withoutOpen({ sequence, caller, input, locks, compactions }: TurnState): TurnState {
  return Object.freeze({ sequence, caller, input, locks, compactions });
}

/**
 * Checks a state that comes from outside. Whoever can write it can write its history: keep it where callers cannot.
 * @throws MemoryError `unsupported_version`, or `invalid_state` for what no session has given out.
 */
export function parseSessionState(state: unknown): SessionState {
  const version: unknown = Reflect.get(Object(state), "version");
  if (typeof version === "number" && version !== 1) {
    throw new MemoryError("unsupported_version", "This session state is of a version that is not known.");
  }
  const checked = readSessionState(state);
  if (checked === undefined) throw new MemoryError("invalid_state", "This is not a session state.");
  return checked;
}
