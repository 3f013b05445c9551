/** A read that begins after a write, while an older one has not ended yet: who is given the older one's answer is shown the past. */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import type { Canary } from "../drive/canary.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";
import { quietOr, type Watched, watch } from "../time/wait.ts";

/** Of the requests that one read makes, the answers that are kept back, one after the other. */
const mostAnswers = 8;
/** After as many turns without a request, a call waits for an answer that is kept back. */
const stuckTurns = 100;

type Read = (person: Person, memory: Canary) => Promise<string>;

const byRecall: Read = async (person, { query }) => (await person.again().recall(query)).text;
const bySearch: Read = async (person, { query }) => JSON.stringify(await person.again().search(query)) ?? "";

const joined = defineCheck({
  id: "older-reads/recall",
  clause: "MEM-OLD-01",
  title: "A memory is written while a recall waits for its backend, and another recall begins",
  needs: ["backend", "current"],
  reasons: {
    joined:
      "A recall that begins while another one is under way is given that one's answer. Share what is under way only until something is written, by whomever, or not at all.",
  },
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
  reasons: {
    joined:
      "A search that begins while another one is under way is given that one's answer. Share what is under way only until something is written, by whomever, or not at all.",
  },
  async run(bench, fail) {
    const writer = await writerOfOutdated(bench, bySearch);
    if (writer !== undefined) fail("joined", `A search did not show what ${writer} had written before it began.`);
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
  ],
  checks: [joined, searched],
  mutants: [
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
  const older = watch(read(person, memory));
  await quietOr(
    () => answer.isHeld() || older.outcome.state !== "pending",
    () => true,
  );
  if (!answer.isHeld()) {
    answer.release();
    await older.settled;
    return "no such request";
  }
  const write = watch(writing.write(memory.text));
  const isWritten = await settledOrStuck(bench, write);
  const later = watch(isWritten ? read(person, memory) : Promise.resolve(""));
  await settledOrStuck(bench, later);
  answer.release();
  await Promise.all([older.settled, write.settled, later.settled]);
  for (const { outcome } of [write, later]) if (outcome.state === "rejected") throw outcome.error;
  if (!isWritten || later.outcome.state !== "fulfilled") return "not written";
  return later.outcome.value.toLowerCase().includes(memory.word);
}

/** Waits until a call settles, or makes no more requests. */
async function settledOrStuck({ backend }: Bench, call: Watched<unknown>): Promise<boolean> {
  let seen = -1;
  const isAtWork = (): boolean => {
    const before = seen;
    seen = backend.observed().length;
    return seen !== before;
  };
  const isSettled = (): boolean => call.outcome.state !== "pending";
  await quietOr(isSettled, isAtWork, stuckTurns);
  return isSettled();
}
