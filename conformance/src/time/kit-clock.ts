/**
 * Time as the kit drives it: it stands still while anything is going on, and leaps to the next timer when all that is
 * left is to wait. So no check sleeps, and none depends on how fast the machine is.
 */
import { type Clock, systemClock } from "@keepsake/core";
import { createClock, type Clock as FakeClock } from "@sinonjs/fake-timers";
import { globalTime, startMs } from "./global-time.ts";
import { eventLoopTurn, quietOr, realTimers, settlesWithin, type Watched, watch } from "./wait.ts";

export { installGlobalTime } from "./global-time.ts";

export type TimeMode = "injected" | "global" | "real";

/** How a call ended, or that it is still open. */
export type Outcome<T> =
  | { readonly state: "fulfilled"; readonly value: T }
  | { readonly state: "rejected"; readonly error: unknown }
  | { readonly state: "pending" };

export interface KitClock {
  readonly mode: TimeMode;
  /** What a subject with injected time is given; under `global` and `real` the system's (which `global` replaces). */
  readonly clock: Clock;
  now(): number;
  /** Whether anybody waits for time to pass; never under `real`. */
  isAwaited(): boolean;
  /**
   * Moves time on and fires the timers it passes, in order, letting what they start run. After a thousand timers the rest
   * is one leap, in which each timer fires once at most.
   * @throws Error under `real`, which cannot be moved.
   */
  advance(byMs: number): Promise<void>;
  /**
   * Waits for a call, moving time on to the next timer whenever nothing else is going on (`busy()` is false for a while),
   * at most `limitMs` in all. Under `real` it waits `limitMs` of real time. A subject whose timers never end is moved on
   * in fiftieths of `limitMs` after fifty of them.
   * @throws Hung when `busy()` stays true.
   */
  drive<T>(call: Promise<T>, options: DriveOptions): Promise<Outcome<T>>;
}

export interface DriveOptions {
  readonly limitMs: number;
  /** Whether anything is under way that needs no time to pass, such as a request that the backend is answering. */
  readonly busy: () => boolean;
  /**
   * Gives the call half a second of real time before the first leap, for calls that should need none: a provider may also
   * wait for something that the kit cannot see. Default: a few milliseconds.
   */
  readonly patient?: boolean;
}

const restTurns = 6;
const patientTurns = 400;
const singleTimers = 1_000;
const driveLeaps = 50;
// Longer than this, a timer overflows and fires at once.
const longestDelayMs = 2 ** 31 - 1;

/**
 * @param nowMs Where injected time starts; default: a fixed instant.
 * @throws Error for `global` in a process where `installGlobalTime` was not called.
 */
export function createKitClock(mode: TimeMode, nowMs: number = startMs): KitClock {
  if (mode === "real") return realClock;
  if (mode === "global") return drivenClock(mode, globalTime(), systemClock);
  const time = createClock(nowMs);
  return drivenClock(mode, time, injectedClock(time));
}

const realClock: KitClock = {
  mode: "real",
  clock: systemClock,
  now: () => systemClock.now(),
  isAwaited: () => false,
  advance: () => Promise.reject(new Error("Real time cannot be moved.")),
  drive: (call, { limitMs }) => settlesWithin(call, limitMs),
};

function injectedClock(time: FakeClock): Clock {
  return {
    now: () => time.now,
    setTimer(callback, delayMs) {
      const at = time.now + delayMs;
      const start = (): ReturnType<FakeClock["setTimeout"]> =>
        time.setTimeout(
          () => {
            if (at > time.now) timer = start();
            else callback();
          },
          Math.min(at - time.now, longestDelayMs),
        );
      let timer = start();
      return () => time.clearTimeout(timer);
    },
  };
}

function drivenClock(mode: "injected" | "global", time: FakeClock, clock: Clock): KitClock {
  return {
    mode,
    clock,
    now: () => time.now,
    isAwaited: () => nextTimer(time) !== undefined,
    async advance(byMs) {
      const target = time.now + byMs;
      await eventLoopTurn(); // a call that has only just begun starts its timers before time moves
      await moveTo(time, target, () => false);
    },
    async drive(call, { limitMs, busy, patient = false }) {
      const watched = watch(call);
      const settled = (): boolean => watched.outcome.state !== "pending";
      const limit = time.now + limitMs;
      for (let leaps = 0; ; leaps++) {
        await restOrEnd(watched, settled, busy, patient && leaps === 0 ? patientTurns : restTurns);
        if (settled()) return watched.outcome;
        const due = nextTimer(time);
        const left = due !== undefined && due <= limit && leaps < driveLeaps;
        if (time.now >= limit && !left) return watched.outcome;
        const stride = leaps < driveLeaps ? 0 : Math.ceil(limitMs / driveLeaps);
        await moveTo(time, Math.min(limit, Math.max(due ?? limit, time.now + stride)), settled);
      }
    },
  };
}

/** Waits until nothing but time can end the call, or it has ended. */
async function restOrEnd(
  watched: Watched<unknown>,
  settled: () => boolean,
  busy: () => boolean,
  turns: number,
): Promise<void> {
  await Promise.race([watched.settled, quietOr(settled, () => busy() || localWork(), turns)]);
}

/** Files and names are looked up by threads, in time of their own that no backend knows of. */
function localWork(): boolean {
  return process
    .getActiveResourcesInfo()
    .some((resource) => /^FSReq|^CloseReq|^GetAddrInfo|^GetNameInfo/.test(resource));
}

/** When the next timer is due, if there is any. */
function nextTimer(time: FakeClock): number | undefined {
  return time.timerHeap?.peek()?.callAt;
}

/** Fires what is due until `target`, one by one a thousand times, then in one leap; stops short once `done()`. */
async function moveTo(time: FakeClock, target: number, done: () => boolean): Promise<void> {
  for (let fired = 0; fired < singleTimers; fired++) {
    const due = nextTimer(time);
    if (due === undefined || due > target) break;
    asUncaught(() => time.next());
    await eventLoopTurn();
    if (done()) return;
  }
  asUncaught(() => time.jump(Math.max(0, target - time.now)));
  await eventLoopTurn();
}

/** An error thrown by a timer's callback ends a process. It must not look like one of the kit's. */
function asUncaught(fire: () => void): void {
  try {
    fire();
  } catch (error) {
    realTimers.setImmediate(() => {
      throw error;
    });
  }
}
