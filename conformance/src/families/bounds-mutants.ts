/** Providers without a bound where there should be one, each in one way. */
import { MemoryError } from "@keepsake/core";
import { asMethod, between } from "../drive/between.ts";
import type { Mutant } from "../family.ts";
import { withTool } from "./fault-mutants.ts";

export const boundsMutants: readonly Mutant[] = [
  {
    id: "bounds/none",
    flaw: "Recalls all that is stored.",
    kills: { "bounds/recall": "unbounded" },
    spares: ["bounds/tool-output", "faults/capture"],
    parts: () => ({ maxCharacters: Number.POSITIVE_INFINITY }),
  },
  {
    id: "bounds/all-or-nothing",
    flaw: "Recalls nothing when everything together is too long.",
    kills: { "bounds/recall": "nothing" },
    spares: ["bounds/tool-output", "bounds/not-cut-silently"],
    provider: (provider) =>
      between(provider, async (call) => {
        const answer = await asMethod(call);
        return (JSON.stringify(answer)?.length ?? 0) > 2_000 ? null : answer;
      }),
  },
  {
    id: "bounds/first-escapes",
    flaw: "Begins to count with the second entry.",
    kills: { "bounds/oversized-entry": "unbounded" },
    spares: ["bounds/recall", "bounds/tool-output"],
    parts: ({ frame }) => ({
      tooLong: () => false,
      maxCharacters: 1_000_000,
      frame: (slot, lines) =>
        frame(
          slot,
          lines.filter((_, index) => index === 0 || lengthOf(lines.slice(0, index + 1)) < 4_000),
        ),
    }),
  },
  {
    id: "bounds/huge-pushes-out",
    flaw: "Makes room for what is too long by removing what is old.",
    kills: { "bounds/oversized-entry": "lost" },
    spares: ["bounds/recall", "bounds/not-cut-silently"],
    parts: () => ({ tooLong: (text) => text.length > 250_000 }),
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        if (record.text.length <= 50_000) return store.put(scope, record, signal);
        for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
        return "stored";
      },
    }),
  },
  {
    id: "bounds/full-for-good",
    flaw: "Stores what is too long, and refuses everything from then on, because the store is full.",
    kills: { "bounds/oversized-entry": "unusable" },
    spares: ["bounds/recall", "bounds/not-cut-silently"],
    parts: () => ({ tooLong: () => false }),
    store: (store) => {
      const full = new Set<string>();
      return {
        ...store,
        put: async (scope, record, signal) => {
          if (full.has(scope)) throw new MemoryError("limit_exceeded", "The memory is full.");
          if (record.text.length > 50_000) {
            full.add(scope);
            return "stored";
          }
          return store.put(scope, record, signal);
        },
      };
    },
  },
  {
    id: "bounds/cuts-silently",
    flaw: "Recalls the first thousand characters of each memory, and does not say so.",
    kills: { "bounds/not-cut-silently": "cut" },
    spares: ["bounds/recall", "bounds/tool-output"],
    parts: ({ line }) => ({ tooLong: () => false, line: (record) => line(record).slice(0, 1_000) }),
  },
  {
    id: "bounds/stores-the-beginning",
    flaw: "Stores as much of a text as fits, and does not say so.",
    kills: { "bounds/not-cut-silently": "cut" },
    spares: ["bounds/recall", "faults/save"],
    backend: "directory",
    parts: () => ({ tooLong: () => false }),
    store: (store) => ({
      ...store,
      put: (scope, record, signal) => store.put(scope, { ...record, text: record.text.slice(0, 1_500) }, signal),
    }),
  },
  {
    id: "bounds/search-finds-all",
    flaw: "Answers a search with all that it found.",
    kills: { "bounds/tool-output": "unbounded" },
    spares: ["bounds/recall", "bounds/oversized-entry"],
    provider: (provider, { store }) => ({
      ...provider,
      tools: async (context) => {
        const made =
          (await withTool(provider, "search_memories", async (_tool, _input, { abortSignal }) => ({
            matches: await store.list(context.memory.scope.key, abortSignal),
          })).tools?.(context)) ?? {};
        return made;
      },
    }),
  },
  {
    id: "bounds/drops-in-silence",
    flaw: "Tells the model that it saved what was too long to be saved.",
    kills: { "bounds/tool-input": "silent" },
    spares: ["bounds/recall", "faults/save"],
    provider: (provider) =>
      withTool(provider, "save_memory", async (tool, input, context) => {
        if (JSON.stringify(input).length > 2_000) return { saved: true };
        return tool.execute(input, context);
      }),
  },
  {
    id: "bounds/echoes-the-query",
    flaw: "Repeats the whole query in the answer of its search.",
    kills: { "bounds/tool-input": "unbounded" },
    spares: ["bounds/tool-output", "bounds/recall"],
    provider: (provider) =>
      withTool(provider, "search_memories", async (_tool, input) => ({ ...Object(input), matches: [] })),
  },
  {
    id: "bounds/megabyte-replaces",
    flaw: "Makes room for what a tool brings before it sees that it does not fit.",
    kills: { "bounds/tool-input": "lost" },
    spares: ["bounds/oversized-entry", "bounds/recall"],
    parts: () => ({ tooLong: (text) => text.length > 1_000 && text.length < 500_000 }),
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        if (record.text.length < 500_000) return store.put(scope, record, signal);
        for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
        throw new MemoryError("limit_exceeded", "The memory is full.");
      },
    }),
  },
];

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((length, line) => length + line.length + 1, 0);
}
