/** The one clock. Whatever depends on time takes a {@link Clock}, so that a test can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once after `delayMs`; answers a function that cancels. Absent: the global timers. */
  setTimer?(callback: () => void, delayMs: number): () => void;
}

export const systemClock: Clock = { now: () => Date.now() };

// Longer than this, a global timer overflows and fires at once.
const longestDelayMs = 2 ** 31 - 1;

/** Starts a timer on the clock. Global timers wait at most 24 days. */
export function startTimer(clock: Clock, callback: () => void, delayMs: number): () => void {
  if (clock.setTimer !== undefined) return clock.setTimer(callback, delayMs);
  const timer = setTimeout(callback, Math.min(delayMs, longestDelayMs));
  return () => clearTimeout(timer);
}
