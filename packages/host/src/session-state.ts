/** What a session is between calls, as plain JSON that its caller keeps. */
import { MemoryError, type Principal } from "@keepsake/core";
import { frozenCopy } from "./frozen-copy.ts";
import type { History, HistoryEntry } from "./history.ts";
import { isSessionState } from "./schemas.ts";

/** A session that another process can go on with. Nobody can change one that a session has given out. */
export interface SessionState {
  readonly version: 1;
  readonly sessionId: string;
  /** Who opened the session. */
  readonly initiator: Principal | null;
  /** The number of the next turn. */
  readonly nextSequence: number;
  readonly history: History;
  /** The latest turn that got as far as recalling; `null` before the first and after `clear`. */
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
  readonly recalled: Readonly<Record<string, string>>;
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

/**
 * Checks a state that comes from outside. Whoever can write it can write its history: keep it where callers cannot.
 * @throws MemoryError `unsupported_version`, or `invalid_state` for what no session has given out.
 */
export function parseSessionState(state: unknown): SessionState {
  const version: unknown = Reflect.get(Object(state), "version");
  if (typeof version === "number" && version !== 1) {
    throw new MemoryError("unsupported_version", "This session state is of a version that is not known.");
  }
  if (!isSessionState(state)) throw new MemoryError("invalid_state", "This is not a session state.");
  return frozenCopy(state as SessionState); // checked; parts of messages that only a model reads are kept as they are
}
