import type { Clock } from "../clock.ts";

export interface ManualClock extends Required<Clock> {
  /** Moves on, and fires the timers it passes, earliest first. */
  advance(byMs: number): void;
  /** Delays of the timers that are waiting, in the order they were started. */
  readonly waiting: readonly number[];
}

/** A clock that stands still until a test moves it. */
export function manualClock(startMs = 0): ManualClock {
  let nowMs = startMs;
  const timers = new Set<{ readonly at: number; readonly delayMs: number; readonly callback: () => void }>();
  return {
    now: () => nowMs,
    setTimer(callback, delayMs) {
      const timer = { at: nowMs + delayMs, delayMs, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(byMs) {
      nowMs += byMs;
      for (const timer of [...timers].sort((one, other) => one.at - other.at)) {
        if (timer.at <= nowMs && timers.delete(timer)) timer.callback();
      }
    },
    get waiting() {
      return [...timers].map(({ delayMs }) => delayMs);
    },
  };
}
