/**
 * Two people ask at the same moment, and the host's ids of what they do are equal. A single flight that joins them, a batch
 * or a repeat that is known by such an id answers one with what is the other's.
 */
import type { MemoryToolSet } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Handle } from "../drive/handle.ts";
import { collect, type Person, type Reading } from "../drive/person.ts";
import { leakIn, pathShowing, type Told } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance, withRecall, withTool } from "../reference/changed.ts";

const equalIds = defineCheck({
  id: "isolation/equal-ids-at-once",
  clause: "MEM-ISO-08",
  title: "Two people's writes and questions that come at the same moment under the same ids are kept apart",
  reasons: {
    "shared-flight":
      "A call that comes while another is under way is joined with it, or batched, by an id of the host: the scope has to be part of that key.",
    "by-ids":
      "What belongs to a session, turn, call or operation is kept by the id of the host alone, at once or not: see isolation/operation-id.",
    "between-calls":
      "Calls that run at once are joined by what they ask, or share a variable of the instance, whatever their ids.",
    lost: "A write or a question that comes under the same ids as another person's is dropped.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const { leak, isLost } = await triedOn(bench, handle, { path, ids: "equal", together: inParallel });
      if (leak !== undefined) {
        const saw = `Of two that wrote and asked by ${path} at once under the same ids, one's ${leak} showed the other's.`;
        if ((await triedOn(bench, handle, { path, ids: "equal", together: oneByOne })).leak !== undefined)
          fail("by-ids", `${saw} It does so too when one comes after the other.`);
        if ((await triedOn(bench, handle, { path, ids: "different", together: inParallel })).leak !== undefined)
          fail("between-calls", `${saw} It does so too under different ids.`);
        fail("shared-flight", saw);
      }
      if (isLost)
        fail("lost", `Of two that wrote and asked by ${path} at once under the same ids, one was not shown their own.`);
    }
  },
});

export const isolationOfEqualIds: Family = defineFamily({
  name: "isolation of equal ids",
  clauses: [
    {
      id: "MEM-ISO-08",
      level: "MUST",
      profile: "base",
      sentence:
        "Calls for different scopes that run at once are different calls, also where the ids of their sessions, turns, calls and operations are equal.",
      source: "P1, P2, P13",
    },
  ],
  checks: [equalIds],
  mutants: [
    {
      id: "isolation/recalls-in-one-flight",
      flaw: "Lets recalls of one operation that come at once share an answer, whosever they are.",
      kills: { "isolation/equal-ids-at-once": "shared-flight" },
      spares: ["isolation/at-once", "isolation/operation-id"],
      provider: (provider) => {
        const joined = singleFlights();
        return withRecall(provider, (recall, context) => joined(context.operationId, async () => recall(context)));
      },
    },
    {
      id: "isolation/searches-in-one-flight",
      flaw: "Lets searches for the same words that come at once share an answer, whosever they are.",
      kills: { "isolation/equal-ids-at-once": "between-calls" },
      spares: ["isolation/matrix", "isolation/operation-id"],
      provider: (provider) => {
        const joined = singleFlights();
        return withTool(provider, "search_memories", (tool) => ({
          execute: (input: never, context) => joined(JSON.stringify(input), async () => tool.execute(input, context)),
        }));
      },
    },
    {
      id: "isolation/lists-in-one-flight",
      flaw: "Lets lists of the same page that are asked for at once share an answer, whosever they are.",
      kills: { "isolation/equal-ids-at-once": "between-calls" },
      spares: ["isolation/matrix", "maintenance/list"],
      provider: (provider) => {
        const joined = singleFlights();
        return withMaintenance(provider, ({ list }) => ({
          list: (input) => joined(`${input.cursor} ${input.limit}`, () => list(input)),
        }));
      },
    },
    {
      id: "isolation/saves-in-one-flight",
      flaw: "Takes a save that comes while one of the same call id is under way for its repeat, whosever it is.",
      kills: { "isolation/equal-ids-at-once": "lost" },
      spares: ["isolation/at-once", "isolation/operation-id"],
      provider: (provider) => {
        const joined = singleFlights();
        return withTool(provider, "save_memory", (tool) => ({
          execute: (input: never, context) => joined(context.callId, async () => tool.execute(input, context)),
        }));
      },
    },
  ],
});

/** Calls of one key that come while one is under way get its answer. */
function singleFlights(): <T>(key: string, call: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Promise<unknown>>();
  return <T>(key: string, call: () => Promise<T>) => {
    const running = underWay.get(key) ?? call().finally(() => underWay.delete(key));
    underWay.set(key, running);
    return running as Promise<T>; // one key, one kind of call
  };
}

/** How several calls are made. */
type Together = <T>(calls: readonly (() => Promise<T>)[]) => Promise<readonly T[]>;

/** Each goes out before any is answered. */
const inParallel: Together = (calls) => Promise.all(calls.map((call) => call()));

const oneByOne: Together = async (calls) => {
  const answers = [];
  for (const call of calls) answers.push(await call());
  return answers;
};

interface Attempt {
  readonly path: WritePath;
  readonly ids: "equal" | "different";
  readonly together: Together;
}

/** The read path that showed what another had told, and whether one was not shown what they had told themselves. */
async function triedOn(
  bench: Bench,
  handle: Handle,
  { path, ids, together }: Attempt,
): Promise<{ readonly leak: string | undefined; readonly isLost: boolean }> {
  const about = bench.canary().topic;
  const people = ["ann", "ben"].map((name) =>
    handle.person({ scope: `${name} ${about}`, session: ids === "equal" ? about : `${about} of ${name}` }),
  );
  const callId = (person: Person): string => (ids === "equal" ? `call ${about}` : `call ${person.key}`);
  const earlier = people.map((person) => ({ person, memory: bench.canary() }));
  for (const { person, memory } of earlier) await person.again().write(memory.text);
  const told = people.map((person) => ({ person, memory: bench.canary() }));
  await writeTogether(bench, told, path, { together, callId });

  const query = [...earlier, ...told].map(({ memory }) => memory.query).join(" ");
  const asked = await askTogether(people, query, { together, callId });
  const alone: (readonly Reading[])[] = [];
  for (const { person, memory } of told) alone.push(await person.readings(memory.query));
  const wordOf = (memories: readonly Told[], index: number): string => memories[index]?.memory.word ?? "";
  const leaks = [earlier, told].map(
    (memories) =>
      leakIn(memories.map((each, index) => ({ ...each, all: [...(asked[index] ?? []), ...(alone[index] ?? [])] })))
        ?.path,
  );
  // Not everything that is captured has to be recalled; what was saved or imported has.
  const isSure = path !== "capture" || path === bench.writePaths[0];
  const unkept = isSure && alone.some((readings, index) => pathShowing(readings, wordOf(told, index)) === undefined);
  // Who is shown a few memories may be shown any of their own.
  const isAnswered = (index: number): boolean =>
    [earlier, told].some((memories) => pathShowing(asked[index] ?? [], wordOf(memories, index)) !== undefined);
  const unanswered = alone.some(
    (readings, index) => pathShowing(readings, wordOf(told, index)) !== undefined && !isAnswered(index),
  );
  return { leak: leaks.find((leak) => leak !== undefined), isLost: unkept || unanswered };
}

interface Way {
  readonly together: Together;
  readonly callId: (person: Person) => string;
}

async function writeTogether(
  bench: Bench,
  told: readonly Told[],
  path: WritePath,
  { together, callId }: Way,
): Promise<void> {
  const writes: (() => Promise<unknown>)[] = [];
  for (const { person, memory } of told) {
    const operation = { turn: person.begin(memory.text), callId: callId(person) };
    // Tools are there before anybody calls one, so that the calls meet.
    const tools = path === "tool" ? await person.toolset(operation.turn) : {};
    const { save } = person.handle.guess(tools);
    writes.push(() =>
      save === undefined
        ? person.write(memory.text, { ...operation, path })
        : person.call(save.name, save.input(memory.text), { ...operation, tools }),
    );
  }
  const outcomes = await together(writes.map((write) => () => bench.outcome(write)));
  // One that failed has said so, and comes again alone.
  for (const [index, write] of writes.entries()) if (outcomes[index]?.state === "rejected") await write();
}

/** What each is answered on every read path, each path asked by all together. */
async function askTogether(
  people: readonly Person[],
  query: string,
  { together, callId }: Way,
): Promise<readonly (readonly Reading[])[]> {
  const { facts, declaration } = people[0]?.handle ?? {};
  const asked = people.map((): Reading[] => []);
  const ask = async (path: string, one: (person: Person, index: number) => Promise<string>): Promise<void> => {
    const texts = await together(people.map((person, index) => () => one(person, index)));
    for (const [index, text] of texts.entries()) asked[index]?.push({ path, text });
  };
  // A provider that is one turn behind says by its second turn what it found in its first.
  const turns = facts?.capabilities.freshness === "previous-turn" ? 2 : 1;
  for (let turn = 0; turn < turns; turn += 1) await ask("recall", async (person) => (await person.recall(query)).text);
  if (facts?.searchTool !== undefined) {
    const made: { readonly turn: ReturnType<Person["begin"]>; readonly tools: MemoryToolSet }[] = [];
    for (const person of people) {
      const turn = person.begin(query);
      made.push({ turn, tools: await person.toolset(turn) });
    }
    await ask("search", async (person, index) => {
      const { search } = person.handle.guess(made[index]?.tools ?? {});
      const options = { ...made[index], callId: callId(person) };
      return JSON.stringify(await person.call(search?.name ?? "", search?.input(query), options)) ?? "";
    });
  }
  if (declaration?.maintenance !== undefined) {
    await ask("list", async (person) =>
      JSON.stringify(await person.maintain("list", ({ list }, key) => list({ key, limit: 100 }))),
    );
    await ask("export", async (person) =>
      JSON.stringify(await person.maintain("export", (maintenance, key) => collect(maintenance.export({ key })))),
    );
  }
  return asked;
}
