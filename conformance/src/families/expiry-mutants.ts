/** Providers that are wrong about expiry, each in one way. */
import { AsyncLocalStorage } from "node:async_hooks";
import { asMethod, between } from "../drive/between.ts";
import type { Mutant } from "../family.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";
import { declaring } from "../reference/standing-before.ts";

const recalling = new AsyncLocalStorage<true>();

export const expiryMutants: readonly Mutant[] = [
  {
    id: "expiry/a-millisecond-late",
    flaw: "Is gone after its time, instead of at its time.",
    kills: { "expiry/boundary": "late" },
    spares: ["faults/recall"],
    parts: () => ({ expiresAt: (now, ttlMs) => now + ttlMs + 1 }),
  },
  {
    id: "expiry/compares-text",
    flaw: "Compares its age and its time to live as text: 9000000 is more than 86400000.",
    kills: { "expiry/boundary": "early" },
    spares: ["expiry/other-memory", "expiry/native"],
    parts: () => ({
      isLive: ({ createdAt, expiresAt }, now) =>
        expiresAt === undefined || String(now - createdAt) < String(expiresAt - createdAt),
    }),
  },
  {
    id: "expiry/timer-overflows",
    flaw: "Starts a timer for each memory, which fires at once where the time is longer than 24 days.",
    kills: { "expiry/boundary": "early" },
    spares: ["expiry/other-memory", "expiry/native"],
    parts: () => ({ expiresAt: (now, ttlMs) => now + (ttlMs > 2 ** 31 - 1 ? 1 : ttlMs) }),
  },
  {
    id: "expiry/recall-only",
    flaw: "Leaves out what has expired when it recalls, and nowhere else.",
    kills: { "expiry/boundary": "late" },
    spares: ["expiry/other-memory", "expiry/not-replayed"],
    store: (store) => ({ ...hidden(store), expiry: "checked" }),
    parts: ({ isLive }) => ({ isLive: (record, now) => recalling.getStore() === undefined || isLive(record, now) }),
    provider: (provider) =>
      between(provider, (call) =>
        call.name.startsWith("recall") ? recalling.run(true, () => asMethod(call)) : asMethod(call),
      ),
  },
  {
    id: "expiry/one-time-for-all",
    flaw: "Gives the whole scope the time of its first memory.",
    kills: { "expiry/other-memory": "swept" },
    spares: ["expiry/boundary", "expiry/native"],
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        const times = (await store.list(scope, signal)).flatMap(({ expiresAt = [] }) => expiresAt);
        const { expiresAt } = record;
        return store.put(
          scope,
          expiresAt === undefined ? record : { ...record, expiresAt: Math.min(expiresAt, ...times) },
          signal,
        );
      },
    }),
  },
  {
    id: "expiry/renews-all",
    flaw: "Gives the whole scope the time of its last memory.",
    kills: { "expiry/other-memory": "outlived" },
    spares: ["expiry/boundary", "expiry/not-replayed"],
    store: (store) => {
      const inner = hidden(store);
      return {
        ...inner,
        expiry: "checked",
        list: async (scope, signal) => {
          const records = await inner.list(scope, signal);
          const expiresAt = Math.max(...records.map((record) => record.expiresAt ?? Number.POSITIVE_INFINITY));
          return records.map((record) => ({ ...record, expiresAt }));
        },
      };
    },
  },
  {
    id: "expiry/only-it-knows",
    flaw: "Declares that its backend expires memories by itself, and does not tell it when.",
    kills: { "expiry/native": "held" },
    spares: ["expiry/boundary", "expiry/other-memory"],
    store: hidden,
  },
  {
    id: "expiry/only-it-knows-over-tcp",
    flaw: "The same over TCP, where the command with the time to live is another one.",
    kills: { "expiry/native": "held" },
    spares: ["expiry/boundary"],
    backend: "tcp",
    store: hidden,
  },
  {
    id: "expiry/keeps-what-it-said",
    flaw: "Keeps the text that an operation recalled, and gives it again.",
    kills: { "expiry/not-replayed": "replayed" },
    spares: ["expiry/boundary", "expiry/other-memory"],
    provider: (provider) => {
      const said = new Map<unknown, unknown>();
      return between(provider, async (call) => {
        if (!call.name.startsWith("recall")) return asMethod(call);
        const operation = Reflect.get(call.context, "operationId");
        if (!said.has(operation)) said.set(operation, await asMethod(call));
        return said.get(operation);
      });
    },
  },
  {
    id: "expiry/forgets-its-ledger",
    flaw: "Knows an operation only as long as its memory lives.",
    kills: { "expiry/not-revived": "revived" },
    spares: ["expiry/boundary", "expiry/not-replayed"],
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        const outcome = await store.put(scope, record, signal);
        return outcome === "gone" ? store.put(scope, { ...record, id: `${record.id}-again` }, signal) : outcome;
      },
    }),
  },
  {
    id: "expiry/known-by-text",
    flaw: "Knows a memory by its text alone, so that one that expired is never stored again.",
    kills: { "expiry/not-revived": "never-again" },
    spares: ["expiry/boundary", "expiry/native"],
    parts: () => ({ turnOperation: () => ["turn"], callOperation: (_, text) => ["call", text] }),
  },
  {
    id: "expiry/undeclared",
    flaw: "Expires memories, and declares that it does not.",
    kills: { "expiry/undeclared": "expires" },
    spares: ["promises/durable"],
    provider: (provider) => declaring(provider, { ttl: "none" }),
  },
  {
    id: "expiry/says-nothing",
    flaw: "Recalls null when everything has expired, whatever it said before.",
    kills: { "expiry/retracts": "nothing" },
    spares: ["expiry/boundary", "expiry/not-replayed"],
    provider: (provider) =>
      between(provider, async (call) => {
        const answer = await asMethod(call);
        return JSON.stringify(answer)?.includes("No memory is stored here") ? null : answer;
      }),
  },
  {
    id: "expiry/another-id-each-time",
    flaw: "Recalls under a new id each time, so that nothing replaces anything.",
    kills: { "expiry/retracts": "not-keyed" },
    spares: ["expiry/boundary", "expiry/not-replayed"],
    provider: (provider) =>
      between(provider, async (call) => {
        const answer = Object(await asMethod(call));
        if (!call.name.startsWith("recall") || !Array.isArray(answer.messages))
          return call.name.startsWith("recall") ? null : answer;
        return { messages: answer.messages.map((message: object) => ({ ...message, id: crypto.randomUUID() })) };
      }),
  },
  {
    id: "expiry/session-keeps",
    flaw: "Keeps what a session was shown for as long as the session lasts.",
    kills: { "expiry/retracts": "left" },
    spares: ["expiry/boundary", "expiry/other-memory"],
    provider: (provider) => {
      const shown = new Map<unknown, unknown>();
      return between(provider, async (call) => {
        if (!call.name.startsWith("recall")) return asMethod(call);
        const session = Reflect.get(call.context, "session").id;
        if (!shown.has(session)) shown.set(session, await asMethod(call));
        return shown.get(session);
      });
    },
  },
];

/** The store with times that its backend is not told: they are kept beside the text, where only the provider looks. */
function hidden(store: RecordStore): RecordStore {
  return {
    ...store,
    put: (scope, { expiresAt, ...record }, signal) =>
      store.put(scope, { ...record, dies: expiresAt } as StoredRecord, signal),
    list: async (scope, signal) =>
      (await store.list(scope, signal)).map((record) => {
        const expiresAt = Reflect.get(record, "dies");
        return typeof expiresAt === "number" ? { ...record, expiresAt } : record;
      }),
  };
}
