/** Providers that go wrong when several write at once. */
import { randomUUID } from "node:crypto";
import type { Mutant } from "../family.ts";
import { withTool } from "../reference/changed.ts";
import { documentStore } from "../reference/document-store.ts";
import type { RecordStore } from "../reference/record-store.ts";

/** Of the one mutant that does not see what is written while it forgets. */
const writtenMeanwhile = new Set<string>();
let isForgetting = false;

export const concurrencyMutants: readonly Mutant[] = [
  {
    id: "concurrency/read-modify-write",
    flaw: "Keeps a person's memories in one document, and writes it back without looking whether it has changed.",
    kills: {
      "concurrency/one-process": "lost",
      "concurrency/two-handles": "lost",
      "concurrency/first-writes": "lost",
      "concurrency/mixed": "lost",
      "concurrency/two-processes": "lost",
    },
    spares: ["idempotency/capture-twice", "replay/quiet"],
    backend: "directory",
    store: (store, connection) => documentStore(store, connection, { inOrder: "nobody" }),
  },
  {
    id: "concurrency/lock-of-the-instance",
    flaw: "Writes its document in order within an instance, and knows of no other instance.",
    kills: { "concurrency/two-handles": "lost", "concurrency/two-processes": "lost" },
    spares: ["concurrency/one-process", "idempotency/capture-twice"],
    backend: "directory",
    store: (store, connection) => documentStore(store, connection, { inOrder: "instance" }),
  },
  {
    id: "concurrency/lock-of-the-process",
    flaw: "Writes its document in order within a process, and knows of no other process.",
    kills: { "concurrency/two-processes": "lost" },
    spares: ["concurrency/one-process", "concurrency/two-handles", "concurrency/first-writes", "concurrency/mixed"],
    backend: "directory",
    store: (store, connection) => documentStore(store, connection, { inOrder: "process" }),
  },
  {
    id: "concurrency/creates-without-condition",
    flaw: "Writes in order where there is a document, and creates one without looking whether another has.",
    kills: { "concurrency/first-writes": "lost" },
    spares: ["concurrency/mixed", "idempotency/capture-twice"],
    backend: "directory",
    store: (store, connection) => {
      const inOrder = documentStore(store, connection, { inOrder: "process" });
      const first = documentStore(store, connection, { inOrder: "nobody" });
      return {
        ...inOrder,
        async put(scope, record, signal) {
          const isFirst = (await inOrder.list(scope, signal)).length === 0;
          return (isFirst ? first : inOrder).put(scope, record, signal);
        },
      };
    },
  },
  {
    id: "concurrency/forgets-out-of-order",
    flaw: "Forgets in what it had read when it began, and puts that in the place of what was written meanwhile.",
    kills: { "concurrency/mixed": "lost" },
    spares: ["concurrency/one-process", "concurrency/two-handles", "concurrency/first-writes"],
    store: (store) => ({
      ...store,
      async put(scope, record, signal) {
        const outcome = await store.put(scope, record, signal);
        if (isForgetting) writtenMeanwhile.add(record.id);
        return outcome;
      },
    }),
    provider: (provider, { store }) =>
      withTool(provider, "forget_memory", (tool, { memory }) => ({
        execute: async (input, { abortSignal, ...rest }) => {
          isForgetting = true;
          const answer = await tool.execute(input as never, { ...rest, abortSignal });
          for (let looks = 0; looks < 5; looks += 1) await store.list(memory.scope.key, abortSignal); // the others are slow
          isForgetting = false;
          for (const id of writtenMeanwhile) await store.remove(memory.scope.key, id, abortSignal);
          writtenMeanwhile.clear();
          return answer;
        },
      })),
  },
  {
    id: "concurrency/saves-bring-back",
    flaw: "After a write it puts back what it had read before and does not find any more.",
    kills: { "concurrency/mixed": "back", "concurrency/erasing": "back" },
    spares: ["concurrency/one-process", "concurrency/two-handles", "late-repeats/after-forget"],
    store: (store) => bringingBack(store, () => true),
  },
  {
    id: "concurrency/does-not-see-removals",
    flaw: "Puts back what it had read before a write, unless it removed that itself: removals of others change no version.",
    kills: { "concurrency/mixed": "back-from-another", "concurrency/erasing": "back" },
    spares: ["concurrency/one-process", "concurrency/two-handles", "forgetting/other-handle"],
    store: (store) => {
      const own = new Set<string>();
      const removing: RecordStore = {
        ...store,
        remove: (scope, id, signal) => {
          own.add(id);
          return store.remove(scope, id, signal);
        },
      };
      return bringingBack(removing, (id) => !own.has(id));
    },
  },
  {
    id: "concurrency/tries-again-blindly",
    flaw: "Takes a write that met another one for lost, and makes it again under a new id.",
    kills: { "concurrency/one-process": "twice" },
    spares: ["idempotency/capture-twice", "concurrency/mixed"],
    store: (store) => {
      let open = 0;
      return {
        ...store,
        async put(scope, record, signal) {
          open += 1;
          const outcome = await store.put(scope, record, signal);
          if (open > 1) await store.put(scope, { ...record, id: randomUUID() }, signal);
          open -= 1;
          return outcome;
        },
      };
    },
  },
];

/** Whoever writes puts back what has gone since it began, where `isMissed`. */
function bringingBack(store: RecordStore, isMissed: (id: string) => boolean): RecordStore {
  return {
    ...store,
    async put(scope, record, signal) {
      const before = await store.list(scope, signal);
      const outcome = await store.put(scope, record, signal);
      let after = before;
      for (let look = 0; look < 5; look += 1) after = await store.list(scope, signal); // a forget comes in between
      for (const missed of before.filter(({ id }) => isMissed(id) && !after.some((each) => each.id === id)))
        await store.put(scope, { ...missed, id: randomUUID() }, signal);
      return outcome;
    },
  };
}
