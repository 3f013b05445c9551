/** Waiting that always ends: on the answer, on the caller's abort, or on a deadline of its own. */
import { type Clock, startTimer, systemClock } from "./clock.ts";
import { MemoryError } from "./errors.ts";

export interface DeadlineOptions {
  /** Whoever may end the wait; of several the first. */
  readonly signal: AbortSignal | readonly AbortSignal[];
  readonly timeoutMs: number;
  readonly clock?: Clock;
}

/**
 * Runs an operation under a deadline. Settles at once when the signal aborts, with its reason, or when time is up, with
 * `timeout`, whether or not the operation listens; its late outcome is dropped. Aborted before: nothing runs.
 */
export async function withDeadline<T>(
  options: DeadlineOptions,
  operation: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const { signal, timeoutMs, clock = systemClock } = options;
  const signals = "aborted" in signal ? [signal] : signal;
  for (const each of signals) each.throwIfAborted();
  const inner = new AbortController();
  let stop: (reason: unknown) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason);
      inner.abort(reason);
    };
  });
  const listening = signals.map((each) => {
    const onAbort = (): void => stop(each.reason);
    each.addEventListener("abort", onAbort, { once: true });
    return () => each.removeEventListener("abort", onAbort);
  });
  const cancelTimer =
    timeoutMs < Number.POSITIVE_INFINITY || Number.isNaN(timeoutMs)
      ? startTimer(
          clock,
          () => stop(new MemoryError("timeout", `No answer within ${timeoutMs} ms.`, { retryable: true })),
          timeoutMs,
        )
      : () => {};
  try {
    const running = (async () => operation(inner.signal))();
    return await Promise.race([stopped, running]); // in this order: an outcome that comes with the abort is too late
  } finally {
    cancelTimer();
    for (const stopListening of listening) stopListening();
  }
}

/** Waits on the clock; rejects with the signal's reason when it aborts. */
export function pause(delayMs: number, signal: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = startTimer(
      clock,
      () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      },
      delayMs,
    );
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
