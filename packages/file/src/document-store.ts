/** Reading and changing documents through a backend: parsed, in order, under a deadline, redone when another was faster. */
import {
  byteLength,
  type Clock,
  createKeyedQueue,
  emitEvent,
  isExpired,
  type MemoryDocument,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  MemoryError,
  type MemoryEventListener,
  retry,
  withDeadline,
} from "@keepsake/core";
import { assertScopeKey } from "@keepsake/core/keys";
import { type FileDocument, formatDocument, parseDocument } from "./document.ts";

export const maxDocumentBytes = 65_536;
const maxRecordedCalls = 128;

export interface DocumentStoreOptions {
  readonly backend: MemoryDocumentBackend;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** How long a repeated tool call is recognised. */
  readonly idempotencyWindowMs: number;
  readonly onEvent: MemoryEventListener | undefined;
}

export interface DocumentAccess {
  readonly key: string;
  readonly signal: AbortSignal;
}

/** What a change makes of a document; without one, nothing is written. */
export interface DocumentChange<T> {
  readonly document?: FileDocument;
  readonly result: T;
}

export interface DocumentStore {
  /** `null` when nothing was ever written under the key. */
  read(access: DocumentAccess): Promise<FileDocument | null>;
  /** `change` runs again on the fresh document after a conflict; `known` is `null` before the first write. */
  update<T>(access: DocumentAccess, change: (known: FileDocument | null) => DocumentChange<T>): Promise<T>;
  /** Empties the document and removes what lies beside it. One that cannot be understood is removed whole. */
  erase(access: DocumentAccess): Promise<number>;
  keys(signal: AbortSignal): AsyncIterable<string>;
}

export function createDocumentStore(options: DocumentStoreOptions): DocumentStore {
  const { backend, clock, timeoutMs, idempotencyWindowMs, onEvent } = options;
  /** Changes of one key run one after another in this process; only other processes can then conflict. */
  const inOrder = createKeyedQueue();
  const conflictRetries = {
    retries: 8,
    shouldRetry: MemoryDocumentConflictError.isInstance,
    firstDelayMs: 4,
    maxDelayMs: 200,
    onRetry: (attempt: number): void => emitEvent(onEvent, { code: "retry", counts: { attempt } }),
  };

  const guarded = async <T>(access: DocumentAccess, operation: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    assertScopeKey(access.key);
    try {
      return await withDeadline({ signal: access.signal, timeoutMs, clock }, operation);
    } catch (error) {
      if (access.signal.aborted || MemoryError.isInstance(error)) throw error;
      if (MemoryDocumentConflictError.isInstance(error)) throw new MemoryDocumentConflictError(access.key);
      throw new MemoryError("backend_failed", "The memory backend failed.", { cause: error, retryable: true });
    }
  };

  const load = async ({ key, signal }: DocumentAccess): Promise<{ document: FileDocument; version: string } | null> => {
    try {
      const stored = checkStored(await backend.read({ key, signal }));
      return stored === null ? null : { document: parseDocument(stored.content), version: stored.version };
    } catch (error) {
      if (MemoryError.isInstance(error) && error.code === "corrupt_store") {
        const copied = await backend.setAside?.({ key, signal }).catch(() => false); // the damage is what matters
        if (copied) emitEvent(onEvent, { code: "document_set_aside" });
      }
      throw error;
    }
  };

  /** Ends with the deadline even when the backend never answers, so that a hung call does not hold up the next. */
  const exclusively = <T>(access: DocumentAccess, operation: (access: DocumentAccess) => Promise<T>): Promise<T> =>
    guarded(access, (signal) =>
      inOrder(access.key, () =>
        withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, () => operation({ key: access.key, signal })),
      ),
    );

  const redo = <T>(access: DocumentAccess, change: (known: FileDocument | null) => DocumentChange<T>): Promise<T> =>
    retry({ ...conflictRetries, signal: access.signal, clock }, async () => {
      const stored = await load(access);
      const { document, result } = change(stored?.document ?? null);
      if (document !== undefined) {
        const content = fit(document, { now: clock.now(), idempotencyWindowMs });
        await backend.write({ ...access, content, expectedVersion: stored?.version ?? null });
      }
      return result;
    });

  return {
    read: (access) => guarded(access, async (signal) => (await load({ ...access, signal }))?.document ?? null),

    update: (access, change) => exclusively(access, (exclusive) => redo(exclusive, change)),

    erase: (access) =>
      exclusively(access, async (exclusive) => {
        const erased = await redo(exclusive, eraseEntries).catch(async (error: unknown) => {
          if (!isUnreadable(error) || backend.remove === undefined) throw error;
          await backend.remove(exclusive);
          return 0;
        });
        await backend.removeLeftovers?.(exclusive);
        return erased;
      }),

    async *keys(signal) {
      if (backend.keys === undefined) {
        throw new MemoryError("unsupported", "This memory backend cannot list its scopes.");
      }
      for await (const key of backend.keys({ signal })) {
        signal.throwIfAborted();
        yield key;
      }
    },
  };
}

/** What stays is the next index and digests of calls: a late repeat of a save must not bring anything back. */
function eraseEntries(document: FileDocument | null): DocumentChange<number> {
  if (document === null) return { result: 0 };
  return { document: { ...document, entries: [] }, result: document.entries.length };
}

function isUnreadable(error: unknown): boolean {
  return (
    MemoryError.isInstance(error) && ["corrupt_store", "unsupported_version", "limit_exceeded"].includes(error.code)
  );
}

/** The text to write: calls that are too old or too many go first; entries never go. */
function fit(
  document: FileDocument,
  { now, idempotencyWindowMs }: { now: number; idempotencyWindowMs: number },
): string {
  let calls = document.calls
    .filter(({ atSeconds }) => !isExpired(atSeconds * 1_000 + idempotencyWindowMs, now))
    .slice(-maxRecordedCalls);
  for (;;) {
    const content = formatDocument({ ...document, calls });
    if (byteLength(content) <= maxDocumentBytes) return content;
    if (calls.length === 0) {
      throw new MemoryError(
        "limit_exceeded",
        "The memory document would exceed 65,536 bytes. Remove a memory that is out of date, then save again.",
      );
    }
    calls = calls.slice(1);
  }
}

function checkStored(stored: MemoryDocument | null): MemoryDocument | null {
  if (stored === null) return null;
  if (typeof stored?.content !== "string" || typeof stored.version !== "string" || stored.version === "") {
    throw new MemoryError("backend_failed", "The memory backend answered with something that is not a document.");
  }
  if (byteLength(stored.content) > maxDocumentBytes) {
    throw new MemoryError("limit_exceeded", "The stored memory document is longer than 65,536 bytes.");
  }
  return stored;
}
