/** Records in memory: the state behind the reference services, whatever wire they speak. */
import { createHash } from "node:crypto";
import { isExpired } from "@keepsake/core";
import type { PutResult, StoredRecord } from "./record-store.ts";

interface Partition {
  readonly records: Map<string, StoredRecord>;
  /** Digests of ids that were removed. */
  readonly gone: Set<string>;
  readonly pins: Map<string, readonly string[]>;
}

export class RecordTable {
  readonly #now: () => number;
  readonly #partitions = new Map<string, Partition>();

  constructor(now: () => number) {
    this.#now = now;
  }

  list(scope: string): readonly StoredRecord[] {
    return [...this.#partition(scope).records.values()];
  }

  put(scope: string, record: StoredRecord): PutResult {
    const { records, gone } = this.#partition(scope);
    if (gone.has(digest(record.id))) return "gone";
    if (records.has(record.id)) return "known";
    records.set(record.id, record);
    return "stored";
  }

  remove(scope: string, id: string): boolean {
    const { records, gone } = this.#partition(scope);
    const removed = records.delete(id);
    if (removed) gone.add(digest(id));
    return removed;
  }

  pin(scope: string, operation: string, ids: readonly string[]): readonly string[] {
    const { pins } = this.#partition(scope);
    const first = pins.get(operation) ?? ids;
    pins.set(operation, first);
    return first;
  }

  scopes(): readonly string[] {
    return [...this.#partitions.keys()].filter((scope) => this.list(scope).length > 0);
  }

  /** Everything held, as a witness sees it. */
  contents(): readonly string[] {
    return [...this.#partitions.keys()].map((scope) => {
      const { records, gone, pins } = this.#partition(scope);
      return JSON.stringify({ scope, records: [...records.values()], gone: [...gone], pins: [...pins] });
    });
  }

  /** What has expired is gone, whoever looks and from wherever. */
  #partition(scope: string): Partition {
    const partition = this.#partitions.get(scope) ?? { records: new Map(), gone: new Set(), pins: new Map() };
    this.#partitions.set(scope, partition);
    for (const { id, expiresAt } of partition.records.values()) {
      if (expiresAt === undefined || !isExpired(expiresAt, this.#now())) continue;
      partition.records.delete(id);
      partition.gone.add(digest(id));
    }
    return partition;
  }
}

function digest(id: string): string {
  return createHash("sha256").update(id).digest("base64url");
}
