/** Bounded, jittered retries that stop at once when the caller gives up. */
import { type Clock, systemClock } from "./clock.ts";
import { pause } from "./deadline.ts";

export interface RetryOptions {
  /** Retries after the first attempt. */
  readonly retries: number;
  readonly shouldRetry: (error: unknown) => boolean;
  readonly signal: AbortSignal;
  /** The longest first delay, doubled with each retry up to `maxDelayMs`; the delay is a random part of it. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** The shortest delay after this error, such as what a service's Retry-After asks for, in milliseconds. Default none. */
  readonly minDelayMs?: (error: unknown) => number;
  readonly clock?: Clock;
  readonly onRetry?: (attempt: number, error: unknown) => void;
}

/** Runs the operation until it succeeds, fails for good, runs out of retries (the last error is thrown) or is aborted. */
export async function retry<T>(options: RetryOptions, operation: (attempt: number) => Promise<T>): Promise<T> {
  const { retries, shouldRetry, signal, firstDelayMs, maxDelayMs, minDelayMs, clock = systemClock, onRetry } = options;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await operation(attempt);
    } catch (error) {
      if (!(attempt <= retries) || !shouldRetry(error)) throw error; // also where retries is no number
      signal.throwIfAborted();
      onRetry?.(attempt, error);
      const jittered = Math.random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1));
      await pause((minDelayMs?.(error) ?? 0) + jittered, signal, clock);
    }
  }
}
