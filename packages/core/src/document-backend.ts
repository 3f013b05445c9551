/** The storage seam for one bounded, versioned text document per scope. Shared by every package that keeps documents. */
import { MemoryError, readProperty } from "./errors.ts";
import { assertScopeKey } from "./keys.ts";

export interface MemoryDocument {
  /** The whole document. */
  readonly content: string;
  /** Opaque, never empty. Two different contents never share one. */
  readonly version: string;
}

export interface MemoryDocumentReadInput {
  /** The scope key: opaque, well-formed, not blank. A backend may not assume its form. */
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface MemoryDocumentWriteInput extends MemoryDocumentReadInput {
  readonly content: string;
  /** The version this write replaces, or `null` to create only. */
  readonly expectedVersion: string | null;
}

/**
 * A store of documents. `read` and `write` are all a provider needs to work; the rest lets an operator list scopes, clean
 * up after damage, and lets a provider declare whether memory outlives the process.
 */
export interface MemoryDocumentBackend {
  /** Whether documents outlive the process. Unknown counts as `false`. */
  readonly durable?: boolean;
  /** Answers `null` only when no document was ever written under the key. Any failure throws. */
  readonly read: (input: MemoryDocumentReadInput) => Promise<MemoryDocument | null>;
  /** Replaces atomically, or throws {@link MemoryDocumentConflictError} when `expectedVersion` is stale. */
  readonly write: (input: MemoryDocumentWriteInput) => Promise<MemoryDocument>;
  /** Copies a document that cannot be understood to a safe place. The original stays. Answers whether it made a new copy. */
  readonly setAside?: (input: MemoryDocumentReadInput) => Promise<boolean>;
  /** Removes what `setAside` and interrupted writes left under the key. */
  readonly removeLeftovers?: (input: MemoryDocumentReadInput) => Promise<void>;
  /** Removes the document itself. Used to erase one that cannot be understood; others are erased by a write. */
  readonly remove?: (input: MemoryDocumentReadInput) => Promise<void>;
  /** Keys of the documents held. A backend that cannot recover a key leaves it out and says so in its docstring. */
  readonly keys?: (input: { readonly signal: AbortSignal }) => AsyncIterable<string>;
}

/**
 * A document changed between read and conditional write. Read again and redo. Recognised by name and a string `key`, so
 * that other copies of this package and other hosts' equivalents count too.
 */
export class MemoryDocumentConflictError extends MemoryError {
  /** Not enumerable: a key handed straight to a provider may be a person's name. */
  declare readonly key: string;

  constructor(key: string) {
    super("conflict", "The memory document changed before it could be updated.", { retryable: true });
    this.name = "MemoryDocumentConflictError";
    Object.defineProperty(this, "key", { value: key });
  }

  static override isInstance(error: unknown): error is MemoryDocumentConflictError {
    return (
      typeof error === "object" &&
      error !== null &&
      readProperty(error, "name") === "MemoryDocumentConflictError" &&
      typeof readProperty(error, "key") === "string"
    );
  }
}

/** Documents in a `Map`, for tests and throw-away agents. Each call makes a store of its own. */
export function inMemoryDocuments(): MemoryDocumentBackend {
  const documents = new Map<string, MemoryDocument>();
  let writes = 0;
  return {
    durable: false,
    async read({ key, signal }) {
      signal.throwIfAborted();
      assertScopeKey(key);
      return documents.get(key) ?? null;
    },
    async write({ key, signal, content, expectedVersion }) {
      signal.throwIfAborted();
      assertScopeKey(key);
      if ((documents.get(key)?.version ?? null) !== expectedVersion) throw new MemoryDocumentConflictError(key);
      writes += 1;
      const document = Object.freeze({ content, version: `memory-${writes}` });
      documents.set(key, document);
      return document;
    },
    async remove({ key, signal }) {
      signal.throwIfAborted();
      documents.delete(key);
    },
    async *keys({ signal }) {
      signal.throwIfAborted();
      yield* documents.keys();
    },
  };
}
