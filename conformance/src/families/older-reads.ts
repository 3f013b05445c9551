/** A read that begins after a write, while an older one has not ended yet: who is given the older one's answer is shown the past. */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import type { Canary } from "../drive/canary.ts";
import { heldOrSettled, settledOrStuck } from "../drive/held.ts";
import type { Person } from "../drive/person.ts";
import { byRecall, bySearch, type Read, readsOf } from "../drive/reads.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";
import { watch } from "../time/wait.ts";

/** Of the requests that one read makes, the answers that are kept back, one after the other. */
const mostAnswers = 8;

const sharedTooLong =
  "A read that begins while another one is under way is given that one's answer. Share what is under way only until something is written, by whomever, or not at all.";

const joined = defineCheck({
  id: "older-reads/recall",
  clause: "MEM-OLD-01",
  title: "A memory is written while a recall waits for its backend, and another recall begins",
  needs: ["backend", "current"],
  reasons: { joined: sharedTooLong },
  async run(bench, fail) {
    const writer = await writerOfOutdated(bench, byRecall);
    if (writer !== undefined) fail("joined", `A recall did not show what ${writer} had written before it began.`);
  },
});

const searched = defineCheck({
  id: "older-reads/search",
  clause: "MEM-OLD-01",
  title: "A memory is written while a search waits for its backend, and another search begins",
  needs: ["backend", "current", "search-tool"],
  reasons: { joined: sharedTooLong },
  async run(bench, fail) {
    const writer = await writerOfOutdated(bench, bySearch);
    if (writer !== undefined) fail("joined", `A search did not show what ${writer} had written before it began.`);
  },
});

const foundNothing = defineCheck({
  id: "older-reads/nothing",
  clause: "MEM-OLD-02",
  title: "Nothing is found in a scope, and then another instance writes its first memory",
  needs: ["backend", "current"],
  reasons: {
    "kept-nothing":
      "That there is nothing is kept for a while, and only what this instance writes itself changes it. Whoever else writes is not noticed.",
  },
  async run(bench, fail) {
    const [here, there] = [await bench.open(), await bench.open()];
    const found: string[] = [];
    for (const [way, read] of Object.entries(readsOf(bench))) {
      const [person, memory] = [bench.someone(here), bench.canary()];
      await read(person, memory.query);
      await person.again(there).write(memory.text);
      if (!(await read(person, memory.query)).includes(memory.word)) found.push(way);
    }
    if (found.length > 0) fail("kept-nothing", `The first memory of a scope was not shown by ${found.join(" and ")}.`);
  },
});

export const olderReads: Family = defineFamily({
  name: "older-reads",
  clauses: [
    {
      id: "MEM-OLD-01",
      level: "MUST",
      profile: "base",
      sentence:
        "Unless it declares to be one turn behind, a read that begins after a write shows what was written, also while an older read is under way.",
      source: "P17",
    },
    {
      id: "MEM-OLD-02",
      level: "MUST",
      profile: "base",
      sentence:
        "Unless it declares to be one turn behind, the first memory of a scope is shown at once, whoever wrote it, also where nothing was found before.",
      source: "P17, P4",
    },
  ],
  checks: [joined, searched, foundNothing],
  mutants: [
    {
      id: "older-reads/keeps-nothing",
      flaw: "Keeps for five seconds that a scope is empty, unless it writes to it itself.",
      kills: { "older-reads/nothing": "kept-nothing" },
      spares: ["older-reads/recall", "freshness/current", "promises/durable"],
      store: (store) => {
        const emptyUntil = new Map<string, number>();
        return {
          ...store,
          async list(scope, signal) {
            if ((emptyUntil.get(scope) ?? 0) > performance.now()) return [];
            const records = await store.list(scope, signal);
            if (records.length === 0) emptyUntil.set(scope, performance.now() + 5_000);
            return records;
          },
          put(scope, ...rest) {
            emptyUntil.delete(scope);
            return store.put(scope, ...rest);
          },
        };
      },
    },
    {
      id: "older-reads/joins",
      flaw: "Gives recalls with equal questions the promise of the one that is under way.",
      kills: { "older-reads/recall": "joined" },
      spares: ["older-reads/search", "freshness/current", "stopping/goes-on"],
      provider: (provider) => {
        const underWay = joining();
        return between(provider, (call) => {
          if (!call.name.startsWith("recall")) return asMethod(call);
          const { memory, turn } = call.context as unknown as { memory: { scope: { key: string } }; turn: object };
          const question = JSON.stringify([memory.scope.key, Reflect.get(turn, "input")]);
          return underWay(question, async () => asMethod(call));
        });
      },
    },
    {
      id: "older-reads/joins-until-it-writes",
      flaw: "Shares one list request of a scope for as long as it is under way and this instance writes nothing.",
      kills: { "older-reads/recall": "joined", "older-reads/search": "joined" },
      spares: ["freshness/current", "stopping/goes-on"],
      store: (store) => {
        let underWay = joining();
        const forgetful = <T extends unknown[], R>(method: (...args: T) => R) => {
          return (...args: T): R => {
            underWay = joining();
            return method(...args);
          };
        };
        const list: RecordStore["list"] = (scope, signal) => underWay(scope, () => store.list(scope, signal));
        return { ...store, list, put: forgetful(store.put), remove: forgetful(store.remove) };
      },
    },
  ],
});

/** Calls with equal names that come while one is under way get its promise. */
function joining(): <T>(name: string, call: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  return <T>(name: string, call: () => Promise<T>) => {
    const running = underWay.get(name) ?? call().finally(() => underWay.delete(name));
    underWay.set(name, running);
    return running as Promise<T>; // what has this name is this call
  };
}

/** Who had written what a later read did not show; `undefined` where all was shown. */
async function writerOfOutdated(bench: Bench, read: Read): Promise<string | undefined> {
  const [handle, other] = [await bench.open(), await bench.open()];
  let rounds = 0;
  for (const [writer, written] of [
    ["the same instance", handle],
    ["another instance", other],
  ] as const) {
    for (let after = 0; after < mostAnswers; after += 1) {
      const person = bench.someone(handle);
      const memory = bench.canary();
      await person.write(bench.canary(memory.topic).text);
      const shown = await shownBesideOlder(bench, { person, memory, writing: person.again(written), read, after });
      if (shown === "no such request") break;
      if (shown === false) return writer;
      if (shown === true) rounds += 1;
    }
  }
  if (rounds === 0) bench.notApplicable("Nothing can be written while one of its reads waits for its backend.");
  return undefined;
}

interface Round {
  readonly person: Person;
  readonly memory: Canary;
  readonly writing: Person;
  readonly read: Read;
  /** Which of the older read's answers is kept back. */
  readonly after: number;
}

/** Whether a read shows the memory that was written before it began, and after an older read had asked. */
async function shownBesideOlder(
  bench: Bench,
  { person, memory, writing, read, after }: Round,
): Promise<boolean | "no such request" | "not written"> {
  const { backend } = bench;
  const answer = backend.hold({ after });
  const older = watch(read(person, memory.query));
  if (!(await heldOrSettled(answer, older))) {
    await older.settled;
    return "no such request";
  }
  const write = watch(writing.write(memory.text));
  const isWritten = await settledOrStuck(bench, write);
  const later = watch(isWritten ? read(person, memory.query) : Promise.resolve(""));
  await settledOrStuck(bench, later);
  answer.release();
  await Promise.all([older.settled, write.settled, later.settled]);
  for (const { outcome } of [write, later]) if (outcome.state === "rejected") throw outcome.error;
  if (!isWritten || later.outcome.state !== "fulfilled") return "not written";
  return later.outcome.value.includes(memory.word);
}
