/** A folder that a provider keeps its files in, on a disk that can be broken, for any provider that uses `node:fs`. */
import { access, constants, lstat, mkdtemp, readdir, readFile, readlink, realpath, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Backend,
  type BackendFactory,
  type Connection,
  type DirectoryFault,
  type Exchange,
  type Fault,
  faults,
} from "../backend.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { unwatched, watchFiles } from "./file-faults.ts";
import { HeldAnswers } from "./held-answers.ts";

export type DirectoryConnection = Extract<Connection, { kind: "directory" }>;

/** Faults are met by the process that starts it, and by no other: they are not in the disk, but in its `node:fs`. */
export function directoryBackend(): BackendFactory<DirectoryConnection> {
  return { kind: "directory", start: ({ now }) => start(now) };
}

const isDirectoryFault = (fault: Fault): fault is DirectoryFault =>
  faults.directory.some(({ kind }) => kind === fault.kind);

async function start(now: () => number): Promise<Backend<DirectoryConnection>> {
  const root = await realpath(await mkdtemp(join(await scratch(), "keepsake-conformance-")));
  const observed: Exchange[] = [];
  const switchboard = new FaultSwitch(isDirectoryFault);
  const answers = new HeldAnswers();
  const working = new Set<symbol>();

  const unwatch = await watchFiles(root, {
    begin({ name, sent, canWait }) {
      const id = Symbol(name);
      working.add(id);
      observed.push({ summary: name, sent, atMs: now() });
      const fault = switchboard.next()?.kind;
      return {
        fault,
        held: fault === undefined && canWait ? answers.next() : undefined,
        end: () => working.delete(id),
        hold: () => {
          working.delete(id);
          return new Promise((resolve) => {
            switchboard.hold(resolve);
          });
        },
      };
    },
  });

  function heal(): void {
    switchboard.heal();
    answers.releaseAll();
  }

  return {
    kind: "directory",
    connection: { kind: "directory", root },
    ports: () => [],
    inject: (fault, options) => switchboard.inject(fault, options),
    heal,
    hold: (options) => answers.hold(options),
    observed: () => observed,
    contents: () => unwatched(() => readTree(root)),
    busy: () => working.size > 0,
    async close() {
      unwatch();
      heal();
      await rm(root, { recursive: true, force: true });
    },
  };
}

const sharedMemory = "/dev/shm";
const roomyBytes = 256 * 1_024 * 1_024;

/**
 * Where folders are made: in memory where there is room, as a provider cannot tell, and faults are made above the disk.
 * Whoever sets TMPDIR decides otherwise.
 */
async function scratch(): Promise<string> {
  if (process.env.TMPDIR !== undefined) return tmpdir();
  try {
    await access(sharedMemory, constants.W_OK);
    const { bavail, bsize } = await statfs(sharedMemory);
    return bavail * bsize > roomyBytes ? sharedMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Each file as its path below the folder, then its text. */
async function readTree(root: string): Promise<string[]> {
  const names = (await readdir(root, { recursive: true })).sort();
  const texts = await Promise.all(names.map((name) => readEntry(root, name)));
  return texts.filter((text) => text !== undefined);
}

async function readEntry(root: string, name: string): Promise<string | undefined> {
  const path = join(root, name);
  try {
    const entry = await lstat(path);
    if (entry.isSymbolicLink()) return `${name}\n${await readlink(path)}`;
    if (entry.isDirectory()) return `${name}/`;
    return `${name}\n${await readFile(path, "utf8")}`;
  } catch (error) {
    // The provider may be at work, and have removed it meanwhile.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}
