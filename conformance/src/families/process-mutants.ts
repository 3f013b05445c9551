/** Providers that do not do well when a process ends, or do not let it. */
import { extendProvider } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { documentStore } from "../reference/document-store.ts";
import { ignoring } from "../reference/process-store.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";
import { RecordTable } from "../reference/record-table.ts";

export const processMutants: readonly Mutant[] = [
  {
    id: "processes/kept-in-memory",
    flaw: "Keeps its memory in the process, and declares that it outlives it.",
    kills: {
      "processes/restart": "forgotten",
      "processes/awaited-is-durable": "lost",
      "processes/killed-mid-write": "lost",
    },
    spares: ["processes/open-handles", "idempotency/capture-twice"],
    store: (store, connection) => ignoring(store, inMemoryStore(store, JSON.stringify(connection))),
  },
  {
    id: "processes/declares-too-little",
    flaw: "Declares that its memory ends with the process, although it does not.",
    kills: { "processes/declared-not-durable": "outlives" },
    spares: ["processes/open-handles", "idempotency/capture-twice"],
    provider: (provider) =>
      extendProvider(provider, { declaration: { capabilities: { durable: false, replay: "process" } } }),
  },
  {
    id: "processes/writes-behind",
    flaw: "Says that it has written when it has put the write into a buffer, which it empties a minute later.",
    kills: { "processes/awaited-is-durable": "lost" },
    spares: ["processes/open-handles", "idempotency/capture-twice"],
    store: buffered,
  },
  {
    id: "processes/overwrites-in-place",
    flaw: "Overwrites the file that holds everything, and fails for ever when it was killed half-way.",
    kills: { "processes/killed-mid-write": "unreadable" },
    spares: ["processes/restart", "processes/awaited-is-durable", "processes/open-handles"],
    backend: "directory",
    store: (store, connection) => documentStore(store, connection, { inOrder: "process", write: "in-place" }),
  },
  {
    id: "processes/damaged-is-empty",
    flaw: "Overwrites the file that holds everything, and takes half a file for none.",
    kills: { "processes/killed-mid-write": "lost" },
    spares: ["processes/restart", "processes/awaited-is-durable", "processes/open-handles"],
    backend: "directory",
    store: (store, connection) =>
      documentStore(store, connection, { inOrder: "process", write: "in-place", damaged: "empty" }),
  },
  {
    id: "processes/leaves-its-lock",
    flaw: "Holds a lock file while it writes, and waits for one that a killed writer has left.",
    kills: { "processes/killed-mid-write": "blocked" },
    spares: ["processes/restart", "processes/awaited-is-durable", "processes/open-handles"],
    backend: "directory",
    store: (store, connection) => documentStore(store, connection, { inOrder: "all" }),
  },
  {
    id: "processes/keeps-an-interval",
    flaw: "Starts an interval when it is made, and never ends it.",
    kills: { "processes/open-handles": "open" },
    spares: ["processes/restart", "importing/acts"],
    provider: (provider) => {
      setInterval(() => {}, 60_000);
      return provider;
    },
  },
];

const tables = new Map<string, RecordTable>();

function inMemoryStore(store: RecordStore, name: string): RecordStore {
  const table = tables.get(name) ?? new RecordTable(() => 0);
  tables.set(name, table);
  return {
    ...store,
    list: async (scope) => table.list(scope),
    put: async (scope, record) => table.put(scope, record),
    remove: async (scope, id) => table.remove(scope, id),
    pin: async (scope, operation, ids) => table.pin(scope, operation, ids),
    scopes: async () => table.scopes(),
  };
}

function buffered(store: RecordStore): RecordStore {
  const waiting = new Map<string, StoredRecord[]>();
  const flush = async (scope: string, record: StoredRecord): Promise<void> => {
    await store.put(scope, record, AbortSignal.timeout(1_000));
    waiting.set(
      scope,
      (waiting.get(scope) ?? []).filter(({ id }) => id !== record.id),
    );
  };
  return {
    ...store,
    async list(scope, signal) {
      const stored = await store.list(scope, signal);
      const added = (waiting.get(scope) ?? []).filter(({ id }) => !stored.some((record) => record.id === id));
      return [...stored, ...added];
    },
    async put(scope, record) {
      const before = waiting.get(scope) ?? [];
      if (before.some(({ id }) => id === record.id)) return "known";
      waiting.set(scope, [...before, record]);
      setTimeout(() => void flush(scope, record).catch(() => {}), 60_000).unref();
      return "stored";
    },
  };
}
