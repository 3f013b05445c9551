/** Takes a lock when told to: to hold it until told to let go, to die with it, or to count up a number in a file. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { acquireLock } from "../backends/process-lock.ts";
import { dying, watchedFileSystem } from "./watched-file-system.ts";

export interface LockingChildOptions {
  readonly path: string;
  /** Ends the process right before it would take away a dead owner's lock. */
  readonly diesTakingAway?: boolean;
  /** Counts up this often instead of holding. The number is in a file named like the lock, with `.count`. */
  readonly increments?: number;
  /** Ends the process within the increment of this number, counted from 1, while it holds the lock. */
  readonly diesInIncrement?: number;
}

const { path, diesTakingAway, increments, diesInIncrement }: LockingChildOptions = JSON.parse(process.argv[2] ?? "");
const signal = new AbortController().signal;
const counter = `${path}-count`;
const files = watchedFileSystem(
  dying((operation) => diesTakingAway === true && operation.name === "unlink" && operation.path === path),
);

process.on("message", (message) => void (message === "let go" ? undefined : run()));
process.once("disconnect", () => process.exit()); // not to outlive the tests
process.send?.("ready");

async function run(): Promise<void> {
  await (increments === undefined ? hold() : count(increments));
  process.disconnect();
}

async function hold(): Promise<void> {
  const lock = await acquireLock(files, path, signal);
  process.send?.("held");
  await new Promise<void>((resolve) => process.on("message", (message) => message === "let go" && resolve()));
  process.send?.({ stillHeld: await lock.isHeld() });
  await lock.release();
}

async function count(times: number): Promise<void> {
  for (let done = 1; done <= times; done += 1) {
    const lock = await acquireLock(files, path, signal);
    const next = Number(await readFile(counter, "utf8")) + 1;
    if (done === diesInIncrement) process.kill(process.pid, "SIGKILL");
    await writeFile(`${counter}-${process.pid}`, String(next));
    await rename(`${counter}-${process.pid}`, counter);
    await lock.release();
    process.send?.({ counted: next });
  }
}
