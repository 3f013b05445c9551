/**
 * What failed half-way comes again, and so does what has been forgotten since. Real providers stored a memory twice when
 * only the answer had been lost, dropped it for good because its ledger was written before it was, and brought back what
 * a person had asked to have forgotten.
 */
import { randomUUID } from "node:crypto";
import { type Fault, faults } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { copiesOfOne, timesKept } from "../drive/copies.ts";
import type { WritePath } from "../drive/facts.ts";
import { forget } from "../drive/forgets.ts";
import { repeatedAfter } from "../drive/interrupted-writes.ts";
import { defineFamily, type Family } from "../family.ts";

const back = "Forgetting takes the operation out of the ledger too, or the ledger does not outlive what it is about.";

const lostReply = defineCheck({
  id: "late-repeats/lost-reply",
  clause: "MEM-LAT-01",
  title: "The backend stores and its answer is lost; the caller tries again",
  needs: ["backend"],
  reasons: {
    twice: "A write is tried again, by the provider or its caller, under another id or without any.",
    lost: "A write whose answer was lost is taken for done although it was not, or is taken back.",
  },
  async run(bench, fail) {
    const fault = faults[bench.backend.kind].find(({ kind }) => kind === "lost-reply");
    if (fault === undefined) return bench.notApplicable("Its backend loses no answers.");
    const handle = await bench.open();
    for (const path of repeatablePaths(bench)) {
      const single = await copiesOfOne(bench, handle, path);
      for await (const { person, memory } of repeatedAfter(bench, handle, { path, fault })) {
        const kept = await timesKept(person, memory, single);
        if (kept === "more") fail("twice", `What was written by ${path} stands there more than once.`);
        if (kept === "never") fail("lost", `What was written by ${path} was not recalled.`);
      }
    }
  },
});

const failedWrite = defineCheck({
  id: "late-repeats/failed-write",
  clause: "MEM-LAT-02",
  title: "The backend fails in the middle of a write; the caller tries again",
  needs: ["backend"],
  reasons: {
    dropped: "The ledger, or a cache, takes the operation for done before its write has succeeded.",
  },
  async run(bench, fail) {
    const fault = outage(bench);
    const handle = await bench.open();
    for (const path of repeatablePaths(bench)) {
      await copiesOfOne(bench, handle, path);
      for await (const { person, memory } of repeatedAfter(bench, handle, { path, fault }))
        if (!(await person.knows(memory))) fail("dropped", `What was written again by ${path} was not recalled.`);
    }
  },
});

const afterForget = defineCheck({
  id: "late-repeats/after-forget",
  clause: "MEM-LAT-03",
  title: "A turn is captured again after what it said was forgotten",
  needs: ["capture", "forget-tool"],
  reasons: { back, "others-lost": "Forgetting, or a late repeat, takes other memories with it." },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "capture");
    const [person, forgotten, other] = [bench.someone(handle), bench.canary(), bench.canary()];
    const turn = person.begin(forgotten.text);
    await person.capture(turn);
    await person.capture(person.begin(other.text));
    await forget(bench, person, forgotten);
    await bench.outcome(() => person.capture(turn));
    if (await person.knows(forgotten)) fail("back", "The turn came again and brought back what had been forgotten.");
    if (!(await person.knows(other))) fail("others-lost", "What another turn had said was not recalled any more.");
  },
});

const afterForgetRestart = defineCheck({
  id: "late-repeats/after-forget-restart",
  clause: "MEM-LAT-04",
  title: "A turn is captured again by another process after what it said was forgotten",
  needs: ["capture", "forget-tool", "durable"],
  slow: true,
  reasons: { back, "others-lost": "What was captured before a restart is not recalled after it." },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "capture");
    const [scope, forgotten, other] = [bench.canary().word, bench.canary(), bench.canary()];
    const person = handle.person({ scope });
    const turn = person.begin(forgotten.text);
    await person.capture(turn);
    await person.capture(person.begin(other.text));
    await forget(bench, person, forgotten);
    const elsewhere = (await bench.spawn()).person({ scope });
    await bench.outcome(() => elsewhere.capture(turn));
    for (const recalls of [elsewhere.recalls, person.recalls.bind(person)]) {
      if ((await recalls(forgotten.query)).toLowerCase().includes(forgotten.word))
        fail("back", "The turn came again after a restart and brought back what had been forgotten.");
      if (!(await recalls(other.query)).toLowerCase().includes(other.word))
        fail("others-lost", "What another turn had said was not recalled after a restart.");
    }
  },
});

export const lateRepeats: Family = defineFamily({
  name: "late-repeats",
  clauses: [
    {
      id: "MEM-LAT-01",
      level: "MUST",
      profile: "base",
      sentence: "A write whose answer was lost after it was stored is there once, whoever tries it again.",
      source: "P2, P4",
    },
    {
      id: "MEM-LAT-02",
      level: "MUST",
      profile: "base",
      sentence: "A write that failed is not taken for done: the same operation stores when it comes again.",
      source: "P2, P4",
    },
    {
      id: "MEM-LAT-03",
      level: "MUST",
      profile: "base",
      sentence: "A capture that comes again after its memory was forgotten brings nothing back.",
      source: "P2, P10",
    },
    {
      id: "MEM-LAT-04",
      level: "MUST",
      profile: "strict",
      sentence: "A capture that comes again after its memory was forgotten brings nothing back after a restart either.",
      source: "P2, P10",
    },
  ],
  checks: [lostReply, failedWrite, afterForget, afterForgetRestart],
  mutants: [
    {
      id: "late-repeats/retries-under-a-new-id",
      flaw: "Tries a write again under a new id.",
      kills: { "late-repeats/lost-reply": "twice" },
      spares: ["late-repeats/after-forget", "idempotency/capture-twice"],
      store: (store) => ({
        ...store,
        put: (scope, record, signal) =>
          store.put(scope, record, signal).catch(() => store.put(scope, { ...record, id: randomUUID() }, signal)),
      }),
    },
    {
      id: "late-repeats/undoes-what-it-cannot-confirm",
      flaw: "Takes a write back when no answer came, and then does not write it again.",
      kills: { "late-repeats/lost-reply": "lost", "late-repeats/failed-write": "dropped" },
      spares: ["late-repeats/after-forget", "idempotency/capture-twice"],
      store: (store) => ({
        ...store,
        put: (scope, record, signal) =>
          store.put(scope, record, signal).catch(async (error: unknown) => {
            undone.add(record.id);
            await store.remove(scope, record.id, signal).catch(() => {});
            throw error;
          }),
        list: async (scope, signal) => (await store.list(scope, signal)).filter(({ id }) => !undone.has(id)),
      }),
    },
    {
      id: "late-repeats/ledger-before-the-write",
      flaw: "Enters an operation into its ledger before it has written anything.",
      kills: { "late-repeats/failed-write": "dropped" },
      spares: ["late-repeats/after-forget", "idempotency/capture-twice"],
      store: (store) => {
        const taken = new Set<string>();
        return {
          ...store,
          async put(scope, record, signal) {
            const operation = `${scope} ${record.id}`;
            if (taken.has(operation)) return "known";
            taken.add(operation);
            return store.put(scope, record, signal);
          },
        };
      },
    },
    {
      id: "late-repeats/forgets-the-operation-too",
      flaw: "Keeps nothing of a memory that was forgotten, so that its operation counts as new.",
      kills: {
        "late-repeats/after-forget": "back",
        "late-repeats/after-forget-restart": "back",
        "tool-calls/after-forget": "back",
      },
      spares: ["late-repeats/lost-reply", "idempotency/capture-twice", "idempotency/restart"],
      store: (store) => ({
        ...store,
        async put(scope, record, signal) {
          const outcome = await store.put(scope, record, signal);
          return outcome === "gone" ? store.put(scope, { ...record, id: randomUUID() }, signal) : outcome;
        },
      }),
    },
    {
      id: "late-repeats/repeat-clears",
      flaw: "Takes a late repeat for a sign that everything is gone.",
      kills: {
        "late-repeats/after-forget": "others-lost",
        "late-repeats/after-forget-restart": "others-lost",
      },
      spares: ["idempotency/capture-twice"],
      store: (store) => ({
        ...store,
        async put(scope, record, signal) {
          const outcome = await store.put(scope, record, signal);
          if (outcome === "gone")
            for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
          return outcome;
        },
      }),
    },
  ],
});

const undone = new Set<string>();

/** Ways to write in which the same operation can come again; an import has none. */
function repeatablePaths({ writePaths }: Bench): readonly WritePath[] {
  return writePaths.filter((path) => path !== "import");
}

/** The backend does nothing, and says so or breaks off. */
function outage({ backend }: Bench): Fault {
  const named = { http: "HTTP 500", tcp: "connection reset", directory: "EIO" }[backend.kind];
  const fault = faults[backend.kind].find(({ name }) => name === named);
  if (fault === undefined) throw new TypeError("There is no such fault.");
  return fault;
}
