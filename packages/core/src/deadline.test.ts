import { describe, expect, it } from "vitest";
import { pause, withDeadline } from "./deadline.ts";
import { manualClock } from "./test-support/manual-clock.ts";
import { memoryErrorOf } from "./test-support/outcome.ts";

const hung = (): Promise<never> => new Promise(() => {});
const never = (): never => {
  throw new Error("This must not run.");
};

async function unhandledDuring(work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  await work();
  await new Promise(setImmediate); // Node reports unhandled rejections before the next round of its loop
  process.off("unhandledRejection", onUnhandled);
  return unhandled;
}

describe("withDeadline", () => {
  it("answers what the operation answers, at once or later, and leaves no timer", async () => {
    const clock = manualClock();
    const { signal } = new AbortController();
    const options = { signal, timeoutMs: 100, clock };
    expect(await withDeadline(options, () => "at once")).toBe("at once");
    expect(await withDeadline(options, async () => "later")).toBe("later");
    await expect(withDeadline(options, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    await expect(withDeadline(options, never)).rejects.toThrow("must not run");
    expect(clock.waiting).toEqual([]);
  });

  it("gives up on an operation that hangs, exactly when time is up", async () => {
    const clock = manualClock();
    let inner: AbortSignal | undefined;
    const outcome = memoryErrorOf(() =>
      withDeadline({ signal: new AbortController().signal, timeoutMs: 100, clock }, (signal) => {
        inner = signal;
        return hung();
      }),
    );
    clock.advance(99);
    expect(inner?.aborted).toBe(false);
    clock.advance(1);
    expect(inner?.aborted).toBe(true);
    expect(await outcome).toMatchObject({ code: "timeout", retryable: true, name: "MemoryError" });
    expect(inner?.reason).toBe(await outcome);
  });

  it.each<[string, unknown]>([
    ["an error", new Error("stopped")],
    ["a text", "stopped"],
    ["null", null],
  ])("settles with the reason, %s, when the caller gives up on an operation that hangs", async (_, reason) => {
    const clock = manualClock();
    const controller = new AbortController();
    let inner: AbortSignal | undefined;
    const outcome = withDeadline({ signal: controller.signal, timeoutMs: 100, clock }, (signal) => {
      inner = signal;
      return hung();
    });
    controller.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    expect(inner?.reason).toBe(reason);
    expect(clock.waiting).toEqual([]);
  });

  it("settles with an AbortError when no reason was given", async () => {
    const controller = new AbortController();
    const outcome = withDeadline({ signal: controller.signal, timeoutMs: 100, clock: manualClock() }, hung);
    controller.abort();
    await expect(outcome).rejects.toMatchObject({ name: "AbortError" });
  });

  it("runs nothing for a caller who has given up before", async () => {
    const clock = manualClock();
    const options = { signal: AbortSignal.abort("before"), timeoutMs: 100, clock };
    let ran = false;
    const outcome = withDeadline(options, () => {
      ran = true;
    });
    await expect(outcome).rejects.toBe("before");
    expect([ran, clock.waiting]).toEqual([false, []]);
  });

  it("does not take an outcome that comes with the abort for one that came in time", async () => {
    const outcomes: (() => unknown)[] = [() => null, async () => null, never];
    const unhandled = await unhandledDuring(async () => {
      for (const outcome of outcomes) {
        const controller = new AbortController();
        const options = { signal: controller.signal, timeoutMs: 100, clock: manualClock() };
        const late = withDeadline(options, () => {
          controller.abort("stopped");
          return outcome();
        });
        await expect(late).rejects.toBe("stopped");
      }
    });
    expect(unhandled).toEqual([]);
    const controller = new AbortController();
    const options = { signal: controller.signal, timeoutMs: 100, clock: manualClock() };
    const obliging = withDeadline(options, (signal) => {
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(null)));
    });
    controller.abort("stopped");
    await expect(obliging).rejects.toBe("stopped");
  });

  it("drops what comes too late, whether answer or failure", async () => {
    const clock = manualClock();
    const { promise, reject } = Promise.withResolvers<never>();
    const unhandled = await unhandledDuring(async () => {
      const outcome = memoryErrorOf(() =>
        withDeadline({ signal: new AbortController().signal, timeoutMs: 100, clock }, () => promise),
      );
      clock.advance(100);
      expect((await outcome).code).toBe("timeout");
      reject(new Error("too late"));
    });
    expect(unhandled).toEqual([]);
  });

  it("waits as long as it takes without a limit", async () => {
    const clock = manualClock();
    const { promise, resolve } = Promise.withResolvers<string>();
    const outcome = withDeadline(
      { signal: new AbortController().signal, timeoutMs: Number.POSITIVE_INFINITY, clock },
      () => promise,
    );
    expect(clock.waiting).toEqual([]);
    clock.advance(1e12);
    resolve("at last");
    expect(await outcome).toBe("at last");
  });

  it("lets a deadline within a deadline end first", async () => {
    const clock = manualClock();
    const { signal } = new AbortController();
    const outcome = memoryErrorOf(() =>
      withDeadline({ signal, timeoutMs: 200, clock }, (inner) =>
        withDeadline({ signal: inner, timeoutMs: 100, clock }, hung),
      ),
    );
    clock.advance(100);
    expect((await outcome).message).toContain("100 ms");
  });
});

describe("pause", () => {
  it("ends exactly when its time has come", async () => {
    const clock = manualClock();
    const { signal } = new AbortController();
    let ended = false;
    const paused = pause(100, signal, clock).then(() => {
      ended = true;
    });
    clock.advance(99);
    await Promise.resolve();
    expect(ended).toBe(false);
    clock.advance(1);
    await paused;
    expect(ended).toBe(true);
  });

  it("ends at once, with the reason, when the caller gives up", async () => {
    const clock = manualClock();
    const controller = new AbortController();
    const paused = pause(100, controller.signal, clock);
    controller.abort("stopped");
    await expect(paused).rejects.toBe("stopped");
    expect(clock.waiting).toEqual([]);
    await expect(pause(100, AbortSignal.abort("before"), clock)).rejects.toBe("before");
    expect(clock.waiting).toEqual([]);
  });
});
