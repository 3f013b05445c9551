import { writeFileSync } from "node:fs";
import * as nodeFileSystem from "node:fs/promises";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Child, startChild } from "../test-support/child.ts";
import type { LockingChildOptions } from "../test-support/locking-child.ts";
import { failing, watchedFileSystem } from "../test-support/watched-file-system.ts";
import { acquireLock } from "./process-lock.ts";

const signal = new AbortController().signal;
const children: Child[] = [];
// Starting children takes its time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-lock-"));
  path = join(folder, "lock");
});

afterEach(async () => {
  vi.useRealTimers();
  for (const child of children.splice(0)) {
    child.kill();
    await child.ended;
  }
  await rm(folder, { recursive: true });
});

async function lockingChild(options: Omit<LockingChildOptions, "path"> = {}): Promise<Child> {
  const child = startChild("locking-child.ts", { path, ...options });
  children.push(child);
  await child.message((message) => message === "ready");
  return child;
}

async function holdingChild(): Promise<Child> {
  const child = await lockingChild();
  child.send("start");
  await child.message((message) => message === "held");
  return child;
}

/** Leaves the lock of a process that was killed while it held it. */
async function leaveDeadLock(): Promise<void> {
  const child = await holdingChild();
  child.kill();
  await child.ended;
  expect(await readdir(folder)).toEqual(["lock"]);
}

/**
 * Waits for the lock on a clock that only this moves.
 * @returns The milliseconds it took, or `null` when the lock was not given within `limitMs`.
 */
async function waitOnClock(limitMs: number): Promise<number | null> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  const start = performance.now();
  const gaveUp = new AbortController();
  let tookMs: number | null = null;
  const waiting = acquireLock(nodeFileSystem, path, gaveUp.signal).then(
    async (lock) => {
      tookMs = performance.now() - start;
      await lock.release();
    },
    () => {},
  );
  let settled = false;
  void waiting.then(() => {
    settled = true;
  });
  while (!settled && performance.now() - start < limitMs) {
    // The waiter looks at the lock in real time and pauses on the clock.
    if (vi.getTimerCount() > 0) await vi.advanceTimersByTimeAsync(50);
    else await new Promise(setImmediate);
  }
  if (tookMs === null) gaveUp.abort();
  await waiting;
  vi.useRealTimers();
  return tookMs;
}

/** Puts the lock of a process that is no more in the place of another's. */
async function leaveDead(): Promise<void> {
  const owner: unknown = JSON.parse(await readFile(path, "utf8"));
  await lockOf({ ...Object(owner), id: crypto.randomUUID(), started: "1" });
}

async function lockOf(owner: object): Promise<void> {
  await writeFile(path, JSON.stringify({ id: crypto.randomUUID(), pid: process.pid, started: "1", ...owner }));
}

describe("holding", () => {
  test("one at a time, however many wait, and all get their turn", async () => {
    let inside = 0;
    const seen: number[] = [];
    await Promise.all(
      Array.from({ length: 30 }, async () => {
        const lock = await acquireLock(nodeFileSystem, path, signal);
        inside += 1;
        seen.push(inside);
        await new Promise(setImmediate);
        expect(await lock.isHeld()).toBe(true);
        inside -= 1;
        await lock.release();
      }),
    );
    expect(seen).toEqual(Array.from({ length: 30 }, () => 1));
    expect(await readdir(folder)).toEqual([]);
  });

  test("from the moment the lock can be seen, also while its holder still tidies up", async () => {
    const { promise: linked, resolve: seen } = Promise.withResolvers<void>();
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = {
      ...nodeFileSystem,
      unlink: async (at: string) => {
        seen(); // the draft is removed after the lock is in place
        await gate;
        return nodeFileSystem.unlink(at);
      },
    } as typeof nodeFileSystem;
    const first = acquireLock(slow, path, signal);
    await linked;
    const controller = new AbortController();
    let looks = 0;
    const files = watchedFileSystem(({ name, path: at }) => {
      if (name === "readFile" && at === path && ++looks === 3) controller.abort("seen enough");
    });
    await expect(acquireLock(files, path, controller.signal)).rejects.toBe("seen enough");
    open();
    const lock = await first;
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
  });

  test("a waiter who gives up settles with the signal's reason, and the holder keeps the lock", async () => {
    const lock = await acquireLock(nodeFileSystem, path, signal);
    const controller = new AbortController();
    const waiting = acquireLock(nodeFileSystem, path, controller.signal);
    controller.abort(new Error("no longer wanted"));
    await expect(waiting).rejects.toThrow("no longer wanted");
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test("the lock is readable by its user alone", async () => {
    const lock = await acquireLock(nodeFileSystem, path, signal);
    expect((await nodeFileSystem.stat(path)).mode & 0o777).toBe(0o600);
    await lock.release();
  });

  test("a file system without hard links is good enough", async () => {
    const files = watchedFileSystem(failing("link", "ENOTSUP"));
    const lock = await acquireLock(files, path, signal);
    const second = acquireLock(files, path, signal);
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    expect(await (await second).isHeld()).toBe(true);
    await (await second).release();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("failing to look", () => {
  test("too many open files do not make a living holder look dead", async () => {
    const holder = await holdingChild();
    const lockOfHolder = await readFile(path, "utf8");
    const files = watchedFileSystem(failing("readFile", "EMFILE", { path: /^\/proc\// }));
    await expect(acquireLock(files, path, signal)).rejects.toMatchObject({ code: "EMFILE" });
    expect(await readFile(path, "utf8")).toBe(lockOfHolder);
    holder.kill();
    await holder.ended;
    await (await acquireLock(nodeFileSystem, path, signal)).release();
  });

  test("a lock of this very thread that nobody holds any more is given up at once", async () => {
    const lock = await acquireLock(nodeFileSystem, path, signal);
    const left = await readFile(path, "utf8");
    await lock.release();
    await writeFile(path, left);
    expect(await waitOnClock(1_000)).toBeLessThan(1_000);
    expect(await readdir(folder)).toEqual([]);
  });

  test("a lock of another thread of this process is given up after five seconds without a change", async () => {
    const lock = await acquireLock(nodeFileSystem, path, signal);
    const left = JSON.parse(await readFile(path, "utf8"));
    await lock.release();
    await writeFile(path, JSON.stringify({ ...left, thread: left.thread + 1 }));
    const tookMs = await waitOnClock(60_000);
    expect(tookMs).toBeGreaterThanOrEqual(5_000);
    expect(tookMs).toBeLessThan(10_000);
  });

  test("a lock is not left held when its draft cannot be removed", async () => {
    const files = watchedFileSystem(failing("unlink", "EIO", { path: /draft/ }));
    const lock = await acquireLock(files, path, signal);
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    const next = await acquireLock(nodeFileSystem, path, signal);
    await next.removeLeftovers();
    expect(await readdir(folder)).toEqual(["lock"]);
    await next.release();
  });

  test.each(["readFile", "unlink"])("a lock is released in the end though %s fails for a while", async (name) => {
    let failures: ReturnType<typeof failing> | undefined;
    const files = watchedFileSystem((operation) => failures?.(operation));
    const lock = await acquireLock(files, path, signal);
    failures = failing(name, "EMFILE", { path: /lock$/, times: 7 });
    await lock.release(); // what was done is done: nobody waits for a release that has to be tried again
    const next = await acquireLock(nodeFileSystem, path, signal);
    await next.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test("a disk that is full leaves no lock and no draft", async () => {
    const files = watchedFileSystem(failing("link", "ENOSPC"));
    await expect(acquireLock(files, path, signal)).rejects.toMatchObject({ code: "ENOSPC" });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("a killed holder", () => {
  test("is succeeded at once", async () => {
    await leaveDeadLock();
    expect(await waitOnClock(1_000)).toBeLessThan(1_000);
    expect(await readdir(folder)).toEqual([]);
  });

  test("is succeeded by one waiter after the other", async () => {
    await leaveDeadLock();
    let inside = 0;
    const seen: number[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const lock = await acquireLock(nodeFileSystem, path, signal);
        inside += 1;
        seen.push(inside);
        await new Promise(setImmediate);
        inside -= 1;
        await lock.release();
      }),
    );
    expect(seen).toEqual(Array.from({ length: 20 }, () => 1));
  });

  test("is succeeded though those who tried before were killed as they took the lock away", async () => {
    await leaveDeadLock();
    for (const claims of [1, 2]) {
      const child = await lockingChild({ diesTakingAway: true });
      child.send("start");
      expect(await child.ended).toBe("SIGKILL");
      // The first leaves its claim; the second has to take that away before it comes to the lock.
      expect((await readdir(folder)).filter((name) => name.startsWith("lock.")).length, `after ${claims}`).toBe(1);
    }
    expect(await waitOnClock(1_000)).toBeLessThan(1_000);
    expect(await readdir(folder)).toEqual([]);
  });

  test("is succeeded once: who saw it dead too does not take away its successor's lock", async () => {
    const successor = await acquireLock(nodeFileSystem, path, signal);
    const successorsLock = await readFile(path, "utf8");
    await leaveDead();
    const controller = new AbortController();
    let claimed = false;
    let looks = 0;
    const files = watchedFileSystem(({ name, path: at }) => {
      if (name === "link" && at !== path) {
        claimed = true;
        writeFileSync(path, successorsLock); // another waiter was faster
      }
      // The first look after the claim is the waiter's own check, the second the next round.
      if (claimed && name === "readFile" && at === path && ++looks === 2) controller.abort(new Error("seen enough"));
    });
    await expect(acquireLock(files, path, controller.signal)).rejects.toThrow("seen enough");
    expect(claimed).toBe(true);
    expect(await successor.isHeld()).toBe(true);
    await successor.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test("is told from a later process with its number", async () => {
    const lock = await acquireLock(nodeFileSystem, path, signal);
    await leaveDead();
    expect(await lock.isHeld()).toBe(false);
    expect(await waitOnClock(1_000)).toBeLessThan(1_000);
  });
});

describe("a holder that cannot be judged", () => {
  test("on another machine is waited for, and given up after five seconds without a change", async () => {
    await lockOf({ machine: "another machine" });
    expect(await waitOnClock(4_900)).toBeNull();
    expect(await readdir(folder)).toEqual(["lock"]);
    expect(await waitOnClock(20_000)).toBeGreaterThanOrEqual(5_000);
    expect(await readdir(folder)).toEqual([]);
  });

  test("is waited for again when the lock has changed hands", async () => {
    await lockOf({ machine: "another machine" });
    expect(await waitOnClock(4_900)).toBeNull();
    await lockOf({ machine: "another machine" });
    expect(await waitOnClock(4_900)).toBeNull();
    expect(await readdir(folder)).toEqual(["lock"]);
  });

  test.each(["", "{", "{}", '{"id":"x"}'])("with the unreadable lock %j is given up likewise", async (content) => {
    await writeFile(path, content);
    expect(await waitOnClock(4_900)).toBeNull();
    expect(await readFile(path, "utf8")).toBe(content);
    expect(await waitOnClock(20_000)).toBeGreaterThanOrEqual(5_000);
  });

  test("and died on another machine while taking a lock away does not block it for good", async () => {
    await lockOf({ machine: "another machine" });
    const { id }: { id: string } = JSON.parse(await readFile(path, "utf8"));
    const claim = { id: crypto.randomUUID(), pid: 1, started: "1", machine: "another machine" };
    await writeFile(`${path}.${id}`, JSON.stringify(claim));
    expect(await waitOnClock(60_000)).toBeGreaterThanOrEqual(5_000);
  });

  test("has lost the lock and knows it", async () => {
    const lost = await acquireLock(nodeFileSystem, path, signal);
    expect(await lost.isHeld()).toBe(true);
    await lockOf({ machine: "another machine" });
    expect(await lost.isHeld()).toBe(false);
    await lost.release();
    expect(await readdir(folder)).toEqual(["lock"]);
  });
});

test("a living holder is never robbed, not even one that stands still", async () => {
  const holder = await holdingChild();
  holder.kill("SIGSTOP");
  expect(await waitOnClock(60_000)).toBeNull();
  holder.kill("SIGCONT");
  holder.send("let go");
  expect(await holder.ended).toBe(0);
  expect(holder.messages).toContainEqual({ stillHeld: true });
  expect(await waitOnClock(1_000)).toBeLessThan(1_000);
});

test("processes that count up one number lose no count, though others are killed while they hold the lock", async () => {
  await writeFile(`${path}-count`, "0");
  const counting = await Promise.all(
    [undefined, undefined, 3, 8, 13].map((diesInIncrement) =>
      lockingChild({ increments: 25, ...(diesInIncrement === undefined ? {} : { diesInIncrement }) }),
    ),
  );
  for (const child of counting) child.send("start");
  const endings = await Promise.all(counting.map(({ ended }) => ended));
  expect(endings).toEqual([0, 0, "SIGKILL", "SIGKILL", "SIGKILL"]);
  const counted = counting.flatMap(({ messages }) =>
    messages.map((message) => Reflect.get(Object(message), "counted")).filter((count) => count !== undefined),
  );
  // Each died before it wrote, so only acknowledged counts are in the file, and no two are the same.
  expect(counted.toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: 2 * 25 + 2 + 7 + 12 }, (_, index) => index + 1),
  );
  expect(await readFile(`${path}-count`, "utf8")).toBe(String(counted.length));
});
