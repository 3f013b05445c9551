/** Providers that forget wrongly. */
import type { Mutant } from "../family.ts";
import { withTool } from "../reference/changed.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";

type Remove = (given: { readonly records: readonly StoredRecord[]; readonly id: string }) => readonly StoredRecord[];

export const forgettingMutants: readonly Mutant[] = [
  {
    id: "forgetting/does-nothing",
    flaw: "Says that it removed, and does not.",
    kills: { "forgetting/gone": "still-there" },
    spares: ["isolation/matrix"],
    provider: (provider) => withTool(provider, "forget_memory", () => ({ execute: async () => ({ removed: true }) })),
  },
  {
    id: "forgetting/clears-the-scope",
    flaw: "Removes everything in the scope where the id is found.",
    kills: { "forgetting/gone": "took-another" },
    spares: ["isolation/matrix", "forgetting/save-again"],
    ...removing(({ records, id }) => (records.some((record) => record.id === id) ? records : [])),
  },
  {
    id: "forgetting/text-of-everybody",
    flaw: "Removes the text, whosever it is.",
    kills: { "forgetting/gone": "took-anothers", "isolation/same-text": "took-anothers" },
    spares: ["isolation/matrix", "forgetting/save-again", "forgetting/duplicates"],
    store: (store) => ({
      ...store,
      remove: async (scope, id, signal) => {
        const found = (await store.list(scope, signal)).find((record) => record.id === id);
        for (const each of found === undefined ? [] : await store.scopes(signal)) {
          const same = (await store.list(each, signal)).filter(({ text }) => text === found?.text);
          for (const record of same) await store.remove(each, record.id, signal);
        }
        return found !== undefined;
      },
    }),
  },
  {
    id: "forgetting/hidden-from-recall",
    flaw: "Takes it out of what recall and search look at, and leaves it in the list.",
    kills: { "forgetting/gone": "still-there", "forgetting/witness": "kept" },
    spares: ["isolation/matrix", "forgetting/save-again"],
    store: (store) => ({
      ...store,
      remove: async (scope, id, signal) => {
        const found = (await store.list(scope, signal)).find((record) => record.id === id);
        if (found !== undefined) await store.put(scope, { ...found, id: `removed ${id}`, expiresAt: 8e15 }, signal);
        return store.remove(scope, id, signal);
      },
    }),
    parts: ({ rank }) => ({
      rank: (records, query) =>
        rank(
          records.filter(({ id }) => !id.startsWith("removed ")),
          query,
        ),
    }),
  },
  {
    id: "forgetting/cached",
    flaw: "Removes from the store and its own cache; the caches of other instances live on.",
    kills: { "forgetting/other-handle": "stale" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/restart"],
    store: (store) => {
      const cache = new Map<string, readonly StoredRecord[]>();
      const refreshing = <T>(scope: string, write: Promise<T>): Promise<T> => write.finally(() => cache.delete(scope));
      return {
        ...store,
        put: (scope, record, signal) => refreshing(scope, store.put(scope, record, signal)),
        remove: (scope, id, signal) => refreshing(scope, store.remove(scope, id, signal)),
        list: async (scope, signal) => {
          const records = cache.get(scope) ?? (await store.list(scope, signal));
          if (records.length > 0) cache.set(scope, records);
          return records;
        },
      };
    },
  },
  {
    id: "forgetting/knows-what-it-wrote",
    flaw: "Looks for what is to be forgotten in what was there when it last wrote.",
    kills: { "forgetting/other-handle": "not-forgotten" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/restart"],
    store: (store) => {
      const last = new Map<string, ReadonlySet<string>>();
      return {
        ...store,
        async put(scope, record, signal) {
          const outcome = await store.put(scope, record, signal);
          last.set(scope, new Set((await store.list(scope, signal)).map(({ id }) => id)));
          return outcome;
        },
        remove: async (scope, id, signal) =>
          last.get(scope)?.has(id) === false ? false : store.remove(scope, id, signal),
      };
    },
  },
  {
    id: "forgetting/drops-the-scope-elsewhere",
    flaw: "Lets an instance that held a removed record know nothing of its scope any more.",
    kills: { "forgetting/other-handle": "lost" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/restart"],
    store: (store) => {
      const seen = new Map<string, ReadonlySet<string>>();
      const own = new Set<string>();
      return {
        ...store,
        remove: (scope, id, signal) => {
          own.add(id);
          return store.remove(scope, id, signal);
        },
        list: async (scope, signal) => {
          const records = await store.list(scope, signal);
          const ids = new Set(records.map(({ id }) => id));
          const isMissing = [...(seen.get(scope) ?? [])].some((id) => !ids.has(id) && !own.has(id));
          if (!isMissing) seen.set(scope, ids);
          return isMissing ? [] : records;
        },
      };
    },
  },
  {
    id: "forgetting/until-restart",
    flaw: "Keeps a list of what was removed in the process, and leaves the store as it is.",
    kills: { "forgetting/restart": "back", "forgetting/witness": "kept" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/missing"],
    store: (store) => ({
      ...store,
      remove: async (scope, id, signal) => {
        const isThere = (await store.list(scope, signal)).some((record) => record.id === id);
        if (isThere) removedHere.add(`${scope} ${id}`);
        return isThere;
      },
      list: async (scope, signal) =>
        (await store.list(scope, signal)).filter(({ id }) => !removedHere.has(`${scope} ${id}`)),
    }),
  },
  {
    id: "forgetting/rest-unwritten",
    flaw: "Empties the scope to write what is left again, and keeps that in the process.",
    kills: { "forgetting/restart": "lost", "forgetting/witness": "lost" },
    spares: ["isolation/matrix", "forgetting/gone"],
    store: (store) => {
      const unwritten = new Map<string, readonly StoredRecord[]>();
      return {
        ...store,
        remove: async (scope, id, signal) => {
          const records = await listed(scope, signal);
          unwritten.set(
            scope,
            records.filter((record) => record.id !== id),
          );
          for (const record of records) await store.remove(scope, record.id, signal);
          return records.some((record) => record.id === id);
        },
        list: listed,
      };
      async function listed(scope: string, signal: AbortSignal): Promise<readonly StoredRecord[]> {
        const records = await store.list(scope, signal);
        const kept = (unwritten.get(scope) ?? []).filter(({ id }) => !records.some((record) => record.id === id));
        return [...records, ...kept];
      }
    },
  },
  {
    id: "forgetting/last-for-missing",
    flaw: "Removes the last record where the id is not found, as splice(-1, 1) does.",
    kills: { "forgetting/missing": "took-another" },
    spares: ["isolation/matrix", "forgetting/gone"],
    ...removing(({ records, id }) =>
      [...records].splice(
        records.findIndex((record) => record.id === id),
        1,
      ),
    ),
  },
  {
    id: "forgetting/for-good",
    flaw: "Refuses every text that was removed once.",
    kills: { "forgetting/save-again": "blocked" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/duplicates"],
    store: (store) => {
      const texts = new Set<string>();
      return {
        ...store,
        put: async (scope, record, signal) =>
          texts.has(`${scope} ${record.text}`) ? "gone" : store.put(scope, record, signal),
        remove: async (scope, id, signal) => {
          const found = (await store.list(scope, signal)).find((record) => record.id === id);
          if (found !== undefined) texts.add(`${scope} ${found.text}`);
          return store.remove(scope, id, signal);
        },
      };
    },
  },
  {
    id: "forgetting/one-of-two",
    flaw: "Removes the first of two records of the same text.",
    kills: { "forgetting/duplicates": "still-there" },
    spares: ["isolation/matrix", "forgetting/gone", "forgetting/missing"],
    ...removing(({ records, id }) => records.filter((record) => record.id === id)),
  },
];

const removedHere = new Set<string>();

/** A forget tool that removes what is chosen here. */
function removing(choose: Remove): Pick<Mutant, "provider"> {
  return {
    provider: (provider, { store }: { readonly store: RecordStore }) =>
      withTool(provider, "forget_memory", (_, { memory }) => ({
        execute: async ({ id }: { readonly id: string }, { abortSignal: signal }) => {
          const { key } = memory.scope;
          const chosen = choose({ records: await store.list(key, signal), id });
          for (const record of chosen) await store.remove(key, record.id, signal);
          return { removed: chosen.some((record) => record.id === id) };
        },
      })),
  };
}
