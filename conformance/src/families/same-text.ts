/**
 * Two people say the same: that they like tea. What is stored under a digest of its text, or remembered as saved by its
 * text alone, is one record for both: the second is told that it was there, and the first one's forgetting takes it away.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Person } from "../drive/person.ts";
import { pathMissing, pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { recordsOfAll, withTool } from "../reference/changed.ts";
import type { StoredRecord } from "../reference/record-store.ts";

const sameText = defineCheck({
  id: "isolation/same-text",
  clause: "MEM-ISO-10",
  title: "Of two people who write the same words, each finds them, and each can forget them alone",
  reasons: {
    "not-kept":
      "What was stored is known by its text alone: the second person's write is taken for a repeat, or takes the first one's place.",
    "took-anothers": "It is removed by its text, or the record of both goes with the first who forgets it.",
    "says-known": "The answer to a save depends on what other people have saved, and tells of it.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    let tried = 0;
    for (const [index, path] of bench.writePaths.entries()) {
      const shown = await pathsShowing(bench, bench.someone(handle), path);
      if (shown.size === 0) continue;
      tried += 1;
      const [ann, ben, memory] = [bench.someone(handle), bench.someone(handle), bench.canary()];
      const results = new Map<Person, unknown>();
      for (const person of [ann, ben]) {
        const outcome = await bench.outcome(() => person.write(memory.text, { path }));
        if (outcome.state === "fulfilled") results.set(person, outcome.value.result);
      }
      for (const person of [ann, ben]) {
        const missing = pathMissing(await person.readings(memory.query), memory.word, shown);
        if (missing !== undefined)
          fail("not-kept", `Of two who wrote the same by ${path}, one's ${missing} did not show it.`);
      }
      if (
        shown.has("recall") &&
        !(await bothKnowWrittenAtOnce(bench, [bench.someone(handle), bench.someone(handle)], path))
      )
        fail("not-kept", `Of two who wrote the same by ${path} at once, one did not recall it.`);
      const [one, other] = index % 2 === 0 ? [ann, ben] : [ben, ann];
      if (await hasForgotten(bench, one, memory, results.get(one))) {
        const taken = pathMissing(await other.readings(memory.query), memory.word, shown);
        if (taken !== undefined)
          fail("took-anothers", `When one had forgotten what two wrote by ${path}, the other's ${taken} lacked it.`);
      }
      if (path === "tool" && (await tellsOfOthers(bench, [bench.someone(handle), bench.someone(handle)])))
        fail("says-known", "The answer to somebody's first save was that to a repeat, as another had saved the same.");
    }
    if (tried === 0) bench.notApplicable("Nothing that is written shows its words again.");
  },
});

export const sameTexts: Family = defineFamily({
  name: "same text",
  clauses: [
    {
      id: "MEM-ISO-10",
      level: "MUST",
      profile: "base",
      sentence:
        "Equal texts of different scopes are different memories: each is kept, found and forgotten in its own scope, and neither tells of the other.",
      source: "P1",
    },
  ],
  checks: [sameText],
  mutants: [
    {
      id: "same-text/known-by-text",
      flaw: "Takes a text that it has stored for a repeat, whosever it was.",
      kills: { "isolation/same-text": "not-kept", "forgetting/gone": "not-kept" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      store: (store) => {
        const texts = new Set<string>();
        return {
          ...store,
          put: async (scope, record, signal) => {
            if (texts.has(record.text)) return "known";
            texts.add(record.text);
            return store.put(scope, record, signal);
          },
        };
      },
    },
    {
      id: "same-text/one-record",
      flaw: "Keeps a text once, under a digest of it, with the scope that wrote it last.",
      kills: { "isolation/same-text": "not-kept", "forgetting/gone": "not-kept" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      store: (store) => {
        const owners = new Map<string, { readonly scope: string; readonly id: string }>();
        return {
          ...store,
          put: async (scope, record, signal) => {
            const owner = owners.get(record.text);
            if (owner !== undefined && owner.scope !== scope) await store.remove(owner.scope, owner.id, signal);
            owners.set(record.text, { scope, id: record.id });
            return store.put(scope, record, signal);
          },
        };
      },
    },
    {
      id: "same-text/writes-in-one-flight",
      flaw: "Joins a write with one of the same text that is under way, whosever it is.",
      kills: { "isolation/same-text": "not-kept" },
      spares: ["isolation/at-once", "forgetting/gone"],
      store: (store) => {
        const underWay = new Map<string, ReturnType<typeof store.put>>();
        return {
          ...store,
          put: (scope, record, signal) => {
            const put = () => store.put(scope, record, signal).finally(() => underWay.delete(record.text));
            const running = underWay.get(record.text) ?? put();
            underWay.set(record.text, running);
            return running;
          },
        };
      },
    },
    {
      id: "same-text/says-known",
      flaw: "Keeps a text for each scope, and answers that it was there if it was in any.",
      kills: { "isolation/same-text": "says-known" },
      spares: ["isolation/matrix", "forgetting/gone", "isolation/foreign-id"],
      provider: (provider, { store }) =>
        withTool(provider, "save_memory", (tool) => ({
          execute: async (input: { readonly text: string }, context) => {
            const all: readonly StoredRecord[] = await recordsOfAll(store, context.abortSignal);
            const answer = await tool.execute(input as never, context);
            return { ...Object(answer), duplicate: all.some(({ text }) => text === input.text) };
          },
        })),
    },
  ],
});

/** The read paths on which somebody finds what they alone wrote in this way. */
async function pathsShowing(bench: Bench, person: Person, path: WritePath): Promise<ReadonlySet<string>> {
  const memory = bench.canary();
  await person.write(memory.text, { path });
  const readings = await person.readings(memory.query);
  return new Set(readings.filter((reading) => pathShowing([reading], memory.word)).map((reading) => reading.path));
}

async function bothKnowWrittenAtOnce(bench: Bench, people: readonly Person[], path: WritePath): Promise<boolean> {
  const memory = bench.canary();
  const write = (person: Person) => bench.outcome(() => person.write(memory.text, { path }));
  const outcomes = await Promise.all(people.map(write));
  for (const [index, person] of people.entries()) {
    // One whose write failed has said so, and comes again alone.
    if (outcomes[index]?.state === "rejected") await person.write(memory.text, { path });
    if (!(await person.knows(memory))) return false;
  }
  return true;
}

/** Lets somebody forget it, where that is possible at all. */
async function hasForgotten(bench: Bench, person: Person, memory: Canary, saved: unknown): Promise<boolean> {
  if (bench.facts.forgetHow === undefined) return false;
  const [target] = await person.forgetInputs(memory, saved);
  if (target === undefined) return false;
  await bench.outcome(() => person.call(bench.facts.forgetTool ?? "", target.input));
  return !(await person.knows(memory));
}

/**
 * Whether a first save of what another has saved is answered as a repeat is: by a value that first saves of anybody have in
 * common, and that a repeat has not.
 */
async function tellsOfOthers(bench: Bench, [ann, ben]: readonly [Person, Person]): Promise<boolean> {
  const [one, other, third] = [bench.canary(), bench.canary(), bench.canary()];
  const answer = async (person: Person, { text }: Canary) => valuesOf(await bench.outcome(() => person.save(text)));
  const first = await answer(ann, one);
  const another = await answer(ben, other);
  const repeated = await answer(ann, one);
  await answer(ann, third);
  const afterOther = await answer(ben, third);
  return [...first].some(
    ([at, value]) => another.get(at) === value && repeated.get(at) !== value && afterOther.get(at) === repeated.get(at),
  );
}

/** Each value of an answer, or of how a call failed, by where it stands. */
function valuesOf(answer: unknown, at = ""): ReadonlyMap<string, unknown> {
  if (typeof answer !== "object" || answer === null) return new Map([[at, answer]]);
  return new Map(Object.entries(answer).flatMap(([name, value]) => [...valuesOf(value, `${at}.${name}`)]));
}
