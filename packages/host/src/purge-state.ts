/** Takes one partition's memory out of a session that is kept: for the day somebody asks to be forgotten. */
import { MemoryError } from "@keepsake/core";
import { isDerivedScopeKey, scopeKey } from "@keepsake/core/keys";
import { parseSessionState, type SessionState, type TurnState } from "./session-state.ts";

/**
 * The state without anything that was recalled from this partition, and without the scope that leads to it: a turn that is
 * open goes on without that slot. What people and the model said stays, and may quote what was recalled.
 * @param key The partition's `memory.scope.key`, as providers are given it: `scopeKey({ namespace, scope })` of
 * `@keepsake/core/keys`, with what `state.turn.locks` or the slot's definition say.
 * @throws MemoryError `invalid_state` and `unsupported_version` as `host.session({ state })` does; `invalid_scope` for a
 * key that no host derives.
 */
export function purgeState(state: SessionState, key: string): SessionState {
  if (!isDerivedScopeKey(key)) {
    throw new MemoryError("invalid_scope", "This is no scope key of a host: purging by it would find nothing.");
  }
  const { turn, ...rest } = parseSessionState(state);
  const history = rest.history.filter(({ record }) => record?.scopeKey !== key);
  return parseSessionState({ ...rest, history, turn: turn === null ? null : purgeTurn(turn, key) });
}

function purgeTurn({ open, ...turn }: TurnState, key: string): TurnState {
  const locks = turn.locks.filter((lock) => scopeKey(lock) !== key);
  if (open === undefined) return { ...turn, locks };
  const digests = Object.entries(open.recalled).filter(([slot]) => locks.some((lock) => lock.slot === slot));
  return { ...turn, locks, open: { ...open, recalled: Object.fromEntries(digests) } };
}
