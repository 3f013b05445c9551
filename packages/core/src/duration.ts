/** Durations and expiry, the same everywhere. */
import { MemoryError } from "./errors.ts";

/** `"30d"`, `"12h"`, `"5m"`, `"10s"`, `"250ms"`, or milliseconds. */
export type Duration = number | string;

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A duration in milliseconds.
 * @throws MemoryError `invalid_options` unless it is a positive, safe whole number of milliseconds.
 */
export function parseDuration(duration: Duration, name = "duration"): number {
  const milliseconds = typeof duration === "number" ? duration : parseText(duration);
  if (!Number.isSafeInteger(milliseconds) || milliseconds <= 0) {
    throw new MemoryError(
      "invalid_options",
      `${name} must be a positive whole number with a unit (ms, s, m, h, d), or milliseconds.`,
    );
  }
  return milliseconds;
}

function parseText(duration: unknown): number {
  const match = typeof duration === "string" ? /^([0-9]{1,16})(ms|s|m|h|d)$/.exec(duration) : null;
  return match === null ? Number.NaN : Number(match[1]) * (unitMs[match[2] ?? ""] ?? Number.NaN);
}

/** Expired means `now >= expiresAt`. */
export function isExpired(expiresAt: number, now: number): boolean {
  return now >= expiresAt;
}
