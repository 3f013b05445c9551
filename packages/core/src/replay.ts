/**
 * The same operation recalls the same, also after other writes. What is kept are ids and revisions, never text: forget,
 * erase and expiry win, because the provider reads each record again by its id.
 */
import { setBounded } from "./bounded-map.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Duration, isExpired, parseDuration } from "./duration.ts";
import { type LedgerOperation, operationDigest } from "./ledger.ts";
import { checkOptions, optionIs } from "./options.ts";

/** Which record, and which revision of it, was recalled. */
export interface RecalledReference {
  readonly id: string;
  readonly revision: string;
}

export interface ReplayEntry {
  readonly references: readonly RecalledReference[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface ReplayStore {
  get(key: string): Promise<ReplayEntry | null>;
  /** Keeps the first entry of a key until it expires: a second writer gets the first one's back. */
  add(key: string, entry: ReplayEntry): Promise<ReplayEntry>;
}

export interface Replay {
  /** What the operation recalled the first time; `choose` runs only when there was no first time. */
  recall(
    operation: LedgerOperation,
    choose: () => Promise<readonly RecalledReference[]>,
  ): Promise<readonly RecalledReference[]>;
}

export interface ReplayOptions {
  readonly store?: ReplayStore;
  /** How long an operation may still come again. Default `"1h"`. */
  readonly window?: Duration;
  readonly clock?: Clock;
}

/** Replay over a store; without one, over memory. */
export function createReplay(options: ReplayOptions = {}): Replay {
  checkOptions("createReplay()", options, {
    store: optionIs.having("get", "add"),
    window: optionIs.duration,
    clock: optionIs.clock,
  });
  const { window = "1h", clock = systemClock, store = inMemoryReplayStore({ clock }) } = options;
  const windowMs = parseDuration(window, "window");
  return {
    async recall(operation, choose) {
      const key = operationDigest(operation);
      const first = await store.get(key);
      if (first !== null && !isExpired(first.expiresAt, clock.now())) return first.references;
      const references = (await choose()).map(({ id, revision }) => ({ id, revision }));
      const entry = { references, expiresAt: clock.now() + windowMs };
      return (await store.add(key, entry)).references;
    },
  };
}

/** Entries in a `Map`, the oldest dropped beyond `maxEntries` (default 10,000). */
export function inMemoryReplayStore(
  options: { readonly maxEntries?: number; readonly clock?: Clock } = {},
): ReplayStore {
  const { maxEntries = 10_000, clock = systemClock } = options;
  const entries = new Map<string, ReplayEntry>();
  const live = (key: string): ReplayEntry | null => {
    const entry = entries.get(key);
    return entry === undefined || isExpired(entry.expiresAt, clock.now()) ? null : entry;
  };
  return {
    async get(key) {
      return live(key);
    },
    async add(key, entry) {
      const first = live(key);
      if (first !== null) return first;
      setBounded(entries, key, entry, maxEntries);
      return entry;
    },
  };
}
