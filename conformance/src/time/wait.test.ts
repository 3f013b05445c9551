import { afterEach, describe, expect, it, vi } from "vitest";
import { eventLoopTurn, Hung, quiet, realTimers, settlesSoon, withHangGuard } from "./wait.ts";

const never = new Promise<never>(() => {});
const afterTurns =
  (turns: number): (() => boolean) =>
  () =>
    turns-- > 0;
const inTurns = <T>(turns: number, value: T): Promise<T> => quiet(() => false, turns).then(() => value);

afterEach(() => {
  vi.useRealTimers();
});

describe("a hang guard", () => {
  it("passes on what the call answers, or how it fails", async () => {
    expect(await withHangGuard(inTurns(2, "answer"), "it answered")).toBe("answer");
    const failure = new TypeError("broken");
    await expect(withHangGuard(Promise.reject(failure), "it answered")).rejects.toBe(failure);
  });

  it("says what never happened", async () => {
    const guarded = withHangGuard(never, "the backend answered", 5);
    await expect(guarded).rejects.toThrow("It never happened that the backend answered (given up after 5 ms).");
  });

  it("leaves no timer behind", async () => {
    const timeouts = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const answer = Promise.withResolvers<string>();
    const before = timeouts();
    const guarded = withHangGuard(answer.promise, "it answered", 60_000);
    expect(timeouts()).toBe(before + 1);
    answer.resolve("answer");
    await guarded;
    await Promise.resolve();
    expect(timeouts()).toBe(before);
  });

  it("takes a failure that comes too late", async () => {
    const late = Promise.withResolvers<never>();
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    await expect(withHangGuard(late.promise, "it failed", 5)).rejects.toBeInstanceOf(Hung);
    late.reject(new Error("too late"));
    await eventLoopTurn();
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });
});

describe("a call that may settle soon", () => {
  it("is told by how it ended", async () => {
    const error = new Error("broken");
    expect(await settlesSoon(Promise.resolve("answer"))).toEqual({ state: "fulfilled", value: "answer" });
    expect(await settlesSoon(inTurns(10, "later"))).toEqual({ state: "fulfilled", value: "later" });
    expect(await settlesSoon(Promise.reject(error))).toEqual({ state: "rejected", error });
  });

  it("is pending after its chances, and no sooner when the machine stalls", async () => {
    const stalled = new Int32Array(new SharedArrayBuffer(4));
    const turns = Promise.withResolvers<string>();
    let turn = 0;
    const count = (): void => {
      Atomics.wait(stalled, 0, 0, 4); // as much real time goes by as there is, within a few turns
      if (++turn === 20) turns.resolve("answer");
      else realTimers.setTimeout(count, 2);
    };
    count();
    expect(await settlesSoon(turns.promise)).toEqual({ state: "fulfilled", value: "answer" });
    expect(await settlesSoon(never)).toEqual({ state: "pending" });
  });
});

describe("quiet", () => {
  it("comes once nothing was going on for some turns in a row", async () => {
    const answers = [true, false, false, true, false, false, false];
    const seen: boolean[] = [];
    await quiet(() => {
      const busy = answers.shift() ?? true;
      seen.push(busy);
      return busy;
    }, 3);
    expect(seen).toEqual([true, false, false, true, false, false, false]);
  });

  it("never comes while something always is", async () => {
    const busyForEver = quiet(() => true);
    expect(await Promise.race([busyForEver.catch(() => "hung"), inTurns(50, "open")])).toBe("open");
    await expect(busyForEver).rejects.toBeInstanceOf(Hung);
  }, 60_000);
});

it("waits in real time though the globals are replaced", async () => {
  vi.useFakeTimers();
  await quiet(afterTurns(2), 2);
  expect(await settlesSoon(never)).toEqual({ state: "pending" });
  await expect(withHangGuard(never, "it answered", 5)).rejects.toBeInstanceOf(Hung);
});
