/** A store whose calls always end: in time, tried again where that can help, and failing with a typed error. */
import { type Clock, emitEvent, type MemoryEventListener, retry, withDeadline } from "@keepsake/core";
import type { ReferenceParts } from "./parts.ts";
import type { RecordStore } from "./record-store.ts";

interface Patience {
  readonly clock: Clock;
  readonly onEvent: MemoryEventListener | undefined;
  readonly parts: Pick<ReferenceParts, "timeoutMs" | "retries" | "isTransient" | "retryAfterMs" | "asError">;
}

/** Every write is idempotent by its id, so that repeating one is safe. */
export function patientStore(store: RecordStore, { clock, onEvent, parts }: Patience): RecordStore {
  const patiently = async <T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await withDeadline({ signal, timeoutMs: parts.timeoutMs, clock }, (running) =>
        retry(
          {
            retries: parts.retries,
            shouldRetry: parts.isTransient,
            minDelayMs: parts.retryAfterMs,
            firstDelayMs: 50,
            maxDelayMs: 1_000,
            signal: running,
            clock,
            onRetry: (attempt) => emitEvent(onEvent, { code: "retry", counts: { attempt } }),
          },
          () => call(running),
        ),
      );
    } catch (error) {
      signal.throwIfAborted(); // whatever else failed meanwhile
      throw parts.asError(error);
    }
  };
  return {
    durable: store.durable,
    expiry: store.expiry,
    list: (scope, signal) => patiently(signal, (running) => store.list(scope, running)),
    put: (scope, record, signal) => patiently(signal, (running) => store.put(scope, record, running)),
    remove: (scope, id, signal) => patiently(signal, (running) => store.remove(scope, id, running)),
    pin: (scope, operation, ids, signal) => patiently(signal, (running) => store.pin(scope, operation, ids, running)),
    scopes: (signal) => patiently(signal, (running) => store.scopes(running)),
  };
}
