/** Looking at, taking out, bringing in and deleting one scope's document. */
import {
  byteLength,
  checkExportLine,
  type ExportLine,
  type ExportRecord,
  exportHeader,
  type ImportRefusal,
  type ImportResult,
  MemoryError,
  type MemoryMaintenance,
  toSingleLine,
} from "@keepsake/core";
import { emptyDocument, type FileDocument, type MemoryEntry } from "./document.ts";
import type { DocumentStore } from "./document-store.ts";
import { addEntry, entryText, maxEntryBytes } from "./entry.ts";
import type { FileMemorySettings } from "./options.ts";

const pageSize = 100;
/** Imports know no slot: what fits under the longest name fits under any. */
const longestSlot = "s".repeat(64);

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
      const records = await collect(lines);
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
    let document = start;
    let duplicates = 0;
    const refused: ImportRefusal[] = [];
    for (const { id, text } of records) {
      if (document.entries.some((entry) => entry.text === text)) {
        duplicates += 1;
        continue;
      }
      try {
        if (toSingleLine(text) !== text) throw new MemoryError("invalid_input", "Only one line can be kept.");
        document = addEntry(document, entryText(text, secrets), {
          slot: longestSlot,
          maxCharacters,
          index: keptIndex(id, document.nextIndex),
        });
      } catch (error) {
        refused.push(refusal({ id, text }, error));
      }
    }
    const imported = document.entries.length - start.entries.length;
    const result = { imported, duplicates, refused };
    return imported === 0 ? { result } : { document, result };
  }
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
    if (MemoryError.isInstance(error) && error.code === "corrupt_store") return false; // it still holds something
    throw error;
  }
}

async function collect(lines: Iterable<ExportLine> | AsyncIterable<ExportLine>): Promise<ExportRecord[]> {
  const records: ExportRecord[] = [];
  for await (const line of lines) {
    const checked = checkExportLine(line);
    if (checked.type === "memory" && checked.active !== false) records.push(checked);
  }
  return records;
}

function toRecord({ index, text }: MemoryEntry): ExportRecord {
  return { type: "memory", id: String(index), text };
}

function neverAborted(): AbortSignal {
  return new AbortController().signal;
}
