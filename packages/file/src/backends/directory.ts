/** Documents as files in folders of their own, for one machine and any number of processes on it. */
import type { MemoryDocument, MemoryDocumentBackend } from "@keepsake/core";
import { checkOptions, MemoryError, optionIs } from "@keepsake/core";
import type { DirectoryOptions } from "./directory-documents.ts";

export type { DirectoryOptions };

/**
 * One folder per scope, named in lower-case hex, with the document as `memory.md` in it. Writes are atomic and survive a
 * power failure; several processes may write at once; a person may edit a document, and what was written between a read
 * and a save is kept. What a killed process leaves is removed by the next write; a copy of a damaged document stays until
 * `removeLeftovers`, which erasing a scope calls. `keys` lists derived scope keys; other texts are hashed and cannot be listed.
 *
 * Not for a network file system, nor for containers that share a volume: there another store is the better choice.
 * @throws MemoryError `invalid_options` without a root.
 */
export function directory(options: DirectoryOptions): MemoryDocumentBackend {
  checkOptions("directory()", options, {
    root: optionIs.text,
    fileSystem: optionIs.having("link", "mkdir", "open", "readdir", "readFile", "rename", "unlink", "writeFile"),
  });
  if (options.root === undefined)
    throw new MemoryError("invalid_options", "directory() needs the path of a folder as root.");
  // Loaded when first used, so that file memory over another backend runs where there is no file system.
  let loading: Promise<Required<MemoryDocumentBackend>> | undefined;
  const backend = (): Promise<Required<MemoryDocumentBackend>> => {
    loading ??= import("./directory-documents.ts").then(({ directoryDocuments }) => directoryDocuments(options));
    return loading;
  };
  return {
    durable: true,
    read: async (input): Promise<MemoryDocument | null> => (await backend()).read(input),
    write: async (input): Promise<MemoryDocument> => (await backend()).write(input),
    setAside: async (input): Promise<boolean> => (await backend()).setAside(input),
    removeLeftovers: async (input): Promise<void> => (await backend()).removeLeftovers(input),
    remove: async (input): Promise<void> => (await backend()).remove(input),
    keys: async function* (input): AsyncGenerator<string> {
      yield* (await backend()).keys(input);
    },
  };
}
