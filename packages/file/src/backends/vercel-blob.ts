/** Documents in a private Vercel Blob store, replaced only where the entity tag still matches. */
import {
  checkOptions,
  type MemoryDocument,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  type MemoryDocumentReadInput,
  MemoryError,
  optionIs,
  withDeadline,
} from "@keepsake/core";
import { scopeKeyOfStorageName, storageName } from "@keepsake/core/keys";

export interface VercelBlobOptions {
  /** A read-write token. Absent: the package's own defaults, `BLOB_READ_WRITE_TOKEN` or OIDC, as on Vercel. */
  readonly token?: string;
  readonly oidcToken?: string;
  readonly storeId?: string;
  /** The start of every pathname. Default `keepsake/memory/file`. */
  readonly prefix?: string;
}

type BlobPackage = typeof import("@vercel/blob");

const fileName = "/MEMORY.md";

/**
 * A backend over `@vercel/blob`, which is installed beside this package. A document's pathname is
 * `<prefix>/<scope key>/MEMORY.md`, so that a prefix of `eve/memory/file` continues what eve's file memory kept there.
 * `keys` lists derived scope keys; other texts are hashed and cannot be listed.
 * @throws MemoryError `invalid_options` for an empty prefix; `not_configured` from operations when `@vercel/blob` or the
 * credentials are missing.
 */
export function vercelBlob(options: VercelBlobOptions = {}): MemoryDocumentBackend {
  checkOptions("vercelBlob()", options, {
    token: optionIs.text,
    oidcToken: optionIs.text,
    storeId: optionIs.text,
    prefix: (value) => typeof value === "string",
  });
  const { prefix: givenPrefix = "keepsake/memory/file", ...credentials } = options;
  const prefix = givenPrefix.replace(/^\/+|\/+$/g, "");
  if (prefix === "" || prefix.includes("//"))
    throw new MemoryError("invalid_options", "vercelBlob() needs a prefix of non-empty parts.");
  let loading: Promise<BlobPackage> | undefined;
  const load = (): Promise<BlobPackage> => {
    loading ??= import("@vercel/blob").catch((error: unknown) => {
      throw new MemoryError("not_configured", "Install @vercel/blob to keep memory in Vercel Blob.", { cause: error });
    });
    return loading;
  };

  /** Settles with the signal's reason at once: between two tries of its own, the client does not listen to a signal. */
  const call = <T>(
    signal: AbortSignal,
    operation: (blob: BlobPackage, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> =>
    withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, async (inner) => {
      // The client goes on trying for minutes after any reason but an AbortError.
      const abort = new AbortController();
      inner.addEventListener("abort", () => abort.abort(), { once: true });
      const blob = await load();
      try {
        return await operation(blob, abort.signal);
      } catch (error) {
        throw isMissingCredentials(error, blob) ? missingCredentials() : error;
      } finally {
        abort.abort(); // what the client has not read to its end would keep a connection
      }
    });

  const read = ({ key, signal }: MemoryDocumentReadInput): Promise<MemoryDocument | null> =>
    call(signal, async (blob, abortSignal) => {
      const path = pathname(prefix, key);
      const find = () =>
        blob.get(path, {
          ...credentials,
          access: "private",
          abortSignal,
          useCache: false, // a cached document would be an old one
          headers: { "accept-encoding": "identity" }, // a compressed answer carries another entity tag
        });
      let found = await find();
      if (found === null) {
        if (!(await exists(blob, path, { ...credentials, abortSignal }))) return null;
        found = await find(); // it was created between the two questions
      }
      if (found?.statusCode !== 200 || !found.blob.etag) throw unexpectedAnswer();
      return { content: await new Response(found.stream).text(), version: found.blob.etag };
    });

  return {
    durable: true,
    read,
    write: ({ key, signal, content, expectedVersion }) =>
      call(signal, async (blob, abortSignal) => {
        try {
          const written = await blob.put(pathname(prefix, key), content, {
            ...credentials,
            access: "private",
            abortSignal,
            addRandomSuffix: false,
            contentType: "text/markdown; charset=utf-8",
            ...(expectedVersion === null
              ? { allowOverwrite: false }
              : { allowOverwrite: true, ifMatch: expectedVersion }),
          });
          if (!written.etag) throw unexpectedAnswer();
          return { content, version: written.etag };
        } catch (error) {
          if (error instanceof blob.BlobPreconditionFailedError) throw new MemoryDocumentConflictError(key);
          // The service has no error of its own for "exists already": look before deciding what the failure was.
          if (expectedVersion === null && (await read({ key, signal: abortSignal })) !== null) {
            throw new MemoryDocumentConflictError(key);
          }
          throw error;
        }
      }),
    remove: ({ key, signal }) =>
      call(signal, (blob, abortSignal) => blob.del(pathname(prefix, key), { ...credentials, abortSignal })),
    async *keys({ signal }) {
      let cursor: string | undefined;
      do {
        const from = cursor === undefined ? {} : { cursor };
        const page = await call(signal, (blob, abortSignal) =>
          blob.list({ ...credentials, prefix: `${prefix}/`, abortSignal, ...from }),
        );
        for (const { pathname: path } of page.blobs) {
          const key = path.slice(prefix.length + 1, -fileName.length);
          if (path.endsWith(fileName) && isDerived(key)) yield key;
        }
        cursor = page.hasMore ? page.cursor : undefined;
      } while (cursor !== undefined);
    },
  };
}

/**
 * A store that does not exist answers a read just as a missing object does. The service's own interface tells them apart.
 * @throws the client's error for a store that cannot be used.
 */
async function exists(blob: BlobPackage, path: string, options: Parameters<BlobPackage["head"]>[1]): Promise<boolean> {
  try {
    await blob.head(path, options);
    return true;
  } catch (error) {
    if (error instanceof blob.BlobNotFoundError) return false;
    throw error;
  }
}

/** A derived key stands for itself; any other text is hashed first. */
function pathname(prefix: string, key: string): string {
  const name = storageName(key);
  return `${prefix}/${isDerived(key) ? key : name}${fileName}`;
}

function isDerived(key: string): boolean {
  return key.startsWith("memscope1_") && scopeKeyOfStorageName(storageName(key)) === key;
}

/** A good status with something else behind it, as a proxy gives. Not "no document", and not "written". */
function unexpectedAnswer(): MemoryError {
  return new MemoryError("backend_failed", "Vercel Blob gave an answer that is not its own.", { retryable: true });
}

/** The client tells this by its message alone. */
function isMissingCredentials(error: unknown, blob: BlobPackage): boolean {
  return error instanceof blob.BlobError && /credentials found|no storeId was found/.test(error.message);
}

function missingCredentials(): MemoryError {
  return new MemoryError(
    "not_configured",
    "vercelBlob() found no credentials: set BLOB_READ_WRITE_TOKEN, or BLOB_STORE_ID where Vercel gives OIDC tokens, or " +
      "pass token, or oidcToken and storeId.",
  );
}
