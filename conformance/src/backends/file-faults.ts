/**
 * Breaks the file system for whoever uses Node's, below chosen folders and nowhere else. It replaces the functions of
 * `node:fs` and `node:sqlite` in this process, since a provider that keeps files takes no file system as an option.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type DirectoryFaultKind,
  descriptorOperations,
  type FileOperation,
  fileError,
  handleOperations,
  pathOperations,
  suffers,
} from "./file-operations.ts";
import { callback, constructing, exists, promised, type Style, synchronous, type Through } from "./file-styles.ts";
import type { Held } from "./held-answers.ts";
import { execute, openDatabase, runStatement } from "./sqlite-operations.ts";
import { withBytes, writtenBytes } from "./written-data.ts";

export interface FileWatcher {
  /** Told of an operation before it happens. */
  begin(operation: { readonly name: string; readonly sent: string; readonly canWait: boolean }): OperationWatch;
}

export interface OperationWatch {
  /** The fault that is on; whether it has a part in this operation is decided here. */
  readonly fault: DirectoryFaultKind | undefined;
  /** What its answer waits for, where it can. */
  readonly held: Held | undefined;
  end(): void;
  /** Waits until the fault is healed. */
  hold(): Promise<void>;
}

/** Watches a folder (a real path, absolute). Answers how to stop. */
export async function watchFiles(root: string, watcher: FileWatcher): Promise<() => void> {
  const unpatch = await patchFileSystem();
  watchers.set(root, watcher);
  return () => {
    watchers.delete(root);
    unpatch();
  };
}

/** Does the kit's own work on a watched folder, which meets no fault and is not observed. */
export function unwatched<T>(work: () => T): T {
  return within.run(true, work);
}

const watchers = new Map<string, FileWatcher>();
const openDescriptors = new Map<number, string>();
const openHandles = new WeakMap<object, string>();

/** Set while Node works on an operation that was seen: what it calls on the way is part of that, and not seen again. */
const within = new AsyncLocalStorage<true>();

/** What is to happen to an operation on a watched folder. */
export interface Plan {
  /** To call Node's function with; nothing where it is not called at all. */
  readonly args: readonly unknown[] | undefined;
  /** What it ends with after that. */
  readonly error: Error | undefined;
  /** Whether it does not end before the fault is healed. */
  readonly held: boolean;
  readonly watch: OperationWatch;
  /** To be told what it answered. */
  opened(result: unknown): void;
}

/** Nothing for an operation that is nobody's business here. */
function plan(
  operation: FileOperation,
  self: unknown,
  args: readonly unknown[],
  { canWait }: { readonly canWait: boolean },
): Plan | undefined {
  const targets = targetsOf(operation, self, args);
  const found = find(targets);
  if (found === undefined) return undefined;

  const paths = targets.map(pathOf).filter((path) => path !== undefined);
  const { other } = operation;
  const bytes = writtenBytes(operation, args);
  const content = other?.sent(self, args) ?? bytes?.toString() ?? "";
  const sent = [...(paths.length > 0 ? paths : [found.path]), content].join("\n");
  const watch = found.watcher.begin({ name: operation.name, sent, canWait });
  const fault = watch.fault;
  const isHit =
    fault !== undefined &&
    (other?.suffers(fault, self, args) ?? suffers(operation, fault, { args, onPath: paths.length > 0 }));
  // A file that fails to close is closed all the same.
  const isClosing = operation.name === "close";
  if (isClosing) forget(targets[0]);
  const opened = (result: unknown): void => {
    if (operation.name === "open") remember(result, found.path);
  };
  if (!isHit) return { args, error: undefined, held: false, watch, opened };
  const half =
    fault === "torn-write" && bytes !== undefined ? bytes.subarray(0, Math.floor(bytes.length / 2)) : undefined;
  return {
    args: isClosing ? args : half === undefined ? undefined : withBytes(operation, args, half),
    error: other?.error(fault) ?? fileError(operation, fault, paths),
    held: fault === "hang",
    watch,
    opened,
  };
}

function targetsOf({ targets }: FileOperation, self: unknown, args: readonly unknown[]): unknown[] {
  return targets.length === 0 ? [self] : targets.map((index) => args[index]);
}

/** Whose business it is, if anybody's. */
function find(targets: readonly unknown[]): Place | undefined {
  if (watchers.size === 0 || within.getStore() !== undefined) return undefined;
  return targets.map(locate).find((place) => place !== undefined);
}

interface Place {
  readonly path: string;
  readonly watcher: FileWatcher;
}

function locate(target: unknown): Place | undefined {
  const path = pathOf(target) ?? openPathOf(target);
  if (path === undefined) return undefined;
  for (const [root, watcher] of watchers) {
    if (path === root || path.startsWith(root + sep)) return { path, watcher };
  }
  return undefined;
}

function pathOf(target: unknown): string | undefined {
  if (typeof target === "string") return resolve(target);
  if (Buffer.isBuffer(target)) return resolve(target.toString());
  return target instanceof URL && target.protocol === "file:" ? fileURLToPath(target) : undefined;
}

function openPathOf(target: unknown): string | undefined {
  if (typeof target === "number") return openDescriptors.get(target);
  if (typeof target !== "object" || target === null) return undefined;
  return openHandles.get(target) ?? databasePath(target);
}

/** A database that was opened by a class taken out of `node:sqlite` before it was replaced: imports of it stay as they are. */
function databasePath(target: object): string | undefined {
  const sqlite = process.getBuiltinModule("node:sqlite");
  if (sqlite === undefined || !(target instanceof sqlite.DatabaseSync) || !target.isOpen) return undefined;
  return target.location?.() ?? undefined; // absent from Node before 22.16
}

function remember(opened: unknown, path: string): void {
  if (typeof opened === "number") openDescriptors.set(opened, path);
  if (typeof opened !== "object" || opened === null) return;
  openHandles.set(opened, path);
  // A handle's descriptor can be used by itself.
  if ("fd" in opened && typeof opened.fd === "number") openDescriptors.set(opened.fd, path);
}

function forget(closing: unknown): void {
  const descriptor = typeof closing === "object" && closing !== null && "fd" in closing ? closing.fd : closing;
  if (typeof descriptor === "number") openDescriptors.delete(descriptor);
}

interface Patch {
  readonly owner: object;
  readonly name: string;
  readonly original: unknown;
  readonly replacement: unknown;
}

let patches: Patch[] = [];
let patchers = 0;

/**
 * Puts the watched functions in place, until the last one who asked for them calls what this answers. Watching a folder
 * does so by itself; a process that is going to watch does well to ask for it before it loads a provider, which may take
 * functions out of `node:fs` for good while it is being loaded.
 */
export async function patchFileSystem(): Promise<() => void> {
  const handlePrototype = await findHandlePrototype();
  patchers += 1;
  if (patchers === 1) install(handlePrototype);
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    patchers -= 1;
    if (patchers === 0) uninstall();
  };
}

/** The class of file handles is not exported; every handle has it. */
async function findHandlePrototype(): Promise<object> {
  const handle = await fs.promises.open(process.execPath);
  await handle.close();
  return Object.getPrototypeOf(handle);
}

function install(handlePrototype: object): void {
  const through: Through = {
    isWatched: (operation, self, args) => find(targetsOf(operation, self, args)) !== undefined,
    plan,
    within: unwatched,
  };
  const replace = (owner: object, name: string, operation: FileOperation, style: Style): void => {
    const original: unknown = Reflect.get(owner, name);
    if (typeof original !== "function") return;
    const replacement = style(original, operation, through);
    // Such as what `util.promisify` goes by, and `realpath.native`.
    for (const key of Reflect.ownKeys(original)) {
      const property = Object.getOwnPropertyDescriptor(original, key);
      if (property !== undefined) Reflect.defineProperty(replacement, key, property);
    }
    if ("native" in replacement) replace(replacement, "native", operation, style);
    Reflect.set(owner, name, replacement);
    patches.push({ owner, name, original, replacement });
  };
  for (const operation of pathOperations) {
    replace(fs.promises, operation.name, operation, promised);
    replace(fs, operation.name, operation, callback);
    replace(fs, `${operation.name}Sync`, operation, synchronous);
  }
  for (const [name, operation] of descriptorOperations) {
    replace(fs, name, operation, callback);
    replace(fs, `${name}Sync`, operation, synchronous);
  }
  for (const operation of handleOperations) replace(handlePrototype, operation.name, operation, promised);
  const sqlite = process.getBuiltinModule("node:sqlite"); // absent from Node before 22.13
  if (sqlite !== undefined) {
    replace(sqlite.DatabaseSync.prototype, "exec", execute, synchronous);
    replace(sqlite.DatabaseSync.prototype, "open", { ...openDatabase, targets: [] }, synchronous);
    replace(sqlite.DatabaseSync.prototype, "prepare", openDatabase, inherited);
    for (const operation of runStatement)
      replace(sqlite.StatementSync.prototype, operation.name, operation, synchronous);
    replace(sqlite, "DatabaseSync", openDatabase, constructing);
  }
  replace(fs, "exists", { name: "access", targets: [0] }, exists.callback);
  replace(fs, "existsSync", { name: "access", targets: [0] }, exists.synchronous);
  syncBuiltinESMExports();
}

/** A statement of a database is on its path. */
const inherited: Style = (original) =>
  function (...args) {
    const made: unknown = Reflect.apply(original, this, args);
    const path = openPathOf(this);
    if (path !== undefined) remember(made, path);
    return made;
  };

function uninstall(): void {
  for (const { owner, name, original, replacement } of patches) {
    // Somebody may have patched on top. What stays lets everything through.
    if (Reflect.get(owner, name) === replacement) Reflect.set(owner, name, original);
  }
  patches = [];
  syncBuiltinESMExports();
}
