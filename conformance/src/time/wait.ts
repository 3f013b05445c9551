/**
 * Waiting in real time, bounded. The timers are kept from the moment this module is loaded, so that it has to be loaded
 * before anybody replaces them: what guards against a hang must not stand still together with the clock of a subject.
 */
import type { Outcome } from "./kit-clock.ts";

const { setTimeout, clearTimeout, setInterval, setImmediate } = globalThis;

/** The timers of the system, whatever the globals are by now. */
export const realTimers: Readonly<Pick<typeof globalThis, "setTimeout" | "setInterval" | "setImmediate">> = {
  setTimeout,
  setInterval,
  setImmediate,
};

/** Milliseconds since some moment, for durations, whatever the clock of the process is by now. */
export const realNowMs: () => number = performance.now.bind(performance);

const defaultGuardMs = 5_000;
const soonMs = 50;
const soonTurns = 25;
const soonTurnMs = 2;
// Turns of 1 ms after which something that is still busy will stay so. Turns, as a stalled machine has none.
const busyTurns = 5_000;

/** Something that had to happen did not, in far more time than it takes. */
export class Hung extends Error {
  /**
   * @param what What never happened, such as `the backend became quiet`.
   * @param after What it was given up after.
   */
  constructor(what: string, after: string) {
    super(`It never happened that ${what} (given up after ${after}).`);
    this.name = "Hung";
  }
}

/** A call whose end can be looked at without waiting. Its failure counts as seen. */
export interface Watched<T> {
  readonly outcome: Outcome<T>;
  /** Resolves, never rejects, once the call has settled. */
  readonly settled: Promise<void>;
}

export function watch<T>(call: Promise<T>): Watched<T> {
  let outcome: Outcome<T> = { state: "pending" };
  const settled = call.then(
    (value) => {
      outcome = { state: "fulfilled", value };
    },
    (error: unknown) => {
      outcome = { state: "rejected", error };
    },
  );
  return {
    settled,
    get outcome() {
      return outcome;
    },
  };
}

/**
 * The call, or a {@link Hung} when it is still open after `guardMs` of real time. A call that fails later is no
 * unhandled rejection.
 * @param what What is waited for, as the end of "it never happened that ...".
 */
export function withHangGuard<T>(call: Promise<T>, what: string, guardMs: number = defaultGuardMs): Promise<T> {
  return new Promise((resolve, reject) => {
    const guard = setTimeout(() => reject(new Hung(what, `${guardMs} ms`)), guardMs);
    call.then(resolve, reject).finally(() => clearTimeout(guard));
  });
}

/**
 * How the call ended, or `pending` when it had every chance to: 50 ms of real time, and 25 turns of the timers. The turns
 * count because time also passes on a machine that does nothing.
 */
export async function settlesSoon<T>(call: Promise<T>): Promise<Outcome<T>> {
  const watched = watch(call);
  const until = realNowMs() + soonMs;
  const chances = async (): Promise<void> => {
    for (let turn = 0; turn < soonTurns || realNowMs() < until; turn++) {
      if (watched.outcome.state !== "pending") return;
      await timerTurn(soonTurnMs);
    }
  };
  await Promise.race([watched.settled, chances()]);
  return watched.outcome;
}

/**
 * Resolves once `busy()` was false for `turns` turns of 1 ms in a row.
 * @throws Hung when that never happens.
 */
export function quiet(busy: () => boolean, turns = 12): Promise<void> {
  return quietOr(() => false, busy, turns);
}

/** {@link quiet}, given up early once `done()`. */
export async function quietOr(done: () => boolean, busy: () => boolean, turns = 12): Promise<void> {
  let quietTurns = 0;
  for (let turn = 0; quietTurns < turns; turn++) {
    if (turn >= busyTurns) throw new Hung("nothing was going on any more", `${busyTurns} turns of the event loop`);
    await timerTurn(1);
    if (done()) return;
    quietTurns = busy() ? 0 : quietTurns + 1;
  }
}

/** Lets microtasks run, and whatever input and output has already arrived. */
export async function eventLoopTurn(): Promise<void> {
  // What the first reaches may lie before the phase in which input is read; the second lies behind it.
  await new Promise<void>((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => setImmediate(resolve));
}

/** Waits in real time; answers early once the call settles. */
export async function settlesWithin<T>(call: Promise<T>, limitMs: number): Promise<Outcome<T>> {
  const watched = watch(call);
  let stop = (): void => {};
  const limit = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, limitMs);
    stop = () => clearTimeout(timer);
  });
  await Promise.race([watched.settled, limit]);
  stop();
  return watched.outcome;
}

const timerTurn = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
