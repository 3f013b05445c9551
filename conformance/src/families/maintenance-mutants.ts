/** Providers that an operator cannot rely on. */
import type { ExportLine, MemoryProvider } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { recordsOfAll, withMaintenance } from "../reference/changed.ts";

export const maintenanceMutants: readonly Mutant[] = [
  {
    id: "maintenance/unscoped-list",
    flaw: "Lists the records of all scopes.",
    kills: { "maintenance/list": "other-scope" },
    spares: ["maintenance/import-twice", "forgetting/save-again"],
    provider: (provider, { store }) =>
      withMaintenance(provider, ({ list }) => ({
        list: async (input) => {
          const page = await list(input);
          if (input.limit !== undefined) return page;
          const records = await recordsOfAll(store, new AbortController().signal);
          return { records: records.map(({ id, text }) => ({ type: "memory", id, text })) };
        },
      })),
  },
  {
    id: "maintenance/cursor-skips",
    flaw: "Begins each page one record too late.",
    kills: { "maintenance/list": "loss" },
    spares: ["maintenance/round-trip", "maintenance/import-twice"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: async (input) => {
          const page = await list(input);
          if (page.cursor === undefined) return page;
          const next = await list({ ...input, cursor: page.cursor, limit: 1 });
          const { cursor, ...last } = page;
          return next.cursor === undefined ? last : { ...last, cursor: next.cursor };
        },
      })),
  },
  {
    id: "maintenance/cursor-counts",
    flaw: "Takes the number of records so far for the cursor.",
    kills: { "maintenance/list-while-forgetting": "skipped" },
    spares: ["maintenance/list", "maintenance/round-trip"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: async ({ cursor = "0", limit = 100, ...input }) => {
          const { records } = await list(input);
          const end = Number(cursor) + limit;
          const page = records.slice(Number(cursor), end);
          return { records: page, ...(end < records.length ? { cursor: String(end) } : {}) };
        },
      })),
  },
  {
    id: "maintenance/cursor-includes",
    flaw: "Begins each page but the first with the last record of the one before.",
    kills: { "maintenance/list": "twice" },
    spares: ["maintenance/round-trip", "maintenance/import-twice"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: async ({ cursor, limit = 100, ...input }) => {
          const { records } = await list(input);
          const [at = "0"] = cursor === undefined ? [] : [cursor];
          const start = Number(at);
          const page = records.slice(Math.max(0, start - 1), start + limit - (start > 0 ? 1 : 0));
          return { records: page, ...(start + limit < records.length + 1 ? { cursor: String(start + limit) } : {}) };
        },
      })),
  },
  {
    id: "maintenance/cursor-always",
    flaw: "Gives a cursor with every page, also the last.",
    kills: { "maintenance/list": "endless" },
    spares: ["maintenance/round-trip", "maintenance/import-twice"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: async (input) =>
          input.cursor === "end" ? { records: [], cursor: "end" } : { cursor: "end", ...(await list(input)) },
      })),
  },
  {
    id: "maintenance/no-limit",
    flaw: "Lists everything in one page.",
    kills: { "maintenance/list": "too-many", "maintenance/bad-input": "limit" },
    spares: ["maintenance/round-trip", "maintenance/import-twice"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({ list: ({ limit: _, ...input }) => list(input) })),
  },
  {
    id: "maintenance/lists-imports-only",
    flaw: "Lists what was imported, and not what was captured.",
    kills: { "maintenance/list": "lost" },
    spares: ["maintenance/round-trip", "maintenance/import-twice"],
    parts: ({ recordId }) => ({ recordId: (key, operation) => `${operation[0]}-${recordId(key, operation)}` }),
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: async (input) => {
          const page = await list(input);
          return { ...page, records: page.records.filter(({ id }) => id.startsWith("import-")) };
        },
      })),
  },
  {
    id: "maintenance/export-trims",
    flaw: "Trims what it exports.",
    kills: { "maintenance/round-trip": "changed" },
    spares: ["maintenance/list", "maintenance/import-twice"],
    provider: (provider) =>
      exporting(provider, (lines) =>
        lines.map((line) => (line.type === "memory" ? { ...line, text: line.text.trim() } : line)),
      ),
  },
  {
    id: "maintenance/export-first-page",
    flaw: "Exports one page of ten.",
    kills: { "maintenance/round-trip": "dropped" },
    spares: ["maintenance/list", "maintenance/import-twice"],
    provider: (provider) => exporting(provider, (lines) => lines.slice(0, 11)),
  },
  {
    id: "maintenance/export-without-header",
    flaw: "Exports records only.",
    kills: { "maintenance/round-trip": "header" },
    spares: ["maintenance/list", "maintenance/import-twice"],
    provider: (provider) => exporting(provider, (lines) => lines.slice(1)),
  },
  {
    id: "maintenance/import-adds",
    flaw: "Imports without looking for what is there.",
    kills: { "maintenance/import-twice": "doubled" },
    spares: ["maintenance/list", "maintenance/round-trip"],
    provider: (provider, { store }) =>
      withMaintenance(provider, ({ import: bringIn }) => ({
        import: async ({ key, lines }) => {
          const result = await bringIn({ key, lines });
          for await (const line of lines) {
            if (line.type !== "memory" || result.duplicates === 0) continue;
            const record = { id: crypto.randomUUID(), text: line.text, createdAt: 0 };
            await store.put(key, record, new AbortController().signal);
          }
          return result;
        },
      })),
  },
  {
    id: "maintenance/import-counts-lines",
    flaw: "Answers the number of lines as imported.",
    kills: { "maintenance/import-twice": "count" },
    spares: ["maintenance/list", "maintenance/round-trip"],
    provider: (provider) =>
      withMaintenance(provider, ({ import: bringIn }) => ({
        import: async (input) => {
          const { imported, duplicates, refused } = await bringIn(input);
          return { imported: imported + duplicates, duplicates: 0, refused };
        },
      })),
  },
  {
    id: "maintenance/names-for-keys",
    flaw: "Lists the names of its folders as scopes.",
    kills: { "maintenance/scopes": "missing" },
    spares: ["maintenance/list", "erasing/nothing-left"],
    store: (store) => ({
      ...store,
      scopes: async (signal) => (await store.scopes(signal)).map((scope) => Buffer.from(scope).toString("hex")),
    }),
  },
  {
    id: "maintenance/scopes-for-good",
    flaw: "Lists every scope that ever held memory.",
    kills: { "maintenance/scopes": "erased" },
    spares: ["maintenance/list", "erasing/nothing-left"],
    store: (store) => {
      const known = new Set<string>();
      return {
        ...store,
        put: (scope, record, signal) => {
          known.add(scope);
          return store.put(scope, record, signal);
        },
        scopes: async () => [...known],
      };
    },
  },
  {
    id: "maintenance/unknown-cursor-is-start",
    flaw: "Begins from the start for a cursor that it does not know.",
    kills: { "maintenance/bad-input": "cursor" },
    spares: ["maintenance/list", "maintenance/round-trip"],
    provider: (provider) =>
      withMaintenance(provider, ({ list }) => ({
        list: ({ cursor, ...input }) =>
          list({ ...input, ...(cursor === undefined ? {} : { cursor }) }).catch(() => list(input)),
      })),
  },
];

function exporting(
  provider: MemoryProvider,
  change: (lines: readonly ExportLine[]) => readonly ExportLine[],
): MemoryProvider {
  return withMaintenance(provider, (maintenance) => ({
    async *export(input) {
      const lines: ExportLine[] = [];
      for await (const line of maintenance.export(input)) lines.push(line);
      yield* change(lines);
    },
  }));
}
