/** Providers that fail badly, or do not recover, each in one way. */
import type { Mutant } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";
import { onFailure } from "./fault-mutants.ts";

export const recoveryMutants: readonly Mutant[] = [
  {
    id: "recovery/broken-for-good",
    flaw: "Keeps the promise of its first connection, also when that failed.",
    kills: { "recovery/usable-after": "unusable" },
    spares: ["recovery/retry-after"],
    store: (store) => {
      let broken: Promise<never> | undefined;
      return everyCall(store, (call) =>
        broken === undefined
          ? call().catch((error: unknown) => {
              if (error instanceof TypeError) broken = Promise.reject(error);
              broken?.catch(() => {});
              throw error;
            })
          : broken,
      );
    },
  },
  {
    id: "recovery/throws-a-string",
    flaw: "Throws a text instead of an error.",
    kills: { "recovery/throws-errors": "no-error" },
    spares: ["faults/recall", "recovery/usable-after"],
    provider: (provider) =>
      onFailure(provider, "recall", () => {
        throw "memory is not available";
      }),
  },
  {
    id: "recovery/untyped",
    flaw: "Wraps every failure in a plain error.",
    kills: { "recovery/typed-errors": "untyped" },
    spares: ["faults/recall", "recovery/throws-errors"],
    parts: () => ({ asError: () => new Error("The memory store failed.") }),
  },
  {
    id: "recovery/retries-for-ever",
    flaw: "Tries again until it works (thirty times here).",
    kills: { "recovery/bounded-retries": "unbounded" },
    spares: ["faults/capture", "recovery/throws-errors"],
    parts: () => ({ retries: 30, timeoutMs: 100_000 }),
  },
  {
    id: "recovery/stacked-retries",
    flaw: "Tries three times in the client, three times in the store, and three times again in the provider.",
    kills: { "recovery/bounded-retries": "unbounded" },
    spares: ["faults/recall", "recovery/usable-after"],
    store: (store) => everyCall(store, (call) => threeTimes(() => threeTimes(call))),
  },
  {
    id: "recovery/stacked-retries-of-a-socket",
    flaw: "Makes a new connection five times for each of three by three attempts.",
    kills: { "recovery/bounded-retries": "unbounded" },
    spares: ["faults/recall"],
    backend: "tcp",
    store: (store) => everyCall(store, (call) => threeTimes(() => threeTimes(() => threeTimes(call)))),
  },
  {
    id: "recovery/retries-a-full-disk",
    flaw: "Tries every file operation again, over and over, as if a full disk would have room in a moment.",
    kills: { "recovery/bounded-retries": "unbounded" },
    spares: ["faults/recall", "faults/capture"],
    backend: "directory",
    parts: () => ({ retries: 60, timeoutMs: 100_000, isTransient: () => true }),
  },
  {
    id: "recovery/ignores-retry-after",
    flaw: "Tries again after its own backoff, whatever the service asked for.",
    kills: { "recovery/retry-after": "too-early" },
    spares: ["recovery/bounded-retries", "faults/recall"],
    parts: () => ({ retryAfterMs: () => 0 }),
  },
  {
    id: "recovery/retry-after-in-milliseconds",
    flaw: "Takes the seconds of Retry-After for milliseconds.",
    kills: { "recovery/retry-after": "too-early" },
    spares: ["recovery/bounded-retries", "faults/capture"],
    parts: ({ retryAfterMs }) => ({ retryAfterMs: (error) => retryAfterMs(error) / 1_000 }),
  },
  {
    id: "recovery/retry-after-as-number",
    flaw: "Knows Retry-After as a number only, and waits for no date.",
    kills: { "recovery/retry-after": "too-early" },
    spares: ["recovery/bounded-retries", "faults/capture"],
    parts: ({ retryAfterMs }) => ({
      retryAfterMs: (error) => (Number.isNaN(Number(Object(error).retryAfter)) ? 0 : retryAfterMs(error)),
    }),
  },
  {
    id: "recovery/retry-after-of-429",
    flaw: "Reads Retry-After with a 429 only.",
    kills: { "recovery/retry-after": "too-early" },
    spares: ["recovery/bounded-retries", "faults/capture"],
    parts: ({ retryAfterMs }) => ({
      retryAfterMs: (error) => (Object(error).status === 429 ? retryAfterMs(error) : 0),
    }),
  },
];

async function threeTimes<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

/** The store with every call of it made by `make`. */
function everyCall(store: RecordStore, make: <T>(call: () => Promise<T>) => Promise<T>): RecordStore {
  return {
    ...store,
    list: (scope, signal) => make(() => store.list(scope, signal)),
    put: (scope, record, signal) => make(() => store.put(scope, record, signal)),
    remove: (scope, id, signal) => make(() => store.remove(scope, id, signal)),
    pin: (scope, operation, ids, signal) => make(() => store.pin(scope, operation, ids, signal)),
  };
}
