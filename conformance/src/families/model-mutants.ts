/** Providers that are right about each thing alone, and wrong about one after another. */
import { randomUUID } from "node:crypto";
import type { Mutant } from "../family.ts";
import type { StoredRecord } from "../reference/record-store.ts";

export const modelMutants: readonly Mutant[] = [
  {
    id: "model/keeps-three",
    flaw: "Keeps a person's three newest memories, and drops the others without a word.",
    kills: { "model/random-operations": "lost" },
    spares: ["idempotency/capture-twice", "replay/quiet", "distinct-operations/other-scope"],
    store: (store) => ({
      ...store,
      list: async (scope, signal) => (await store.list(scope, signal)).slice(-3),
    }),
  },
  {
    id: "model/numbers-by-count",
    flaw: "Numbers memories by how many there are, and takes a number that it has seen for a repeat.",
    kills: { "model/random-operations": "lost" },
    spares: ["isolation/matrix", "replay/quiet", "forgetting/gone"],
    store: (store) => ({
      ...store,
      async put(scope, record, signal) {
        const count = (await store.list(scope, signal)).length;
        return store.put(scope, { ...record, id: `memory-${count}` }, signal);
      },
    }),
  },
  {
    id: "model/write-undoes-forget",
    flaw: "Restores what it forgot last with the next write but one.",
    kills: { "model/random-operations": "back" },
    spares: ["late-repeats/after-forget", "idempotency/capture-twice", "replay/forgotten-wins"],
    store: (store) => {
      const forgotten = new Map<string, StoredRecord>();
      const writes = new Map<string, number>();
      return {
        ...store,
        async remove(scope, id, signal) {
          const record = (await store.list(scope, signal)).find((each) => each.id === id);
          if (record !== undefined) forgotten.set(scope, record);
          writes.set(scope, 0);
          return store.remove(scope, id, signal);
        },
        async put(scope, record, signal) {
          const count = (writes.get(scope) ?? 0) + 1;
          writes.set(scope, count);
          const back = forgotten.get(scope);
          if (count === 2 && back !== undefined) await store.put(scope, { ...back, id: randomUUID() }, signal);
          return store.put(scope, record, signal);
        },
      };
    },
  },
  {
    id: "model/forget-swallows-a-write",
    flaw: "After it has forgotten for one person, it drops the next write of another.",
    kills: { "model/random-operations": "lost" },
    spares: ["late-repeats/after-forget", "idempotency/capture-twice", "distinct-operations/other-scope"],
    store: (store) => {
      let busy: string | undefined;
      return {
        ...store,
        async remove(scope, id, signal) {
          busy = scope;
          return store.remove(scope, id, signal);
        },
        async put(scope, record, signal) {
          const isDropped = busy !== undefined && busy !== scope;
          busy = undefined;
          return isDropped ? "stored" : store.put(scope, record, signal);
        },
      };
    },
  },
  {
    id: "model/shows-the-busiest",
    flaw: "Keeps the newest memory of whoever has three or more at hand, and shows it to everybody.",
    kills: { "model/random-operations": "other-memory" },
    spares: ["idempotency/capture-twice", "replay/quiet"],
    store: (store) => {
      const counts = new Map<string, StoredRecord[]>();
      return {
        ...store,
        async put(scope, record, signal) {
          counts.set(scope, [...(counts.get(scope) ?? []), record]);
          return store.put(scope, record, signal);
        },
        async list(scope, signal) {
          const records = await store.list(scope, signal);
          const busiest = [...counts.values()].find((each) => each.length >= 3)?.at(-1);
          return busiest === undefined || records.some(({ id }) => id === busiest.id) ? records : [...records, busiest];
        },
      };
    },
  },
];
