/**
 * Bounds of what is escaped. Escaping makes a text longer, up to six times, so that room which is measured before it is
 * no bound on what the model is given. A provider's own limit is not known here, and is learned from harmless memories.
 */
import { MemoryError } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Handle } from "../drive/handle.ts";
import { admitsFailure } from "../drive/operations.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { writes } from "./bounds.ts";

/** In UTF-16 code units, as everything here. */
const shortLength = 180;
const longLength = 300;
/** More than most providers recall at once; where one recalls them all, as many again. */
const batch = 24;
const mostBatches = 3;
/** Of fewer entries the lengths do not tell a limit of characters from one of entries. */
const fewest = 5;
/** A limit is learned but for the entry that did not fit, and a frame may count what it left out. */
const tolerance = longLength + 100;

const plain = "The garden was quiet and the tea was warm. ";
const escapable = '<&>" ';
const query = "What was chosen?";

const reasons = {
  "before-escaping":
    "Room is measured by memories as they were written, and they are escaped afterwards: measure the text that is returned.",
} as const;

const recalled = defineCheck({
  id: "bounds/escaped",
  clause: "MEM-BND-06",
  title: "Memories full of characters that are escaped are recalled in no more room than others",
  reasons,
  async run(bench, fail) {
    const { isRefusing, limit, length } = await lengthOfEscaped(bench, "cut");
    if (isRefusing) bench.notApplicable("It refuses what does not fit, so that its recall is never cut.");
    if (length > limit + tolerance) fail("before-escaping", tooLong(length, limit));
  },
});

const kept = defineCheck({
  id: "bounds/escaped-kept",
  clause: "MEM-BND-07",
  title: "Where a memory is refused because there is no room, it is measured as it would be recalled",
  reasons,
  async run(bench, fail) {
    const { isRefusing, limit, length } = await lengthOfEscaped(bench, "refuse");
    if (!isRefusing) bench.notApplicable("It refuses none of so many memories.");
    if (length > limit + tolerance) fail("before-escaping", tooLong(length, limit));
  },
});

export const escapedBounds: Family = defineFamily({
  name: "escaped bounds",
  clauses: [
    {
      id: "MEM-BND-06",
      level: "MUST",
      profile: "base",
      sentence: "The bound of recalled text holds for the text as it is returned, with all that was escaped in it.",
      source: "P6",
    },
    {
      // What is kept may have a limit of its own, beside a wider one of what is recalled, which is not seen here.
      id: "MEM-BND-07",
      level: "SHOULD",
      profile: "base",
      sentence: "Who refuses memories for which recall has no room measures them as they are recalled.",
      source: "P6",
    },
  ],
  checks: [recalled, kept],
  mutants: [
    {
      id: "bounds/measures-before-escaping",
      flaw: "Measures memories as they were written, and escapes those that fit.",
      kills: { "bounds/escaped": "before-escaping" },
      spares: ["bounds/recall", "bounds/oversized-entry", "framing/closing-tags", "framing/every-entry"],
      parts: () => ({ line: ({ id, text }) => `${id}: ${text}` }), // the frame escapes too
    },
    {
      id: "bounds/quotes-afterwards",
      flaw: "Makes entities of quotation marks when everything has been measured.",
      kills: { "bounds/escaped": "before-escaping" },
      spares: ["bounds/recall", "bounds/oversized-entry", "framing/closing-tags"],
      parts: ({ frame }) => ({
        frame: (slot, lines) =>
          frame(
            slot,
            lines.map((line) => line.replaceAll('"', "&quot;")),
          ),
      }),
    },
    {
      id: "bounds/refuses-before-escaping",
      flaw: "Recalls all that it keeps, and keeps as much as would fit if nothing were escaped.",
      kills: { "bounds/escaped-kept": "before-escaping" },
      spares: ["bounds/recall", "framing/closing-tags"],
      parts: () => ({ maxCharacters: Number.POSITIVE_INFINITY }),
      store: (store) => ({
        ...store,
        put: async (scope, record, signal) => {
          const records = [...(await store.list(scope, signal)), record];
          const length = records.reduce((sum, { id, text }) => sum + `${id}: ${text}\n`.length, 0);
          if (length > 3_800) throw new MemoryError("limit_exceeded", "The memory is full.");
          return store.put(scope, record, signal);
        },
      }),
    },
  ],
});

function tooLong(length: number, limit: number): string {
  return `It recalled ${length} characters of memories full of <, &, > and ", and at most ${limit} of others.`;
}

interface Filled {
  readonly isRefusing: boolean;
  readonly written: number;
  /** How many of them were recalled. */
  readonly shown: number;
  /** Of what was recalled. */
  readonly length: number;
  /** Whether one of them was recalled as it was written. */
  readonly isVerbatim: boolean;
}

interface Escaped {
  readonly isRefusing: boolean;
  /** The most that was recalled of harmless memories. */
  readonly limit: number;
  /** What was recalled of the others. */
  readonly length: number;
}

/** Ends the check where no limit of characters is seen, or where nothing is escaped. */
async function lengthOfEscaped(bench: Bench, how: "cut" | "refuse"): Promise<Escaped> {
  const handle = await bench.open();
  const short = await filled(bench, handle, { length: shortLength, filler: plain });
  const { isRefusing, written, shown } = short;
  if (shown === written) bench.notApplicable(`It recalls all of ${written} memories: its limit was not seen.`);
  const count = Math.ceil((1.05 * short.length) / longLength) + 1;
  const base = { isRefusing, limit: short.length, length: 0 };
  if (isRefusing !== (how === "refuse")) return base; // the other check's
  const long = await filled(bench, handle, { length: longLength, filler: plain, count });
  if (long.shown < fewest) bench.notApplicable(`It recalls fewer than ${fewest} memories at once.`);
  const isOfCharacters = long.shown < Math.min(shown, count) && Math.abs(short.length - long.length) <= longLength;
  if (!isOfCharacters)
    bench.notApplicable("What it recalls of short memories and of longer ones shows no limit of characters.");
  const limit = Math.max(short.length, long.length);
  const full = await filled(bench, handle, { length: longLength, filler: escapable, count });
  if (full.shown === 0) bench.notApplicable('It recalls no memory that is full of <, &, > and ".');
  if (full.isVerbatim && full.length > limit + tolerance)
    bench.notApplicable('It escapes none of <, &, > and ", and has some other limit than one of characters.');
  return { isRefusing, limit, length: full.length };
}

interface Filling {
  readonly length: number;
  readonly filler: string;
  /** Default: until not all of it is recalled. */
  readonly count?: number;
}

/** Somebody new with more memories than are recalled, and what is recalled of them. */
async function filled(bench: Bench, handle: Handle, { length, filler, count }: Filling): Promise<Filled> {
  const person = bench.someone(handle);
  const memories: Canary[] = [];
  const textOf = ({ text }: Canary): string => `${text} ${filler.repeat(length)}`.slice(0, length).trimEnd();
  let isRefusing = false;
  for (let batches = 0; ; ) {
    const more = Array.from({ length: count ?? batch }, () => bench.canary());
    memories.push(...more);
    isRefusing = !(await takes(
      bench,
      person,
      more.map((memory) => ({ id: memory.topic, text: textOf(memory) })),
    ));
    const text = await person.recalls(query);
    const shown = memories.filter(({ word }) => text.toLowerCase().includes(word));
    batches += 1;
    const isDone = isRefusing || shown.length < memories.length || count !== undefined || batches === mostBatches;
    if (!isDone) continue;
    const isVerbatim = shown.some((memory) => text.includes(textOf(memory)));
    return { isRefusing, written: memories.length, shown: shown.length, length: text.length, isVerbatim };
  }
}

/** Writes all in one import, or one by one. Whether they were all taken. */
async function takes(
  bench: Bench,
  person: Person,
  texts: readonly { readonly id: string; readonly text: string }[],
): Promise<boolean> {
  if (bench.facts.maintenance) {
    const lines = texts.map((each) => ({ type: "memory" as const, ...each }));
    const outcome = await bench.outcome(() =>
      person.maintain("import", (maintenance, key) => maintenance.import({ key, lines })),
    );
    if (outcome.state === "fulfilled" && outcome.value.imported > 0) return outcome.value.refused.length === 0;
  }
  for (const { text } of texts) {
    const outcome = await writes(person, text);
    if (outcome.state !== "fulfilled" || admitsFailure(outcome.value)) return false;
  }
  return true;
}
