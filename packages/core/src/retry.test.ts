import { afterEach, describe, expect, it, vi } from "vitest";
import { type RetryOptions, retry } from "./retry.ts";
import { manualClock } from "./test-support/manual-clock.ts";
import { settle } from "./test-support/outcome.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

function attempts(changes: Partial<RetryOptions> = {}) {
  const clock = manualClock();
  const retried: number[] = [];
  const options: RetryOptions = {
    retries: 3,
    shouldRetry: () => true,
    signal: new AbortController().signal,
    firstDelayMs: 100,
    maxDelayMs: 150,
    clock,
    onRetry: (attempt) => retried.push(attempt),
    ...changes,
  };
  return { clock, options, retried };
}

describe("retry", () => {
  it("answers the first success, and says which attempts failed", async () => {
    const { clock, options, retried } = attempts();
    const outcome = retry(options, async (attempt) => {
      if (attempt < 3) throw new Error(`attempt ${attempt}`);
      return `attempt ${attempt}`;
    });
    for (let round = 0; round < 2; round += 1) {
      await settle();
      clock.advance(150);
    }
    expect(await outcome).toBe("attempt 3");
    expect(retried).toEqual([1, 2]);
  });

  it("stops after its retries, with the last error", async () => {
    const { clock, options, retried } = attempts({ retries: 2 });
    let tried = 0;
    const outcome = retry(options, async (attempt) => {
      tried += 1;
      throw new Error(`attempt ${attempt}`);
    });
    outcome.catch(() => {});
    for (let round = 0; round < 9; round += 1) {
      await settle();
      clock.advance(150);
    }
    await expect(outcome).rejects.toThrow("attempt 3");
    expect([tried, retried]).toEqual([3, [1, 2]]);
  });

  it("does not try again what cannot succeed", async () => {
    const { clock, options, retried } = attempts({ shouldRetry: (error) => !(error instanceof RangeError) });
    const outcome = retry(options, () => {
      throw new RangeError("full");
    });
    await expect(outcome).rejects.toThrow("full");
    expect([retried, clock.waiting]).toEqual([[], []]);
  });

  it.each([
    [0, [0, 0, 0]],
    [0.5, [50, 75, 75]],
    [0.99, [99, 148.5, 148.5]],
  ])("waits a random part (%d) of a delay that doubles up to its limit", async (random, delays) => {
    vi.spyOn(Math, "random").mockReturnValue(random);
    const { clock, options } = attempts();
    const outcome = retry(options, () => Promise.reject(new Error("failed")));
    outcome.catch(() => {});
    const waited: number[] = [];
    for (const _ of delays) {
      await settle();
      waited.push(...clock.waiting);
      clock.advance(150);
    }
    await expect(outcome).rejects.toThrow("failed");
    expect(waited).toEqual(delays);
  });

  it("waits at least as long as the error asks for", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const { clock, options } = attempts({ minDelayMs: (error) => Number(Reflect.get(Object(error), "retryAfterMs")) });
    const outcome = retry(options, async (attempt) => {
      if (attempt === 1) throw Object.assign(new Error("busy"), { retryAfterMs: 7_000 });
      return "answered";
    });
    await settle();
    expect(clock.waiting).toEqual([7_050]);
    clock.advance(7_050);
    expect(await outcome).toBe("answered");
  });

  it("stops at once, during a pause, when the caller gives up", async () => {
    const controller = new AbortController();
    const { clock, options } = attempts({ signal: controller.signal });
    let tried = 0;
    const outcome = retry(options, async () => {
      tried += 1;
      throw new Error("failed");
    });
    outcome.catch(() => {});
    await settle();
    expect(clock.waiting).toHaveLength(1);
    controller.abort("stopped");
    await expect(outcome).rejects.toBe("stopped");
    expect([tried, clock.waiting]).toEqual([1, []]);
  });

  it("announces no retry to a caller who gave up during the attempt", async () => {
    const controller = new AbortController();
    const { options, retried } = attempts({ signal: controller.signal });
    const outcome = retry(options, async () => {
      controller.abort("stopped");
      throw new Error("failed");
    });
    await expect(outcome).rejects.toBe("stopped");
    expect(retried).toEqual([]);
  });

  it("tries nothing for a caller who has given up before", async () => {
    let tried = 0;
    const { options } = attempts({ signal: AbortSignal.abort("before") });
    const outcome = retry(options, async () => {
      tried += 1;
    });
    await expect(outcome).rejects.toBe("before");
    expect(tried).toBe(0);
  });
});
