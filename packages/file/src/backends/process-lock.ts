/**
 * A lock between processes that a killed process cannot leave behind. The lock is a file that names its owner; it is
 * linked into place, so it is never seen half-written. A waiter that finds the owner dead takes the lock away under a
 * second lock named after that very owner, so that two waiters can never take away each other's.
 *
 * An owner that cannot be judged (another machine or container; on systems other than Linux also a process that may only
 * have the owner's number) is given up when its lock has not changed for {@link abandonedMs} of the waiter's own time; no
 * clock is compared with another's.
 */
import { readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { threadId } from "node:worker_threads";
import { pause, type RetryOptions, retry } from "@keepsake/core";
import { type FileSystem, hasCode, unlinkIfThere } from "./file-system.ts";

const abandonedMs = 5_000;
const longestWaitMs = 8;
const unknown = "unknown";

interface ProcessIdentity {
  readonly pid: number;
  /** When the process started, so that a later process with its number is not taken for it. */
  readonly started: string;
  /** The thread within the process. */
  readonly thread: number;
  /** The machine, its boot and its set of process numbers. */
  readonly machine: string;
}

interface Owner extends ProcessIdentity {
  /** Unique to one holding of one lock. */
  readonly id: string;
}

export interface ProcessLock {
  /** Whether the lock is still this holder's: it may have been given up for abandoned. */
  isHeld(): Promise<boolean>;
  /** Removes what killed waiters left beside the lock. Living ones notice and try again. */
  removeLeftovers(): Promise<void>;
  release(): Promise<void>;
}

/** Waits for the lock until the signal aborts. */
export async function acquireLock(files: FileSystem, path: string, signal: AbortSignal): Promise<ProcessLock> {
  const me: Owner = { id: crypto.randomUUID(), ...(await thisProcess(files)) };
  ownIds.add(me.id); // before the lock can be seen: another waiter of this thread would take it for one left behind
  try {
    for (;;) {
      signal.throwIfAborted();
      const owner = await readOwner(files, path);
      if (owner === null) {
        if (await create(files, path, me)) break;
        continue; // another was faster
      }
      if (await isGone(files, owner, unchangedMs(path, owner))) await takeAway(files, path, owner, signal);
      else await pause(Math.random() * longestWaitMs, signal);
    }
  } catch (error) {
    ownIds.delete(me.id);
    throw error;
  }
  watched.delete(path);
  return heldLock(files, path, me);
}

/** Of locks that this thread seeks, holds, or is still trying to release. */
const ownIds = new Set<string>();

/** Owners that this process waits for. Kept between calls: one that gives up early would never see an owner abandoned. */
const watched = new Map<string, { readonly id: string; readonly since: number }>();

/** How long this process has seen the same owner hold the lock. */
function unchangedMs(path: string, owner: Owner): number {
  const now = performance.now();
  const known = watched.get(path);
  if (known?.id === owner.id) return now - known.since;
  watched.set(path, { id: owner.id, since: now });
  return 0;
}

function heldLock(files: FileSystem, path: string, me: Owner): ProcessLock {
  const isHeld = async (): Promise<boolean> => (await readOwner(files, path))?.id === me.id;
  return {
    isHeld,
    removeLeftovers: async () => {
      const name = basename(path);
      for (const other of await files.readdir(dirname(path))) {
        if (!other.startsWith(`${name}.`) || other.startsWith(`${name}.${me.id}`)) continue;
        await unlinkIfThere(files, join(dirname(path), other));
      }
    },
    release: async () => {
      const attempt = async (): Promise<void> => {
        if (await isHeld()) await unlinkIfThere(files, path);
        ownIds.delete(me.id);
      };
      // A lock that is not released holds up everyone for as long as this process lives. What was done under it is done,
      // whatever becomes of the lock, so nobody waits for a release that does not work at once.
      await attempt().catch(() => void retry({ ...untilReleased, signal: new AbortController().signal }, attempt));
    },
  };
}

const untilReleased: Omit<RetryOptions, "signal"> = {
  retries: Number.POSITIVE_INFINITY,
  shouldRetry: () => true,
  firstDelayMs: 10,
  maxDelayMs: 1_000,
  clock: {
    now: () => Date.now(),
    setTimer: (callback, delayMs) => {
      const timer = setTimeout(callback, delayMs).unref(); // a process that ends releases its locks by ending
      return () => clearTimeout(timer);
    },
  },
};

/** Removes the lock of a dead owner. Only one waiter at a time may, and only while it is still that owner's. */
async function takeAway(files: FileSystem, path: string, dead: Owner, signal: AbortSignal): Promise<void> {
  const claim = await acquireLock(files, `${path}.${dead.id}`, signal);
  try {
    if ((await readOwner(files, path))?.id === dead.id) await unlinkIfThere(files, path);
  } finally {
    await claim.release();
  }
}

/** Puts a lock file in place unless there is one; answers whether it did. */
async function create(files: FileSystem, path: string, owner: Owner): Promise<boolean> {
  const content = JSON.stringify(owner);
  const draft = `${path}.draft.${crypto.randomUUID()}`;
  try {
    await files.writeFile(draft, content, { flag: "wx", mode: 0o600 });
    return await link(files, draft, path, content);
  } finally {
    // Failing here would leave a lock that nobody knows they hold. The next holder removes the draft.
    await unlinkIfThere(files, draft).catch(() => {});
  }
}

async function link(files: FileSystem, draft: string, path: string, content: string): Promise<boolean> {
  try {
    await files.link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST", "ENOENT")) return false; // held, or the holder removed the draft as a leftover
    if (!hasCode(error, "EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP")) throw error;
  }
  try {
    await files.writeFile(path, content, { flag: "wx", mode: 0o600 }); // a file system without hard links
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

async function readOwner(files: FileSystem, path: string): Promise<Owner | null> {
  const content = await readIfThere(files, path);
  if (content === null) return null;
  try {
    const owner = JSON.parse(content) as Partial<Owner>;
    if (typeof owner.id === "string" && /^[0-9a-f-]{36}$/.test(owner.id) && isProcessNumber(owner.pid)) {
      const { id, pid, started, machine, thread } = owner;
      return { id, pid, started: String(started), machine: String(machine), thread: Number(thread ?? 0) };
    }
  } catch {
    // half-written where hard links are missing, or cut by a power failure: an owner that cannot be judged
  }
  return { id: unknown, pid: 0, started: unknown, thread: 0, machine: "" };
}

function isProcessNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0 && Number(value) < 2 ** 31;
}

async function isGone(files: FileSystem, owner: Owner, unchangedMs: number): Promise<boolean> {
  const isAbandoned = unchangedMs >= abandonedMs;
  const here = await thisProcess(files);
  if (owner.machine !== here.machine) return isAbandoned;
  if (owner.pid === here.pid && owner.started === here.started) {
    // A thread knows its own locks. Another thread of this process may have ended without a trace.
    return owner.thread === here.thread ? !ownIds.has(owner.id) : isAbandoned;
  }
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (hasCode(error, "ESRCH")) return true;
    if (!hasCode(error, "EPERM")) throw error;
  }
  if (owner.started === unknown) return isAbandoned;
  return (await startOf(files, owner.pid)) !== owner.started;
}

let identity: ProcessIdentity | undefined;

/** Read once: an identity that changed while a lock is held would make its holder look dead. */
async function thisProcess(files: FileSystem): Promise<ProcessIdentity> {
  identity ??= {
    pid: process.pid,
    started: (await startOf(files, process.pid)) ?? unknown,
    thread: threadId,
    machine: await machine(files),
  };
  return identity;
}

/** On Linux the boot and the set of process numbers are part of it: a container is a machine of its own. */
async function machine(files: FileSystem): Promise<string> {
  const boot = await readIfThere(files, "/proc/sys/kernel/random/boot_id");
  return boot === null ? hostname() : `${hostname()} ${boot.trim()} ${await readlink("/proc/self/ns/pid")}`;
}

/** When a process started, in the system's own count; `null` where that cannot be known or the process is no more. */
async function startOf(files: FileSystem, pid: number): Promise<string | null> {
  const stat = await readIfThere(files, `/proc/${pid}/stat`);
  if (stat === null) return null;
  const [, state, ...fields] = stat.slice(stat.lastIndexOf(")")).split(" ");
  return state === "Z" || state === "X" ? null : (fields[18] ?? null);
}

/** Only a missing file answers `null`: a failure to look must not make a living owner look dead. */
async function readIfThere(files: FileSystem, path: string): Promise<string | null> {
  try {
    return await files.readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ESRCH")) return null;
    throw error;
  }
}
