/** What the reference provider stands on: records by scope and id, and nothing that a plain service could not do. */

export interface StoredRecord {
  /** Known before it is written, so that writing it twice is writing it once. */
  readonly id: string;
  readonly text: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt?: number;
}

/** `known`: stored before. `gone`: removed before, and not to be brought back. */
export type PutResult = "stored" | "known" | "gone";

export interface RecordStore {
  /** Whether records outlive the process. */
  readonly durable: boolean;
  /** Whether what has expired goes by itself, or is only left out when it is read. */
  readonly expiry: "native" | "checked";
  list(scope: string, signal: AbortSignal): Promise<readonly StoredRecord[]>;
  put(scope: string, record: StoredRecord, signal: AbortSignal): Promise<PutResult>;
  /** Answers whether it was there. What is removed leaves its id, so that a late repeat brings nothing back. */
  remove(scope: string, id: string, signal: AbortSignal): Promise<boolean>;
  /** Keeps the ids that an operation came to first, and answers those. */
  pin(scope: string, operation: string, ids: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  scopes(signal: AbortSignal): Promise<readonly string[]>;
}
