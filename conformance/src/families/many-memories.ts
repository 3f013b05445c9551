/**
 * Erasing, forgetting and moving are tried on a handful of memories, and meant for thousands. A delete or an export that
 * takes a page, a batch or whatever one request answers leaves the rest, and says that it is done.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { type Canary, holds } from "../drive/canary.ts";
import { collect, type Person, type Reading } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance, withTool } from "../reference/changed.ts";

const count = 110;
const mostPages = 300;

const many = defineCheck({
  id: "erasing/many",
  clause: "MEM-ERS-05",
  title: `Among ${count} memories one can be forgotten, and an erase leaves none and counts them all`,
  needs: ["erase"],
  reasons: {
    left: "Only a page or a batch is erased: the rest is still shown, or held.",
    "not-forgotten": "Only a page or a batch is searched for what is to be forgotten.",
    count: "The number is that of the last batch, or of the first, and not of all that was erased.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase === "requested") bench.notApplicable("Its service erases later, as declared.");
    const ann = bench.someone(await bench.open());
    const memories = Array.from({ length: count }, () => bench.canary());
    await writeAll(bench, ann, memories);
    for (const memory of [memories[0], memories[count - 1]])
      if (memory !== undefined && !(await isForgotten(bench, ann, memory)))
        fail("not-forgotten", `Among ${count} memories, one could not be forgotten.`);
    const before = await listed(ann);
    if (before.length === 0) bench.untestable("There was nothing to erase.");
    const { erased, status } = await ann.maintain("erase", (maintenance, key) => maintenance.erase({ key }));
    const readings: Reading[] = [];
    for (const memory of [memories[0], memories[count / 2], memories[count - 1]])
      readings.push(...(await ann.readings(memory?.query ?? "")));
    readings.push({ path: "list", text: JSON.stringify(await listed(ann)) });
    const shown = readings.find(({ text }) => memories.some(({ word }) => text.toLowerCase().includes(word)));
    if (shown !== undefined) fail("left", `Its ${shown.path} showed one of ${before.length} memories after an erase.`);
    const contents = bench.facts.backend === "none" ? [] : await bench.backend.contents();
    if (memories.some(({ word }) => holds(contents, word)))
      fail("left", `The backend held one of ${before.length} memories after an erase.`);
    if (status === "done" && erased !== before.length)
      fail("count", `It listed ${before.length} memories, erased them all, and counted ${erased}.`);
  },
});

const exported = defineCheck({
  id: "maintenance/many",
  clause: "MEM-MNT-07",
  title: `Of ${count} memories, a list and an export leave out none`,
  needs: ["maintenance"],
  reasons: {
    "export-part": "Only a page or a batch is exported.",
    "list-part": "The last page, or all after the first, is not listed.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const memories = Array.from({ length: count }, () => bench.canary());
    // Short ones, as the room for all of them may be small.
    const lines = memories.map(({ word, topic }) => ({ type: "memory" as const, id: topic, text: word }));
    const imported = await ann.maintain("import", (maintenance, key) => maintenance.import({ key, lines }));
    const refused = new Set(imported.refused.map(({ id }) => id));
    const taken = memories.filter(({ topic }) => !refused.has(topic));
    if (taken.length === 0) bench.notApplicable("It takes none of so many.");
    const missing = (records: readonly unknown[]): number => {
      const text = JSON.stringify(records);
      return taken.filter(({ word }) => !text.includes(word)).length;
    };
    const left = missing(await ann.maintain("export", (maintenance, key) => collect(maintenance.export({ key }))));
    if (left > 0) fail("export-part", `Of ${taken.length} memories, an export left out ${left}.`);
    const unlisted = missing(await listed(ann));
    if (unlisted > 0) fail("list-part", `Of ${taken.length} memories, the pages of a list left out ${unlisted}.`);
  },
});

export const manyMemories: Family = defineFamily({
  name: "many memories",
  clauses: [
    {
      id: "MEM-ERS-05",
      level: "MUST",
      profile: "base",
      sentence:
        "However much there is, each memory can be forgotten, and an erase takes everything of the scope and counts all that it took.",
      source: "P10",
    },
    {
      id: "MEM-MNT-07",
      level: "MUST",
      profile: "base",
      sentence: "However much there is, an export holds all of it, and so do the pages of a list.",
      source: "P15",
    },
  ],
  checks: [many, exported],
  mutants: [
    {
      id: "maintenance/exports-a-page",
      flaw: "Exports the first page of a list, which has a hundred records.",
      kills: { "maintenance/many": "export-part" },
      spares: ["maintenance/round-trip", "erasing/many"],
      provider: (provider) =>
        withMaintenance(provider, (maintenance) => ({
          async *export(input) {
            let count = 0;
            for await (const line of maintenance.export(input)) {
              if (count <= 100) yield line; // the header is one too
              count += 1;
            }
          },
        })),
    },
    {
      id: "maintenance/lists-a-page",
      flaw: "Lists the first hundred records, and says that these are all.",
      kills: { "maintenance/many": "list-part" },
      spares: ["maintenance/list", "maintenance/round-trip"],
      provider: (provider) =>
        withMaintenance(provider, ({ list }) => ({
          list: async (input) => {
            if (input.limit !== undefined) return list(input);
            const { records } = await list(input);
            return { records };
          },
        })),
    },
    {
      id: "erasing/first-page",
      flaw: "Erases the first page of records, which has a hundred.",
      kills: { "erasing/many": "left" },
      spares: ["erasing/nothing-left", "erasing/status"],
      provider: (provider, { store }) =>
        withMaintenance(provider, () => ({
          erase: async ({ key, signal = new AbortController().signal }) => {
            const records = (await store.list(key, signal)).slice(0, 100);
            for (const { id } of records) await store.remove(key, id, signal);
            return { erased: records.length, status: "done" };
          },
        })),
    },
    {
      id: "forgetting/first-page",
      flaw: "Looks for what is to be forgotten on the first page of records, which has a hundred.",
      kills: { "erasing/many": "not-forgotten" },
      spares: ["forgetting/gone", "erasing/nothing-left"],
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", (tool, { memory }) => ({
          execute: async (input: { readonly id: string }, context) => {
            const page = (await store.list(memory.scope.key, context.abortSignal)).slice(0, 100);
            return page.some(({ id }) => id === input.id) ? tool.execute(input as never, context) : { removed: false };
          },
        })),
    },
    {
      id: "erasing/counts-last-page",
      flaw: "Erases page by page, and answers the count of the last.",
      kills: { "erasing/many": "count" },
      spares: ["erasing/nothing-left", "erasing/status"],
      provider: (provider) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            const { erased, status } = await erase(input);
            return { erased: erased % 100, status };
          },
        })),
    },
  ],
});

/** Whether it is, or could not be tried: the kit cannot name a memory that it is not shown. */
async function isForgotten(bench: Bench, person: Person, memory: Canary): Promise<boolean> {
  const { forgetTool = "", forgetHow } = bench.facts;
  if (forgetHow === undefined || !(await person.knows(memory))) return true;
  const target = (await person.forgetInputs(memory)).find(({ how }) => how === forgetHow);
  if (target === undefined) return true;
  await bench.outcome(() => person.call(forgetTool, target.input));
  return !(await person.knows(memory));
}

/** In one import; one by one where that does not work. What is refused, for whatever limit, is left out. */
async function writeAll(bench: Bench, person: Person, memories: readonly Canary[]): Promise<void> {
  const lines = memories.map(({ text, topic }) => ({ type: "memory" as const, id: topic, text }));
  const imported = await bench.outcome(() =>
    person.maintain("import", (maintenance, key) => maintenance.import({ key, lines })),
  );
  if (imported.state === "fulfilled" && imported.value.imported > 0) return;
  for (const { text } of memories) await bench.outcome(() => person.write(text));
}

/** The records of all pages. */
async function listed(person: Person): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const from = cursor === undefined ? {} : { cursor };
    const page = await person.maintain("list", (maintenance, key) => maintenance.list({ key, ...from }));
    records.push(...page.records);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return records;
}
