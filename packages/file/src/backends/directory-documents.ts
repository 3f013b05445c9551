/** The directory backend's work on the file system. */
import { createHash, randomUUID } from "node:crypto";
import * as nodeFileSystem from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  createKeyedQueue,
  type MemoryDocument,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  type MemoryDocumentReadInput,
  type MemoryDocumentWriteInput,
  MemoryError,
  retry,
} from "@keepsake/core";
import { scopeKeyOfStorageName, storageName } from "@keepsake/core/keys";
import { type FileSystem, hasCode, syncFolder, unlinkIfThere } from "./file-system.ts";
import { acquireLock, type ProcessLock } from "./process-lock.ts";

const documentName = "memory.md";
const lockName = "lock";
const draftSuffix = ".draft";
/** All backends of this process take their turns in one queue, and leave the lock to other processes to wait for. */
const inOrder = createKeyedQueue();

export interface DirectoryOptions {
  /** The folder that holds everything. Made when the first document is written, readable by this user alone. */
  readonly root: string;
  /** Stands in for `node:fs/promises`, to try faults. */
  readonly fileSystem?: FileSystem;
}

export function directoryDocuments(options: DirectoryOptions): Required<MemoryDocumentBackend> {
  const files: FileSystem = options.fileSystem ?? nodeFileSystem;
  const root = resolve(options.root);
  const folderOf = (key: string): string => join(root, storageName(key));

  const read = async ({ key, signal }: MemoryDocumentReadInput): Promise<MemoryDocument | null> => {
    signal.throwIfAborted();
    const bytes = await readBytes(files, join(folderOf(key), documentName));
    return bytes === null ? null : { content: decode(bytes), version: digest(bytes) };
  };

  const write = async (input: MemoryDocumentWriteInput): Promise<MemoryDocument> => {
    const { key, signal, content, expectedVersion } = input;
    signal.throwIfAborted();
    const folder = folderOf(key);
    const path = join(folder, documentName);
    const bytes = Buffer.from(content);
    await makeFolder(files, folder);
    await underLock(folder, signal, async (lock) => {
      const checkCurrent = async (): Promise<void> => {
        const present = await readBytes(files, path);
        const version = present === null ? null : digest(present);
        if (version !== expectedVersion || !(await lock.isHeld())) throw new MemoryDocumentConflictError(key);
      };
      await checkCurrent();
      // Nobody else writes now: drafts are those of killed writers, and may hold what was forgotten since.
      await removeFiles(folder, (name) => name.endsWith(draftSuffix));
      await lock.removeLeftovers();
      await replace({ path, bytes, signal, check: checkCurrent });
    });
    await syncFolder(files, folder);
    return { content, version: digest(bytes) };
  };

  const setAside = async ({ key, signal }: MemoryDocumentReadInput): Promise<boolean> => {
    signal.throwIfAborted();
    const folder = folderOf(key);
    if ((await readBytes(files, join(folder, documentName))) === null) return false;
    return underLock(folder, signal, async () => {
      const bytes = await readBytes(files, join(folder, documentName));
      if (bytes === null) return false;
      const copy = `${documentName}.damaged-${digest(bytes).slice(0, 12)}`;
      if ((await namesIn(files, folder)).includes(copy)) return false;
      await replace({ path: join(folder, copy), bytes, signal });
      await syncFolder(files, folder);
      return true;
    });
  };

  const removeLeftovers = async ({ key, signal }: MemoryDocumentReadInput): Promise<void> => {
    signal.throwIfAborted();
    const folder = folderOf(key);
    if ((await namesIn(files, folder)).every((name) => name === documentName)) return;
    await underLock(folder, signal, async (lock) => {
      await removeFiles(folder, () => true);
      await lock.removeLeftovers();
    });
    await syncFolder(files, folder);
  };

  const remove = async ({ key, signal }: MemoryDocumentReadInput): Promise<void> => {
    signal.throwIfAborted();
    const folder = folderOf(key);
    if ((await namesIn(files, folder)).length === 0) return;
    await underLock(folder, signal, () => unlinkIfThere(files, join(folder, documentName)));
    await syncFolder(files, folder);
  };

  const underLock = async <T>(
    folder: string,
    signal: AbortSignal,
    operation: (lock: ProcessLock) => Promise<T>,
  ): Promise<T> => {
    return inOrder(folder, async () => {
      const lock = await acquireLock(files, join(folder, lockName), signal);
      try {
        return await operation(lock);
      } finally {
        await lock.release();
      }
    });
  };

  /** Puts a file in place whole or not at all. `check` runs right before each attempt. */
  const replace = async (file: {
    path: string;
    bytes: Buffer;
    signal: AbortSignal;
    check?: () => Promise<void>;
  }): Promise<void> => {
    const { path, bytes, signal, check } = file;
    const draft = `${path}.${randomUUID()}${draftSuffix}`;
    try {
      await writeDurably(files, draft, bytes);
      await retry(
        // Windows refuses to replace a file that a virus scanner or an editor has open for a moment.
        {
          retries: 5,
          shouldRetry: (error) => hasCode(error, "EPERM", "EACCES", "EBUSY"),
          signal,
          firstDelayMs: 10,
          maxDelayMs: 200,
        },
        async () => {
          await check?.();
          signal.throwIfAborted();
          await files.rename(draft, path);
        },
      );
    } finally {
      await unlinkIfThere(files, draft);
    }
  };

  /** Removes files that stand beside the document under its name. */
  const removeFiles = async (folder: string, matches: (name: string) => boolean): Promise<void> => {
    for (const name of await namesIn(files, folder)) {
      if (name.startsWith(`${documentName}.`) && matches(name)) await unlinkIfThere(files, join(folder, name));
    }
  };

  async function* keys({ signal }: { signal: AbortSignal }): AsyncGenerator<string> {
    for (const name of (await namesIn(files, root)).sort()) {
      signal.throwIfAborted();
      const key = scopeKeyOfStorageName(name);
      if (key !== null && (await namesIn(files, join(root, name))).includes(documentName)) yield key;
    }
  }

  return { durable: true, read, write, setAside, removeLeftovers, remove, keys };
}

async function readBytes(files: FileSystem, path: string): Promise<Buffer | null> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
}

async function namesIn(files: FileSystem, folder: string): Promise<string[]> {
  try {
    return await files.readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** Makes the folder and those above it that are missing, each private and each recorded in the one above. */
async function makeFolder(files: FileSystem, folder: string): Promise<void> {
  const topmost = await files.mkdir(folder, { recursive: true, mode: 0o700 });
  if (topmost === undefined) return;
  for (let made = folder; made.length >= topmost.length; made = dirname(made)) await syncFolder(files, dirname(made));
}

async function writeDurably(files: FileSystem, path: string, bytes: Buffer): Promise<void> {
  const handle = await files.open(path, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new MemoryError("corrupt_store", "The memory document is not text. It was left as it is.");
  }
}

function digest(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
