/** Where memory is kept when nobody says: chosen at the first operation, from the environment of that moment. */
import { type MemoryDocumentBackend, MemoryError } from "@keepsake/core";
import { directory } from "./directory.ts";
import { vercelBlob } from "./vercel-blob.ts";

/** The environment variable that names the folder for everything Keepsake keeps. Absent: `.keepsake` in the home folder. */
export const homeVariable = "KEEPSAKE_HOME";

type Environment = Readonly<Record<string, string | undefined>>;

/** On Vercel: Blob, or `not_configured` without it. Anywhere else: files under the user's folder. */
export function defaultBackend(environment?: Environment): MemoryDocumentBackend {
  let chosen: Promise<MemoryDocumentBackend> | undefined;
  const backend = (): Promise<MemoryDocumentBackend> => {
    // A failed choice is made again: the environment may have been set up meanwhile.
    chosen ??= choose(environment ?? globalThis.process?.env ?? {}).catch((error: unknown) => {
      chosen = undefined;
      throw error;
    });
    return chosen;
  };
  return {
    durable: true,
    read: async (input) => (await backend()).read(input),
    write: async (input) => (await backend()).write(input),
    setAside: async (input) => (await (await backend()).setAside?.(input)) ?? false,
    removeLeftovers: async (input) => (await backend()).removeLeftovers?.(input),
    remove: async (input) => (await backend()).remove?.(input),
    keys: async function* (input) {
      yield* (await backend()).keys?.(input) ?? [];
    },
  };
}

async function choose(environment: Environment): Promise<MemoryDocumentBackend> {
  const value = (name: string): string | undefined => environment[name]?.trim() || undefined;
  if (value("VERCEL") !== undefined) {
    const storeId = value("BLOB_STORE_ID");
    if (storeId !== undefined) return vercelBlob({ storeId });
    const token = value("BLOB_READ_WRITE_TOKEN");
    if (token !== undefined) return vercelBlob({ token });
    throw new MemoryError(
      "not_configured",
      "File memory on Vercel is kept in Vercel Blob: connect a Blob store to the project and deploy again, " +
        "or pass a backend: fileMemory({ backend }).",
    );
  }
  const [{ homedir }, { join }] = await Promise.all([import("node:os"), import("node:path")]);
  return directory({ root: join(value(homeVariable) ?? join(homedir(), ".keepsake"), "file") });
}
