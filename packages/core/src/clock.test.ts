import { afterEach, describe, expect, it, vi } from "vitest";
import { type Clock, startTimer, systemClock } from "./clock.ts";
import { manualClock } from "./test-support/manual-clock.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("startTimer", () => {
  it("uses the clock's own timers, and cancels them", () => {
    const clock = manualClock();
    const fired: string[] = [];
    startTimer(clock, () => fired.push("first"), 10);
    startTimer(clock, () => fired.push("second"), 10)();
    clock.advance(9);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual(["first"]);
  });

  it("uses the global timers for a clock without any, and cancels them", () => {
    vi.useFakeTimers();
    const clock: Clock = { now: () => 0 };
    const fired: string[] = [];
    startTimer(clock, () => fired.push("first"), 10);
    startTimer(clock, () => fired.push("second"), 10)();
    vi.advanceTimersByTime(10);
    expect(fired).toEqual(["first"]);
  });

  it("does not fire at once when a delay is too long for the global timers", () => {
    vi.useFakeTimers();
    const timeout = vi.spyOn(globalThis, "setTimeout");
    startTimer(systemClock, () => {}, Number.MAX_SAFE_INTEGER)();
    startTimer(systemClock, () => {}, 10)();
    // Beyond 2^31 - 1 ms, setTimeout takes 1 ms instead.
    expect(timeout.mock.calls.map(([, delayMs]) => delayMs)).toEqual([2_147_483_647, 10]);
  });
});

it("the system clock tells the system's time", () => {
  vi.useFakeTimers({ now: 1_234 });
  expect(systemClock.now()).toBe(1_234);
});
