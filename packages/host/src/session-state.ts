/** What a session is between turns, as plain JSON that its caller keeps. */
import { MemoryError, type Principal } from "@keepsake/core";
import { frozenCopy } from "./frozen-copy.ts";
import type { History } from "./history.ts";
import { isSessionState } from "./schemas.ts";

/** A session between turns. Another process goes on from it. Nobody can change one that a session has given out. */
export interface SessionState {
  readonly version: 1;
  readonly sessionId: string;
  /** Who opened the session. */
  readonly initiator: Principal | null;
  /** The number of the next turn. */
  readonly nextSequence: number;
  readonly history: History;
}

export function newSessionState(sessionId: string, initiator: Principal | null): SessionState {
  return frozenCopy({ version: 1 as const, sessionId, initiator, nextSequence: 0, history: [] });
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
