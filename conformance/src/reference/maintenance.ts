/** What an operator can do with one scope of the reference provider. */
import {
  type Clock,
  checkExportLine,
  type ExportRecord,
  exportHeader,
  type ImportRefusal,
  MemoryError,
  type MemoryMaintenance,
} from "@keepsake/core";
import { assertScopeKey } from "@keepsake/core/keys";
import type { ReferenceParts } from "./parts.ts";
import type { RecordStore, StoredRecord } from "./record-store.ts";

interface MaintenanceOptions {
  readonly store: RecordStore;
  readonly clock: Clock;
  readonly parts: ReferenceParts;
}

const never = new AbortController().signal;

export function referenceMaintenance({ store, clock, parts }: MaintenanceOptions): MemoryMaintenance {
  const live = async (key: string, signal: AbortSignal = never): Promise<readonly StoredRecord[]> => {
    assertScopeKey(key);
    const records = await store.list(parts.partition(key), signal);
    return records.filter((record) => parts.isLive(record, clock.now()));
  };
  return {
    async list({ key, cursor, limit = 100, signal }) {
      if (!Number.isSafeInteger(limit) || limit < 1) throw new MemoryError("invalid_input", "limit must be positive.");
      const records = await live(key, signal);
      const start = cursor === undefined ? 0 : records.findIndex(({ id }) => id === cursor) + 1;
      if (start === 0 && cursor !== undefined)
        throw new MemoryError("invalid_input", "The cursor is not one of this list.");
      const page = records.slice(start, start + limit).map(exported);
      const last = page.at(-1);
      return { records: page, ...(last !== undefined && start + limit < records.length ? { cursor: last.id } : {}) };
    },
    async *export({ key, signal }) {
      yield exportHeader;
      yield* (await live(key, signal)).map(exported);
    },
    async import({ key, lines, signal = never }) {
      const known = new Set((await live(key, signal)).map(({ text }) => text));
      const refused: ImportRefusal[] = [];
      let imported = 0;
      let duplicates = 0;
      for await (const unchecked of lines) {
        const line = checkExportLine(unchecked);
        if (line.type === "header") continue;
        const { id, text, createdAt = clock.now(), expiresAt, active = true } = line;
        const ruleIds = parts.secretsIn(text);
        if (ruleIds.length > 0) refused.push({ id, reason: "secret", ruleIds });
        else if (parts.tooLong(text)) refused.push({ id, reason: "too_long" });
        else if (!active) refused.push({ id, reason: "not_representable" });
        else if (known.has(text)) duplicates += 1;
        else {
          const record = { id: parts.recordId(key, ["import", crypto.randomUUID()]), text, createdAt };
          const expiry = expiresAt === undefined ? {} : { expiresAt };
          await store.put(parts.partition(key), { ...record, ...expiry }, signal);
          known.add(text);
          imported += 1;
        }
      }
      return { imported, duplicates, refused };
    },
    async erase({ key, signal = never }) {
      const records = await live(key, signal);
      for (const { id } of records) await store.remove(parts.partition(key), id, signal);
      return { erased: records.length, status: "done" };
    },
    async *scopes({ signal = never } = {}) {
      yield* await store.scopes(signal);
    },
  };
}

function exported({ id, text, createdAt, expiresAt }: StoredRecord): ExportRecord {
  return { type: "memory", id, text, createdAt, ...(expiresAt === undefined ? {} : { expiresAt }) };
}
