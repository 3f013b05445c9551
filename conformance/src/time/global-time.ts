/** The time of the whole process, replaced, for subjects that read it where they like. */
import { syncBuiltinESMExports } from "node:module";
import type { TimerOptions } from "node:timers";
import timersPromises from "node:timers/promises";
import { type Clock as FakeClock, install } from "@sinonjs/fake-timers";

/** Realistic and not now, so that a subject that mixes clocks is off by years. */
export const startMs: number = Date.UTC(2030, 0, 1);

let installed: FakeClock | undefined;

/** @throws Error when time has not been replaced. */
export function globalTime(): FakeClock {
  if (installed === undefined) throw new Error("Global time has to be installed before the subject is imported.");
  return installed;
}

/**
 * Replaces Date, timeouts, intervals, `performance.now`, `process.hrtime` and `AbortSignal.timeout`, as globals and in the
 * builtin modules, for the rest of the process; called again, it sets the date. Call it before the subject is imported, and after the kit is.
 * `nextTick`, `queueMicrotask` and `setImmediate` stay: they wait for nothing.
 */
export function installGlobalTime(nowMs: number = startMs): void {
  if (installed !== undefined) {
    installed.setSystemTime(nowMs);
    return;
  }
  installed = install({
    now: nowMs,
    toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "hrtime", "Temporal"],
    ignoreMissingTimers: true,
    shouldClearNativeTimers: true,
  });
  AbortSignal.timeout = abortSignalTimeout;
  replacePromiseTimers();
  syncBuiltinESMExports();
}

function abortSignalTimeout(delayMs: number): AbortSignal {
  if (!(delayMs >= 0 && delayMs <= Number.MAX_SAFE_INTEGER)) {
    throw Object.assign(new RangeError('The value of "delay" is out of range.'), { code: "ERR_OUT_OF_RANGE" });
  }
  const controller = new AbortController();
  setTimeout(() => {
    controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  }, delayMs);
  return controller.signal;
}

/** As Node's own: aborted, they reject with an AbortError whose cause is the reason; and the scheduler waits as well. */
function replacePromiseTimers(): void {
  const replaced = timersPromises.setTimeout;
  const wait: typeof replaced = async (delayMs, value, options) => {
    try {
      return await replaced(delayMs, value, options ?? {});
    } catch (reason) {
      const error = new Error("The operation was aborted", { cause: reason });
      throw Object.assign(error, { name: "AbortError", code: "ABORT_ERR" });
    }
  };
  timersPromises.setTimeout = wait;
  Object.defineProperty(timersPromises.scheduler, "wait", {
    configurable: true,
    value: (delayMs: number, options?: TimerOptions) => wait(delayMs, undefined, options),
  });
}
