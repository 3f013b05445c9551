/** Providers that are wrong about a failing backend, each in one way. */
import { extendProvider, type MemoryProvider, type MemoryTool } from "@keepsake/core";
import { asMethod, between } from "../drive/between.ts";
import type { Mutant } from "../family.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";

export const faultMutants: readonly Mutant[] = [
  {
    id: "faults/null-on-failure",
    flaw: "Answers null when recall fails, so as not to disturb the turn.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/search"],
    provider: (provider) => onFailure(provider, "recall", () => null),
  },
  {
    id: "faults/404-is-nothing",
    flaw: "Takes a 404 for a store that is empty.",
    kills: { "faults/recall": "swallowed", "faults/search": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    store: (store) => listing(store, (error) => (statusOf(error) === 404 ? [] : undefined)),
  },
  {
    id: "faults/error-body-is-nothing",
    flaw: "Reads `results ?? []` from an answer with status 200 that holds an error.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    store: (store) => listing(store, (error) => (statusOf(error) === 502 ? [] : undefined)),
  },
  {
    id: "faults/half-is-whole",
    flaw: "Reads what had come when the connection broke, and leaves out what it cannot parse.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    store: (store) => listing(store, (error) => (/terminated/.test(String(error)) ? [] : undefined)),
  },
  {
    id: "faults/end-is-nothing",
    flaw: "Takes a connection that ends early for an empty reply.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    backend: "tcp",
    store: (store) => listing(store, (error) => (/ended before/.test(String(error)) ? [] : undefined)),
  },
  {
    id: "faults/unreadable-is-missing",
    flaw: "Takes a folder that it cannot read for one that is not there.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    backend: "directory",
    store: (store) => listing(store, () => []),
  },
  {
    id: "faults/forbidden-is-missing",
    flaw: "Takes a file that it may not read for one that is not there.",
    kills: { "faults/recall": "swallowed" },
    spares: ["faults/capture", "faults/stale"],
    backend: "directory",
    store: (store) => listing(store, (error) => (Reflect.get(Object(error), "code") === "EACCES" ? [] : undefined)),
  },
  {
    id: "faults/last-good-copy",
    flaw: "Serves the last list that it could read while the backend fails.",
    kills: { "faults/stale": "stale" },
    spares: ["faults/recall", "faults/capture"],
    store: (store) => lastGood(store, () => true),
  },
  {
    id: "faults/last-good-copy-on-429",
    flaw: "Serves the last list that it could read when it is told that it asks too often.",
    kills: { "faults/stale": "stale" },
    spares: ["faults/recall", "faults/capture"],
    store: (store) => lastGood(store, (error) => statusOf(error) === 429),
  },
  {
    id: "faults/last-good-search",
    flaw: "Serves the last answer to the same search while the backend fails.",
    kills: { "faults/stale": "stale" },
    spares: ["faults/recall", "faults/save"],
    provider: (provider) => {
      const answers = new Map<string, unknown>();
      return withTool(provider, "search_memories", async (tool, input, context) => {
        const asked = JSON.stringify(input);
        try {
          const answer = await tool.execute(input, context);
          answers.set(asked, answer);
          return answer;
        } catch (error) {
          return answers.get(asked) ?? rethrow(error);
        }
      });
    },
  },
  {
    id: "faults/quiet-capture",
    flaw: "Logs a capture that failed, and goes on.",
    kills: { "faults/capture": "swallowed" },
    spares: ["faults/recall", "faults/save"],
    provider: (provider) => onFailure(provider, "capture", () => undefined),
  },
  {
    id: "faults/says-saved",
    flaw: "Tells the model that it saved, whether or not it did.",
    kills: { "faults/save": "swallowed", "faults/first-of-several": "swallowed" },
    spares: ["faults/recall", "faults/capture"],
    provider: (provider) => toolOnFailure(provider, "save_memory", () => ({ saved: true })),
  },
  {
    id: "faults/finds-nothing",
    flaw: "Tells the model that nothing was found when the search failed.",
    kills: { "faults/search": "swallowed" },
    spares: ["faults/recall", "faults/save"],
    provider: (provider) => toolOnFailure(provider, "search_memories", () => ({ matches: [] })),
  },
  {
    id: "faults/says-removed",
    flaw: "Tells the model that the memory is gone, whether or not it is.",
    kills: { "faults/forget": "swallowed" },
    spares: ["faults/recall", "faults/save"],
    provider: (provider) => toolOnFailure(provider, "forget_memory", () => ({ removed: true })),
  },
  {
    id: "faults/forgets-the-rest",
    flaw: "Keeps a document; one that it could not read it takes for empty, and the next write replaces the real one.",
    kills: { "faults/save": "lost", "faults/forget": "lost", "faults/capture": "lost" },
    spares: ["faults/recall"],
    store: replacesUnread,
  },
  {
    id: "faults/clears-before-writing",
    flaw: "Writes by removing everything and putting it back with the new.",
    kills: { "faults/first-of-several": "lost" },
    spares: ["faults/recall", "faults/save"],
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        const others = await store.list(scope, signal);
        for (const { id } of others) await store.remove(scope, id, signal);
        for (const other of others) await store.put(scope, { ...other, id: crypto.randomUUID() }, signal);
        return store.put(scope, record, signal);
      },
    }),
  },
  {
    id: "faults/part-for-the-whole",
    flaw: "Goes on with what it has when the second of its requests fails.",
    kills: { "faults/first-of-several": "part" },
    spares: ["faults/recall", "faults/save"],
    store: (store) => ({
      ...store,
      pin: (scope, operation, ids, signal) => store.pin(scope, operation, ids, signal).catch(() => ids.slice(0, 1)),
    }),
  },
  {
    id: "faults/new-id-each-time",
    flaw: "Makes the id of a record when it sends it, so that each retry stores another one.",
    kills: { "faults/write-not-repeated": "repeated" },
    spares: ["faults/recall", "faults/capture"],
    store: (store) => ({
      ...store,
      put: (scope, record, signal) => store.put(scope, { ...record, id: crypto.randomUUID() }, signal),
    }),
  },
];

/** The provider with the failures of its recall or capture answered. */
export function onFailure(
  provider: MemoryProvider,
  handlers: "recall" | "capture",
  answer: (error: unknown) => unknown,
): MemoryProvider {
  return between(provider, (call) =>
    call.name.startsWith(handlers) ? (async () => asMethod(call))().catch(answer) : asMethod(call),
  );
}

/** The provider with one of its tools run by `run`. */
export function withTool(
  provider: MemoryProvider,
  name: string,
  run: (tool: MemoryTool, ...args: Parameters<MemoryTool["execute"]>) => unknown,
): MemoryProvider {
  return extendProvider(provider, {
    tools: async (context) => {
      const tools = { ...(await provider.tools?.(context)) };
      const tool = tools[name];
      if (tool === undefined) return tools;
      return { ...tools, [name]: { ...tool, execute: (input, caller) => run(tool, input, caller) } };
    },
  });
}

function toolOnFailure(provider: MemoryProvider, name: string, answer: () => unknown): MemoryProvider {
  return withTool(provider, name, async (tool, input, context) => {
    try {
      return await tool.execute(input, context);
    } catch {
      return answer();
    }
  });
}

/** The store with a failing list answered, where `answer` has one. */
function listing(store: RecordStore, answer: (error: unknown) => readonly StoredRecord[] | undefined): RecordStore {
  return {
    ...store,
    ...unpinned(store),
    list: (scope, signal) => store.list(scope, signal).catch((error) => answer(error) ?? rethrow(error)),
  };
}

/** The store with its last list in the place of an error that `hides` is true of. */
function lastGood(store: RecordStore, hides: (error: unknown) => boolean): RecordStore {
  const copies = new Map<string, readonly StoredRecord[]>();
  return {
    ...store,
    ...unpinned(store),
    list: async (scope, signal) => {
      const copy = (error: unknown) => (hides(error) ? copies.get(scope) : undefined) ?? rethrow(error);
      const records = await store.list(scope, signal).catch(copy);
      copies.set(scope, records);
      return records;
    },
  };
}

/** What an operation recalled is kept where that is possible: no flaw, but it hides none either. */
function unpinned(store: RecordStore): Pick<RecordStore, "pin"> {
  return { pin: (scope, operation, ids, signal) => store.pin(scope, operation, ids, signal).catch(() => ids) };
}

function replacesUnread(store: RecordStore): RecordStore {
  const unread = new Set<string>();
  const remember = (scope: string) => (error: unknown) => {
    unread.add(scope);
    return rethrow(error);
  };
  return {
    ...store,
    list: (scope, signal) => store.list(scope, signal).catch(remember(scope)),
    put: async (scope, record, signal) => {
      if (unread.has(scope)) {
        for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
        unread.delete(scope);
      }
      return store.put(scope, record, signal).catch(remember(scope));
    },
  };
}

function statusOf(error: unknown): unknown {
  return Reflect.get(Object(error), "status");
}

function rethrow(error: unknown): never {
  throw error;
}
