/** Reading and changing documents through a backend: parsed, in order, under a deadline, redone when another was faster. */
import {
  byteLength,
  type Clock,
  createKeyedQueue,
  emitEvent,
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

const maxRecordedCalls = 256;
/** Saves stop at 65,536 bytes. A person may have written more; beyond this it is taken for something else. */
const maxReadableBytes = 1_048_576;

export interface DocumentStoreOptions {
  readonly backend: MemoryDocumentBackend;
  readonly clock: Clock;
  readonly timeoutMs: number;
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
  const { backend, clock, timeoutMs, onEvent } = options;
  /** Changes of one key run one after another in this process; only other processes can then conflict. */
  const inOrder = createKeyedQueue();
  const conflictRetries = {
    retries: 8,
    shouldRetry: MemoryDocumentConflictError.isInstance,
    firstDelayMs: 4,
    maxDelayMs: 1_000,
    onRetry: (attempt: number): void => emitEvent(onEvent, { code: "retry", counts: { attempt } }),
  };

  /** Runs one piece of work of the backend under the deadline. What it throws is typed, or the caller's own reason. */
  const typed = async <T>(signal: AbortSignal, operation: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    try {
      return await withDeadline({ signal, timeoutMs, clock }, operation);
    } catch (error) {
      signal.throwIfAborted(); // whatever else failed meanwhile
      if (MemoryError.isInstance(error)) throw error;
      if (MemoryDocumentConflictError.isInstance(error)) {
        throw new MemoryError("conflict", "The memory document keeps changing. Try again.", { retryable: true });
      }
      throw new MemoryError("backend_failed", "The memory backend failed.", { cause: error, retryable: true });
    }
  };

  const load = async ({ key, signal }: DocumentAccess): Promise<{ document: FileDocument; version: string } | null> => {
    try {
      const stored = checkStored(await backend.read({ key, signal }));
      return stored === null ? null : { document: parseDocument(stored.content), version: stored.version };
    } catch (error) {
      if (MemoryError.isInstance(error) && error.code === "corrupt_store") {
        // Fails without a word: the damage is what matters.
        const copied = await (async () => backend.setAside?.({ key, signal }))().catch(() => false);
        if (copied) emitEvent(onEvent, { code: "document_set_aside" });
      }
      throw error;
    }
  };

  /**
   * Waits for its turn as long as the caller does; the deadline starts with the turn. It ends there even when the backend
   * never answers, so that a hung call does not hold up the next.
   */
  const exclusively = async <T>(
    access: DocumentAccess,
    operation: (access: DocumentAccess) => Promise<T>,
  ): Promise<T> => {
    const { key, signal } = access;
    assertScopeKey(key);
    return withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, (waiting) =>
      inOrder(key, () => typed(waiting, (running) => operation({ key, signal: running }))),
    );
  };

  const redo = <T>(access: DocumentAccess, change: (known: FileDocument | null) => DocumentChange<T>): Promise<T> =>
    retry({ ...conflictRetries, signal: access.signal, clock }, async () => {
      const stored = await load(access);
      const { document, result } = change(stored?.document ?? null);
      if (document !== undefined) {
        access.signal.throwIfAborted(); // a backend may not look, and nobody waits for this any more
        const calls = document.calls.slice(-maxRecordedCalls);
        const content = formatDocument({ ...document, calls });
        await backend.write({ ...access, content, expectedVersion: stored?.version ?? null });
      }
      return result;
    });

  return {
    async read({ key, signal }) {
      assertScopeKey(key);
      return typed(signal, async (running) => (await load({ key, signal: running }))?.document ?? null);
    },

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
      const list = backend.keys;
      if (list === undefined) throw new MemoryError("unsupported", "This memory backend cannot list its scopes.");
      const keys = await typed(signal, async () => list({ signal })[Symbol.asyncIterator]());
      for (;;) {
        const { done, value } = await typed(signal, () => keys.next());
        if (done) return;
        yield value;
      }
    },
  };
}

/** What stays is the next index and digests of calls: a late repeat of a save must not bring anything back. */
function eraseEntries(document: FileDocument | null): DocumentChange<number> {
  if (document === null) return { result: 0 };
  return { document: { ...document, entries: [] }, result: document.entries.length };
}

/** Whether there is a document that this version cannot work with, as opposed to a store that fails. */
export function isUnreadable(error: unknown): boolean {
  return (
    MemoryError.isInstance(error) && ["corrupt_store", "unsupported_version", "limit_exceeded"].includes(error.code)
  );
}

function checkStored(stored: MemoryDocument | null): MemoryDocument | null {
  if (stored === null) return null;
  if (typeof stored?.content !== "string" || typeof stored.version !== "string" || stored.version === "") {
    throw new MemoryError("backend_failed", "The memory backend answered with something that is not a document.");
  }
  if (byteLength(stored.content) > maxReadableBytes) {
    throw new MemoryError("limit_exceeded", "The stored memory document is longer than a megabyte.");
  }
  return stored;
}
