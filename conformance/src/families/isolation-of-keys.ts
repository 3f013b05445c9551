/**
 * Scopes that an index takes for one, or that crowd each other out: a column that ignores case, a file name made of a key,
 * a tag of limited length, and a search over everybody whose best matches are filtered when it is too late.
 */
import { extendProvider, isUserMessage, messageText } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { answersTo, crossReadings, leakIn, pathShowing, type Told } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { recordsOfAll } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";

const digest = "k3Tq0bYw7HnVdRzLmXcJf5Gp9AsEu2Wi8oQ-_t1Bv40";

/** Keys as they are derived, which an index or a file system may take for one. */
const lookAlikes = [
  { difference: "case", digests: [`${"a".repeat(42)}A`, "A".repeat(43)] },
  { difference: "alphabet", digests: [`T-b${digest.slice(3, 40)}-w8`, `T_b${digest.slice(3, 40)}_w8`] },
  { difference: "ending", digests: [`${digest.slice(0, 42)}w`, `${digest.slice(0, 42)}g`] },
  { difference: "beginning", digests: [`-${digest.slice(1)}`, `R${digest.slice(1)}`] },
] as const;

const lookAlikeKeys = defineCheck({
  id: "isolation/look-alike-keys",
  clause: "MEM-ISO-03",
  title: "Scope keys that differ only in case, only in - and _, only at the end or at the start are different scopes",
  reasons: {
    case: "Letters are folded: by the key's own code, a collation that ignores case, or a file system that does. Or the partition is not made of memory.scope.key, but of scope.value or a namespace, in which these scopes do not differ.",
    alphabet: "Characters other than letters and digits are replaced or dropped, as for a file name or a tag.",
    ending: "The key is cut off, as for a column or an index of limited length.",
    beginning: "Only the end of the key is used.",
    lost: "A key with a character at its start that means something to a query language is not found again.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const { difference, digests } of lookAlikes) {
      const told = digests.map((each) => ({
        person: handle.person({ scope: "somebody", key: `memscope1_${each}` }),
        memory: bench.canary(),
      }));
      for (const { person, memory } of told) await person.write(memory.text);
      const crossed = await crossReadings(told);
      const leak = leakIn(crossed);
      if (leak !== undefined) fail(difference, `Its ${leak.path} showed the memory of another key.`);
      const lost = crossed.some(({ own, memory }) => pathShowing(own, memory.word) === undefined);
      if (lost) fail("lost", "Nothing shows the memory that was written under the same key.");
    }
  },
});

const othersCount = 30;

const flooded = defineCheck({
  id: "isolation/flooded",
  clause: "MEM-ISO-04",
  title: "A memory is found although thirty memories of other people answer the question better",
  reasons: {
    lost: "The best matches of all scopes are fetched first, and those of other scopes taken out afterwards.",
    "other-person": "What matches best is shown, whosever it is.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    await ann.write(memory.text);
    const others: Told[] = [];
    for (let count = 0; count < othersCount; count += 1) {
      const [person, { word }] = [bench.someone(handle), bench.canary()];
      const text = `What was chosen about ${memory.topic}? About ${memory.topic}, ${word} was chosen.`;
      await person.write(text);
      others.push({ person, memory: { ...memory, word } });
    }
    const answers = await answersTo(ann, memory.query);
    for (const { memory: other } of others) {
      const path = pathShowing(answers, other.word);
      if (path !== undefined) fail("other-person", `Its ${path} showed another person's better match.`);
    }
    if (!(await ann.knows(memory))) fail("lost", "A person's own memory was not recalled among those of many others.");
    const last = others.at(-1);
    if (last !== undefined && !(await last.person.knows(last.memory)))
      fail("lost", "Another person's own memory was not recalled.");
  },
});

export const isolationOfKeys: Family = defineFamily({
  name: "isolation of keys",
  clauses: [
    {
      id: "MEM-ISO-03",
      level: "MUST",
      profile: "base",
      sentence: "Derived scope keys are told apart by every one of their characters, and by the case of letters.",
      source: "P1, C2, E3.4",
    },
    {
      id: "MEM-ISO-04",
      level: "MUST",
      profile: "base",
      sentence: "A query is limited to its scope before it is limited to a number of results.",
      source: "P1",
    },
  ],
  checks: [lookAlikeKeys, flooded],
  mutants: [
    {
      id: "isolation/folds-case",
      flaw: "Puts the key in lower case.",
      kills: { "isolation/look-alike-keys": "case" },
      spares: ["isolation/matrix"],
      parts: () => ({ partition: (key) => key.toLowerCase() }),
    },
    {
      id: "isolation/replaces-characters",
      flaw: "Replaces what is neither letter nor digit in the key by _.",
      kills: { "isolation/look-alike-keys": "alphabet", "partitions/opaque-keys": "merged" },
      spares: ["isolation/matrix"],
      parts: () => ({ partition: (key) => key.replace(/[^A-Za-z0-9]/g, "_") }),
    },
    {
      id: "isolation/cuts-the-key",
      flaw: "Uses the first 20 characters of the key.",
      kills: { "isolation/look-alike-keys": "ending", "partitions/opaque-keys": "merged" },
      spares: ["isolation/matrix"],
      parts: () => ({ partition: (key) => key.slice(0, 20) }),
    },
    {
      id: "isolation/end-of-the-key",
      flaw: "Uses the last 20 characters of the key.",
      kills: { "isolation/look-alike-keys": "beginning" },
      spares: ["isolation/matrix"],
      parts: () => ({ partition: (key) => key.slice(-20) }),
    },
    {
      id: "isolation/key-as-query",
      flaw: "Puts the key into a query where a leading - excludes.",
      kills: { "isolation/look-alike-keys": "lost" },
      spares: ["isolation/flooded", "isolation/foreign-id"],
      store: (store) => ({
        ...store,
        list: async (scope, signal) => (scope.startsWith("memscope1_-") ? [] : store.list(scope, signal)),
      }),
    },
    {
      id: "isolation/filters-afterwards",
      flaw: "Fetches the ten best matches of all scopes, and then drops those of others.",
      kills: { "isolation/flooded": "lost" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      provider: (provider, { store }) =>
        extendProvider(provider, {
          recall: {
            "turn.started": async ({ abortSignal, memory, turn }) => {
              const query = turn.input.filter(isUserMessage).map(messageText).join("\n");
              const best = correctParts.rank(await recordsOfAll(store, abortSignal), query).slice(0, 10);
              const own = new Set((await store.list(memory.scope.key, abortSignal)).map(({ id }) => id));
              const lines = best.filter(({ id }) => own.has(id)).map(correctParts.line);
              if (lines.length === 0) return null;
              return { messages: [{ id: "memory", content: correctParts.frame(memory.slot, lines) }] };
            },
          },
        }),
    },
  ],
});
