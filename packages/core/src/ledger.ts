/**
 * What has been done already. An operation can come again: after a lost reply, after a restart, with other messages. The
 * ledger remembers, per scope, digests of the messages an operation took, never their text.
 */
import { setBounded } from "./bounded-map.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Duration, isExpired, parseDuration } from "./duration.ts";
import { createKeyedQueue } from "./keyed-queue.ts";
import { assertScopeKey, listDigest } from "./keys.ts";
import { type ModelMessage, messageText } from "./model-message.ts";
import { checkOptions, optionIs } from "./options.ts";

export interface LedgerEntry {
  /** Digests of the messages taken. */
  readonly digests: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Where a ledger is kept. `update` is atomic per key: no other update of the key runs between its reading and its
 * writing, in any process that shares the store, and an entry is kept only when `change` succeeds.
 */
export interface LedgerStore {
  update<T>(
    key: string,
    change: (entry: LedgerEntry | null) => Promise<{ readonly entry: LedgerEntry; readonly result: T }>,
  ): Promise<T>;
}

export interface LedgerOperation {
  readonly scopeKey: string;
  /**
   * What makes it one operation: for a capture its session and turn, which both phases of the turn share; for a tool its
   * session and call.
   */
  readonly operation: readonly string[];
}

export interface Ledger {
  /**
   * Hands `write` the messages that this operation has not taken yet, and remembers them once it has succeeded. The same
   * operation with the same messages writes nothing. `extended` is true where a known operation came with more.
   */
  take<M extends ModelMessage>(
    operation: LedgerOperation,
    messages: readonly M[],
    write: (unseen: readonly M[]) => Promise<void>,
  ): Promise<{ readonly taken: number; readonly extended: boolean }>;
}

export interface LedgerOptions {
  readonly store?: LedgerStore;
  /** How long an operation may still come again. Default `"24h"`. */
  readonly window?: Duration;
  readonly clock?: Clock;
}

/** A ledger over a store; without one, over memory. */
export function createLedger(options: LedgerOptions = {}): Ledger {
  checkOptions("createLedger()", options, {
    store: optionIs.having("update"),
    window: optionIs.duration,
    clock: optionIs.clock,
  });
  const { store = inMemoryLedgerStore(), window = "24h", clock = systemClock } = options;
  const windowMs = parseDuration(window, "window");
  return {
    take(operation, messages, write) {
      return store.update(operationDigest(operation), async (stored) => {
        const now = clock.now();
        const known = stored !== null && !isExpired(stored.expiresAt, now) ? stored.digests : [];
        const digests = messageDigests(messages);
        const unseen = messages.filter((_, index) => !known.includes(digests[index] ?? ""));
        if (unseen.length > 0) await write(unseen);
        return {
          entry: { digests: [...new Set([...known, ...digests])], expiresAt: now + windowMs },
          result: { taken: unseen.length, extended: known.length > 0 && unseen.length > 0 },
        };
      });
    },
  };
}

/** Names an operation within its scope, without revealing either: 43 characters. */
export function operationDigest({ scopeKey, operation }: LedgerOperation): string {
  assertScopeKey(scopeKey);
  return listDigest(["keepsake-operation-v1", scopeKey, ...operation]);
}

/** Digests of role, text and other parts. Equal messages of one operation are told apart by how many equal ones came before. */
export function messageDigests(messages: readonly ModelMessage[]): readonly string[] {
  const seen = new Map<string, number>();
  return messages.map((message) => {
    const digest = listDigest([message.role, messageText(message), ...otherParts(message)]);
    const earlier = seen.get(digest) ?? 0;
    seen.set(digest, earlier + 1);
    return earlier === 0 ? digest : listDigest([digest, String(earlier)]);
  });
}

function otherParts({ content }: ModelMessage): string[] {
  if (typeof content === "string") return [];
  return content.filter(({ type }) => type !== "text").map((part) => JSON.stringify(part));
}

/** Entries in a `Map`, the oldest dropped beyond `maxEntries` (default 10,000). */
export function inMemoryLedgerStore(options: { readonly maxEntries?: number } = {}): LedgerStore {
  const { maxEntries = 10_000 } = options;
  const entries = new Map<string, LedgerEntry>();
  const inOrder = createKeyedQueue();
  return {
    update: (key, change) =>
      inOrder(key, async () => {
        const { entry, result } = await change(entries.get(key) ?? null);
        setBounded(entries, key, entry, maxEntries);
        return result;
      }),
  };
}
