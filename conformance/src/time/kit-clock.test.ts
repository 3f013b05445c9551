import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Clock, startTimer } from "@keepsake/core";
import { describe, expect, it } from "vitest";
import { createKitClock } from "./kit-clock.ts";
import { quiet } from "./wait.ts";

const day = 24 * 60 * 60 * 1_000;
const idle = (): boolean => false;
const sleep = (clock: Clock, ms: number): Promise<void> =>
  new Promise((resolve) => void startTimer(clock, resolve, ms));

describe("injected time", () => {
  it("stands still at a moment that is not now, apart from other clocks", async () => {
    const time = createKitClock("injected");
    const other = createKitClock("injected", Date.UTC(2031, 0, 1));
    expect(new Date(time.now()).toISOString()).toBe("2030-01-01T00:00:00.000Z");
    await time.advance(1_000);
    expect(new Date(time.clock.now()).toISOString()).toBe("2030-01-01T00:00:01.000Z");
    expect(new Date(other.now()).toISOString()).toBe("2031-01-01T00:00:00.000Z");
  });

  it("fires the timers that it passes in order, each at its time, and not those that were cancelled", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    const fired: [string, number][] = [];
    const note = (name: string) => () => void fired.push([name, time.now() - start]);
    startTimer(time.clock, note("second"), 20);
    startTimer(time.clock, note("first"), 10);
    startTimer(time.clock, note("later"), 31);
    startTimer(time.clock, note("cancelled"), 15)();
    await time.advance(30);
    expect(fired).toEqual([
      ["first", 10],
      ["second", 20],
    ]);
    await time.advance(1);
    expect(fired.at(-1)).toEqual(["later", 31]);
  });

  it("lets what a timer starts run before time moves on", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    const slept = (async () => {
      await Promise.resolve();
      for (let nap = 0; nap < 3; nap++) {
        await sleep(time.clock, 100);
        await Promise.resolve();
      }
      return time.now() - start;
    })();
    await time.advance(1_000);
    expect(await slept).toBe(300);
  });

  it("has timers as long as anybody asks for", async () => {
    const time = createKitClock("injected");
    let fired = 0;
    startTimer(time.clock, () => fired++, 60 * day);
    const cancel = startTimer(time.clock, () => fired++, 60 * day);
    await time.advance(60 * day - 1);
    expect(fired).toBe(0);
    cancel();
    await time.advance(1);
    expect(fired).toBe(1);
  });

  it("moves on by days though a timer never ends", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    let fired = 0;
    const again = (): void => {
      fired++;
      startTimer(time.clock, again, 1);
    };
    again();
    await time.advance(30 * day);
    expect(time.now() - start).toBe(30 * day);
    expect(fired).toBeGreaterThan(100);
  });
});

describe("a driven call", () => {
  it("ends without any time when it waits for none", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    const error = new Error("broken");
    const options = { limitMs: 1_000, busy: idle };
    startTimer(time.clock, () => {}, 1);
    expect(await time.drive(Promise.resolve("answer"), options)).toEqual({ state: "fulfilled", value: "answer" });
    expect(await time.drive(Promise.reject(error), options)).toEqual({ state: "rejected", error });
    expect(time.now()).toBe(start);
  });

  it("takes the time of its timers and no more", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    const call = sleep(time.clock, 100).then(() => sleep(time.clock, 250));
    const outcome = await time.drive(call, { limitMs: 60_000, busy: idle });
    expect([outcome.state, time.now() - start]).toEqual(["fulfilled", 350]);
  });

  it("may use its time to the full, and is pending after that", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    expect((await time.drive(sleep(time.clock, 100), { limitMs: 100, busy: idle })).state).toBe("fulfilled");
    expect((await time.drive(sleep(time.clock, 101), { limitMs: 100, busy: idle })).state).toBe("pending");
    expect((await time.drive(new Promise(() => {}), { limitMs: 100, busy: idle })).state).toBe("pending");
    expect(time.now() - start).toBe(300);
  });

  it("is not overtaken by time while something is going on", async () => {
    const time = createKitClock("injected");
    let busy = true;
    const answer = quiet(() => false, 40).then(() => {
      busy = false;
      return "answer";
    });
    const call = Promise.race([answer, sleep(time.clock, 10).then(() => "too late")]);
    expect(await time.drive(call, { limitMs: 100, busy: () => busy })).toEqual({ state: "fulfilled", value: "answer" });
  });

  it("is not overtaken by time while it works on files", async () => {
    const time = createKitClock("injected");
    const folder = await mkdtemp(`${tmpdir()}/kit-clock-`);
    const text = "x".repeat(4_000_000);
    const work = async (): Promise<string> => {
      for (let file = 0; file < 10; file++) {
        await writeFile(`${folder}/${file}`, text);
        await readFile(`${folder}/${file}`);
      }
      return "written";
    };
    const call = Promise.race([work(), sleep(time.clock, 1).then(() => "too late")]);
    const outcome = await time.drive(call, { limitMs: 10, busy: idle });
    await rm(folder, { recursive: true });
    expect(outcome).toEqual({ state: "fulfilled", value: "written" });
  });

  it("ends though a timer never does", async () => {
    const time = createKitClock("injected");
    const start = time.now();
    const again = (): void => void startTimer(time.clock, again, 0);
    again();
    const interval = (): void => void startTimer(time.clock, interval, 1);
    interval();
    const slept = await time.drive(sleep(time.clock, 500), { limitMs: 1_000, busy: idle });
    expect(slept.state).toBe("fulfilled");
    expect((await time.drive(new Promise(() => {}), { limitMs: 60_000, busy: idle })).state).toBe("pending");
    expect(time.now() - start).toBeGreaterThanOrEqual(60_500);
  }, 30_000);
});

describe("real time", () => {
  it("is waited for, and cannot be moved", async () => {
    const time = createKitClock("real");
    const options = { limitMs: 5, busy: idle };
    expect(await time.drive(Promise.resolve("answer"), options)).toEqual({ state: "fulfilled", value: "answer" });
    expect(await time.drive(new Promise(() => {}), options)).toEqual({ state: "pending" });
    await expect(time.advance(1)).rejects.toThrow("Real time cannot be moved.");
  });
});

describe("global time", () => {
  const script = fileURLToPath(new URL("../test-support/global-time-script.ts", import.meta.url));
  const scenario = async (name: string): Promise<unknown> => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, name]);
    return JSON.parse(stdout);
  };

  it("has to be installed first", () => {
    expect(() => createKitClock("global")).toThrow("Global time has to be installed");
  });

  it("is what a module sees that is imported later", async () => {
    expect(await scenario("replaced")).toEqual({ date: "2030-01-01T00:00:00.000Z", performance: 0, sameModule: true });
  });

  it("is set when it is installed again, and what waits goes on waiting", async () => {
    expect(await scenario("setAgain")).toMatchObject({
      date: "2031-01-01T00:00:00.000Z",
      waited: { state: "fulfilled", tookMs: 1_000 },
    });
  });

  it("drives each kind of timer", async () => {
    const fulfilled = (tookMs: number): object => ({ state: "fulfilled", tookMs });
    expect(await scenario("waits")).toEqual({
      global: fulfilled(1_000),
      module: fulfilled(2_000),
      promises: { ...fulfilled(3_000), value: "slept" },
      scheduler: fulfilled(4_000),
      promisified: fulfilled(5_000),
      aborted: { state: "rejected", name: "AbortError", message: "The operation was aborted", tookMs: 6_000 },
      never: { state: "pending", tookMs: 60_000 },
    });
  });

  it("ends a call though an interval never does", async () => {
    expect(await scenario("intervals")).toEqual({ result: { state: "pending", tookMs: 60_000 }, fired: true });
  }, 30_000);

  it("leaves fetch as it was", async () => {
    expect(await scenario("fetches")).toEqual({ state: "fulfilled", value: "answered", tookMs: 0 });
  });

  it("ends timeouts and retries of fetch alike each time, on a busy machine as well", async () => {
    const message = "The operation was aborted due to timeout";
    const round = {
      hung: { state: "rejected", name: "TimeoutError", message, tookMs: 10_000 },
      retried: { state: "fulfilled", value: "answered", tookMs: 700 },
    };
    const runs = await Promise.all(Array.from({ length: 5 }, () => scenario("times")));
    expect(runs.flat()).toEqual(Array.from({ length: 50 }, () => round));
  }, 60_000);
});
