/**
 * What an operator moves has to arrive: a page boundary that drops or repeats a record, an export that tidies the text, an
 * import that doubles what is there. None of it shows in everyday use, and all of it when somebody leaves a provider.
 */
import { checkExportLine, type ExportLine, type ExportRecord, type ImportResult } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { collect, type Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { maintenanceMutants } from "./maintenance-mutants.ts";

const mostPages = 60;

const list = defineCheck({
  id: "maintenance/list",
  clause: "MEM-MNT-01",
  title: "A list in pages of one holds each memory of one scope once, and ends",
  needs: ["maintenance"],
  reasons: {
    "other-scope": "The list is not limited to the key that it is given.",
    loss: "The cursor skips a record, or the last page is left out.",
    twice: "A page begins with the record that the one before ended with.",
    endless: "There is a cursor after the last page.",
    "too-many": "The limit is not kept.",
    lost: "The list does not hold what was written.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [own, other] = [Array.from({ length: 5 }, () => bench.canary()), bench.canary()];
    for (const { text } of own) await ann.write(text);
    await ben.write(other.text);
    const whole = await listed(ann);
    const paged = await listed(ann, 1);
    const ids = paged.records.map(({ id }) => id);
    if (paged.largest > 1) fail("too-many", "A page of at most one record held more.");
    if (!paged.hasEnded) fail("endless", `After ${mostPages} pages there was still a cursor.`);
    if (holdsWord([...whole.records, ...paged.records], other.word))
      fail("other-scope", "It held another scope's memory.");
    if (new Set(ids).size < ids.length) fail("twice", "Two pages held the same record.");
    if (whole.records.some(({ id }) => !ids.includes(id)))
      fail("loss", "A record of the list was on none of its pages.");
    if (own.some(({ word }) => !holdsWord(whole.records, word))) fail("lost", "A memory was not in the list.");
    if (!holdsWord((await listed(ben)).records, other.word))
      fail("lost", "Another person's memory was not in their list.");
  },
});

const listWhileForgetting = defineCheck({
  id: "maintenance/list-while-forgetting",
  clause: "MEM-MNT-06",
  title: "Between two pages of a list, a record of the first one is forgotten",
  needs: ["maintenance", "forget-tool"],
  reasons: {
    skipped: "The cursor counts records, and one that is gone moves the others: say after which record a page begins.",
  },
  async run(bench, fail) {
    for (const which of [0, -1]) {
      const ann = bench.someone(await bench.open());
      const own = Array.from({ length: 5 }, () => bench.canary());
      for (const { text } of own) await ann.write(text);
      const first = await ann.maintain("list", (maintenance, key) => maintenance.list({ key, limit: 2 }));
      const gone = own.find(({ word }) => holdsWord(first.records.slice(which).slice(0, 1), word));
      if (gone === undefined || first.cursor === undefined) return bench.notApplicable("It lists all on one page.");
      await ann.forget(gone);
      // To refuse the cursor is honest.
      const rest = await bench.outcome(() => listed(ann, 2, first.cursor));
      if (rest.state !== "fulfilled") continue;
      const shown = [...first.records, ...rest.value.records];
      if (own.some((memory) => !holdsWord(shown, memory.word)))
        fail("skipped", "A record that was never touched was on none of the pages.");
    }
  },
});

const texts = [
  "Plain words.",
  "  Spaces around.  ",
  "Two\nlines, and\ttabs.",
  "Quotes \" and \\ and ' and `.",
  '{"looks":"like JSON"}',
  '"quoted"',
  "null",
  "12345678901234567890",
  "</memory> &amp; <b>",
  "Zo\u00eb and Zoe\u0308, \u4eba\u5de5\u667a\u80fd, \u{1f9ed}",
  "line\u2028separator",
  "1: looks like an entry",
];

const roundTrip = defineCheck({
  id: "maintenance/round-trip",
  clause: "MEM-MNT-02",
  title: "What is exported from one scope and imported into another is there, byte for byte",
  needs: ["maintenance"],
  reasons: {
    header: "An export is the header line of the format, and then records.",
    changed: "Text is trimmed, normalised, escaped or parsed on its way.",
    dropped: "A record is neither there nor among the refused.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const lines = texts.map((text, index) => ({ type: "memory" as const, id: String(index), text }));
    const first = await imported(ann, lines);
    const accepted = lines.filter(({ id }) => !first.refused.some((refusal) => refusal.id === id));
    const exported = await ann.maintain("export", (maintenance, key) => collect(maintenance.export({ key })));
    if (exported[0]?.type !== "header") fail("header", "The first line of an export was not its header.");
    const bad = await bench.outcome(async () => exported.map(checkExportLine)).catch(() => ({ state: "rejected" }));
    if (bad.state === "rejected") fail("header", "A line of the export is not of the format.");
    compare(accepted, exported.filter(isRecord), "exported");

    const ben = bench.someone(await bench.open());
    const second = await imported(ben, exported);
    const records = (await listed(ben)).records;
    const refused = second.refused.map(({ id }) => exported.filter(isRecord).find((each) => each.id === id)?.text);
    compare(
      accepted.filter(({ text }) => !refused.includes(text)),
      records,
      "imported",
    );

    function compare(before: readonly { readonly text: string }[], after: readonly ExportRecord[], how: string): void {
      const left = new Set(after.map(({ text }) => text));
      const missing = before.filter(({ text }) => !left.has(text));
      if (missing.length === 0) return;
      if (after.length < before.length) fail("dropped", `Of ${before.length} records, ${after.length} were ${how}.`);
      fail("changed", `Of ${before.length} texts, ${missing.length} were different when they were ${how}.`);
    }
  },
});

const importTwice = defineCheck({
  id: "maintenance/import-twice",
  clause: "MEM-MNT-03",
  title: "An import that is done twice changes nothing the second time, and says so",
  needs: ["maintenance"],
  reasons: {
    doubled: "Records are added without looking for what is there.",
    count: "The second time they are counted as imported.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const lines = [1, 2, 3].map((index) => ({ type: "memory" as const, id: `r${index}`, text: bench.canary().text }));
    const first = await imported(ann, lines);
    const before = (await listed(ann)).records.length;
    const second = await imported(ann, lines);
    const after = (await listed(ann)).records.length;
    if (before !== first.imported || before === 0)
      fail("count", `It said that ${first.imported} records were imported, and listed ${before}.`);
    if (after !== before)
      fail("doubled", `There were ${before} records after the first import, and ${after} after the second.`);
    if (second.imported !== 0) fail("count", "It said that it imported what was there already.");
  },
});

const scopesListed = defineCheck({
  id: "maintenance/scopes",
  clause: "MEM-MNT-04",
  title: "The keys of all scopes that hold memory are listed, and that of an erased one is not",
  needs: ["maintenance"],
  reasons: {
    missing: "Names of the store are listed instead of the keys that providers are given, or not all of them.",
    erased: "A scope outlives what it held.",
  },
  async run(bench, fail) {
    if (!bench.facts.scopes) bench.notApplicable("Its store cannot list scopes.");
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    await ann.write(bench.canary().text);
    await ben.write(bench.canary().text);
    const scopes = async (): Promise<readonly string[]> =>
      ann.maintain("scopes", (maintenance) => collect(maintenance.scopes?.({}) ?? []));
    const before = await scopes();
    if (!before.includes(ann.key) || !before.includes(ben.key))
      fail("missing", "The key of a scope that holds memory was not listed.");
    if (bench.facts.capabilities.erase !== "immediate") return;
    await ann.maintain("erase", (maintenance, key) => maintenance.erase({ key }));
    const after = await scopes();
    if (after.includes(ann.key)) fail("erased", "The key of an erased scope was listed.");
    if (!after.includes(ben.key)) fail("missing", "After one scope was erased, another's key was not listed.");
  },
});

const badInput = defineCheck({
  id: "maintenance/bad-input",
  clause: "MEM-MNT-05",
  title: "A cursor that it never gave, and a limit that is no positive whole number, are refused",
  needs: ["maintenance"],
  reasons: {
    cursor: "A cursor that is not known is taken for the start or the end, so that a loop repeats or loses a page.",
    limit: "The limit is not checked.",
  },
  async run(bench, fail) {
    const [ann, memory] = [bench.someone(await bench.open()), bench.canary()];
    await ann.write(memory.text);
    const asked = (input: { readonly cursor?: string; readonly limit?: number }) =>
      bench.outcome(() => ann.maintain("list", (maintenance, key) => maintenance.list({ key, ...input })));
    const cursors = await asked({ cursor: "no cursor of yours!" });
    if (cursors.state !== "rejected") fail("cursor", "A cursor that it never gave was accepted.");
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      const { state } = await asked({ limit });
      if (state !== "rejected") fail("limit", `A limit of ${limit} was accepted.`);
    }
    const { state } = await asked({ limit: 5 });
    if (state !== "fulfilled") fail("limit", "A limit of 5 was refused.");
  },
});

export const maintenance: Family = defineFamily({
  name: "maintenance",
  clauses: [
    {
      id: "MEM-MNT-01",
      level: "MUST",
      profile: "base",
      sentence:
        "list() gives every memory of one scope, once, in pages of at most `limit`, and no cursor after the last.",
      source: "P15, P1",
    },
    {
      id: "MEM-MNT-02",
      level: "MUST",
      profile: "base",
      sentence:
        "An export is a header and records, and keeps every text byte for byte; an import keeps it so, or lists it as refused.",
      source: "P15",
    },
    {
      id: "MEM-MNT-03",
      level: "MUST",
      profile: "base",
      sentence: "Importing the same lines twice changes nothing the second time, and counts are true.",
      source: "P15",
    },
    {
      id: "MEM-MNT-04",
      level: "MUST",
      profile: "base",
      sentence: "scopes(), where there is one, gives the keys of exactly those scopes that hold memory.",
      source: "P15",
    },
    {
      id: "MEM-MNT-05",
      level: "SHOULD",
      profile: "base",
      sentence: "list() refuses a cursor that it never gave and a limit that is no positive whole number.",
      source: "P15, P18",
    },
    {
      id: "MEM-MNT-06",
      level: "MUST",
      profile: "base",
      sentence: "A list leaves out no record for another's being removed between two pages; it may refuse the cursor.",
      source: "P15",
    },
  ],
  checks: [list, listWhileForgetting, roundTrip, importTwice, scopesListed, badInput],
  mutants: maintenanceMutants,
});

function holdsWord(records: readonly ExportRecord[], word: string): boolean {
  return records.some(({ text }) => text.toLowerCase().includes(word));
}

function isRecord(line: ExportLine): line is ExportRecord {
  return line.type === "memory";
}

function imported(person: Person, lines: readonly ExportLine[]): Promise<ImportResult> {
  return person.maintain("import", (maintenance, key) => maintenance.import({ key, lines }));
}

/** All pages of a scope's list from a cursor on, at most {@link mostPages}, and the size of the largest. */
async function listed(
  person: Person,
  limit?: number,
  from?: string,
): Promise<{ readonly records: readonly ExportRecord[]; readonly largest: number; readonly hasEnded: boolean }> {
  const records: ExportRecord[] = [];
  const bounds = limit === undefined ? {} : { limit };
  let largest = 0;
  let at: { readonly cursor?: string } = from === undefined ? {} : { cursor: from };
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await person.maintain("list", (maintenance, key) => maintenance.list({ key, ...bounds, ...at }));
    records.push(...page.records);
    largest = Math.max(largest, page.records.length);
    if (page.cursor === undefined) return { records, largest, hasEnded: true };
    at = { cursor: page.cursor };
  }
  return { records, largest, hasEnded: false };
}
