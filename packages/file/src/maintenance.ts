/** Looking at, taking out, bringing in and deleting one scope's document. */
import {
  byteLength,
  checkExportLine,
  type ExportRecord,
  exportHeader,
  type ImportInput,
  type ImportRefusal,
  type ImportResult,
  MemoryError,
  type MemoryMaintenance,
  toSingleLine,
  withDeadline,
} from "@keepsake/core";
import { emptyDocument, type FileDocument, type MemoryEntry } from "./document.ts";
import { type DocumentStore, isUnreadable } from "./document-store.ts";
import { entryText, growing, maxEntryBytes } from "./entry.ts";
import type { FileMemorySettings } from "./options.ts";

const pageSize = 100;
/** Imports know no slot: what a slot of any name could have saved comes back whole. */
const shortestSlot = "s";

export function createMaintenance(
  store: DocumentStore,
  { maxCharacters, secrets }: Pick<FileMemorySettings, "maxCharacters" | "secrets">,
): MemoryMaintenance {
  const read = async (key: string, signal = neverAborted()): Promise<FileDocument> =>
    (await store.read({ key, signal })) ?? emptyDocument;

  return {
    async list({ key, cursor, limit = pageSize, signal }) {
      if (!Number.isSafeInteger(limit) || limit < 1) {
        throw new MemoryError("invalid_input", "limit must be a positive whole number.");
      }
      if (cursor !== undefined && !/^[0-9]{1,16}$/.test(cursor)) {
        throw new MemoryError("invalid_input", "The cursor is not one of this store's.");
      }
      const { entries } = await read(key, signal);
      const rest = entries.filter(({ index }) => cursor === undefined || index > Number(cursor));
      const page = rest.slice(0, limit);
      const last = page.at(-1);
      return {
        records: page.map(toRecord),
        ...(last === undefined || rest.length === page.length ? {} : { cursor: String(last.index) }),
      };
    },

    async *export({ key, signal }) {
      const { entries } = await read(key, signal);
      yield exportHeader;
      yield* entries.map(toRecord);
    },

    async import({ key, lines, signal = neverAborted() }) {
      const records = await collect(lines, signal);
      return store.update({ key, signal }, (known) => importRecords(known ?? emptyDocument, records));
    },

    async erase({ key, signal = neverAborted() }) {
      return { erased: await store.erase({ key, signal }), status: "done" };
    },

    async *scopes({ signal = neverAborted() }) {
      for await (const key of store.keys(signal)) {
        if (!(await isErased(store, key, signal))) yield key;
      }
    },
  };

  function importRecords(
    start: FileDocument,
    records: readonly ExportRecord[],
  ): { document?: FileDocument; result: ImportResult } {
    const grown = growing(start, { slot: shortestSlot, maxCharacters });
    const known = new Set(start.entries.map(({ text }) => text));
    let nextIndex = start.nextIndex;
    let imported = 0;
    let duplicates = 0;
    const refused: ImportRefusal[] = [];
    for (const record of records) {
      const { id, text } = record;
      if (known.has(text)) {
        duplicates += 1;
        continue;
      }
      try {
        if (!isRepresentable(record)) throw new MemoryError("invalid_input", "This store cannot keep it as it is.");
        nextIndex = grown.add(entryText(text, secrets), keptIndex(id, nextIndex)) + 1;
        known.add(text);
        imported += 1;
      } catch (error) {
        refused.push(refusal(record, error));
      }
    }
    const result = { imported, duplicates, refused };
    return imported === 0 ? { result } : { document: grown.document, result };
  }
}

/** Only one line fits a document; an expiry or a state of inactive would be lost, and the text come alive for good. */
function isRepresentable({ text, active, expiresAt }: ExportRecord): boolean {
  return toSingleLine(text) === text && active !== false && expiresAt === undefined;
}

/** An index survives a move where it was never given out here. */
function keptIndex(id: string, nextIndex: number): number {
  const index = /^(0|[1-9][0-9]{0,8})$/.test(id) ? Number(id) : -1;
  return Math.max(index, nextIndex);
}

function refusal({ id, text }: { readonly id: string; readonly text: string }, error: unknown): ImportRefusal {
  if (!MemoryError.isInstance(error)) throw error;
  if (error.code === "secret_refused") return { id, reason: "secret", ruleIds: error.ruleIds ?? [] };
  if (error.code === "invalid_input") return { id, reason: "not_representable" };
  return { id, reason: byteLength(text) > maxEntryBytes ? "too_long" : "full" };
}

async function isErased(store: DocumentStore, key: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await store.read({ key, signal }))?.entries.length === 0;
  } catch (error) {
    if (isUnreadable(error)) return false; // it still holds something
    throw error;
  }
}

/** All records, or the reason of the signal: the source may never end. */
function collect(lines: ImportInput["lines"], signal: AbortSignal): Promise<ExportRecord[]> {
  return withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY }, async () => {
    const records: ExportRecord[] = [];
    for await (const line of lines) {
      const checked = checkExportLine(line);
      if (checked.type === "memory") records.push(checked);
    }
    return records;
  });
}

function toRecord({ index, text }: MemoryEntry): ExportRecord {
  return { type: "memory", id: String(index), text };
}

function neverAborted(): AbortSignal {
  return new AbortController().signal;
}
