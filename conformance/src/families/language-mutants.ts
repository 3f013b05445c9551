/** Providers for whom the world writes English. */
import type { Mutant } from "../family.ts";
import type { StoredRecord } from "../reference/record-store.ts";
import { eachMessage } from "../reference/standing-before.ts";

export const languageMutants: readonly Mutant[] = [
  {
    id: "language/ascii-words",
    flaw: "Finds by words of the letters a to z.",
    kills: { "language/found": "not-found", "language/no-merge": "merged" },
    spares: ["language/reserved-words"],
    parts: () => ({ rank: (records, query) => sharing(records, query, (text) => text.match(/[a-z_]+/gi) ?? []) }),
  },
  {
    id: "language/spaced-words",
    flaw: "Finds by words between spaces.",
    kills: { "language/found": "not-found" },
    spares: ["language/reserved-words", "language/no-merge"],
    parts: () => ({ rank: (records, query) => sharing(records, query, (text) => text.split(/\s+/)) }),
  },
  {
    id: "language/merges-by-ascii",
    flaw: "Takes two texts for the same when their letters and digits of ASCII are.",
    kills: { "language/no-merge": "merged" },
    spares: ["language/found", "language/reserved-words"],
    parts: () => {
      const slug = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
      return { isSame: (one, other) => slug(one) === slug(other) };
    },
  },
  {
    id: "language/merges-by-collation",
    flaw: "Takes two texts for the same when a collation that ignores punctuation does.",
    kills: { "language/no-merge": "merged-signs" },
    spares: ["language/found", "language/reserved-words", "idempotency/capture-twice"],
    parts: () => {
      const collator = new Intl.Collator("en", { sensitivity: "base", ignorePunctuation: true });
      return { isSame: (one, other) => collator.compare(one, other) === 0 };
    },
  },
  {
    id: "language/words-in-an-object",
    flaw: "Keeps the words of a question in a plain object.",
    kills: { "language/reserved-words": "not-found" },
    spares: ["language/found", "language/no-merge"],
    parts: () => ({
      rank: (records, query) => {
        const asked: Record<string, number> = {};
        const words = segmented(query);
        for (const word of words) asked[word] = (asked[word] ?? 0) + 1;
        return records.filter(({ text }) => segmented(text).some((word) => Number(asked[word]) > 0));
      },
    }),
  },
  {
    id: "language/parses-what-it-reads",
    flaw: "Tries JSON.parse on what it stored.",
    kills: { "language/verbatim": "changed" },
    spares: ["language/found", "language/no-merge", "language/reserved-words"],
    store: (store) => ({
      ...store,
      list: async (scope, signal) =>
        (await store.list(scope, signal)).map((record) => ({ ...record, text: parsed(record.text) })),
    }),
  },
  {
    id: "language/silent-after-odd-text",
    flaw: "Recalls nothing at all when something in it cannot be shown.",
    kills: { "language/odd-characters": "others-lost" },
    spares: ["language/found", "language/verbatim"],
    parts: () => ({
      rank: (records) => (records.every(({ text }) => text.isWellFormed()) ? records : []),
    }),
  },
  {
    id: "language/encodes-uri",
    flaw: "Passes memory through encodeURIComponent, which throws at half a surrogate pair.",
    kills: { "language/odd-characters": "threw" },
    spares: ["language/found", "language/verbatim"],
    parts: ({ line }) => ({
      line: (record) => line({ ...record, text: decodeURIComponent(encodeURIComponent(record.text)) }),
    }),
  },
  {
    id: "language/folds-accents",
    flaw: "Recalls text without its accents.",
    kills: { "language/found": "not-found" },
    spares: ["language/reserved-words", "language/verbatim"],
    provider: (provider) =>
      eachMessage(provider, ({ content, ...message }) => ({
        ...message,
        content: content.normalize("NFD").replace(/\p{M}/gu, ""),
      })),
  },
];

/** The records that share a word with the question. */
function sharing(
  records: readonly StoredRecord[],
  query: string,
  wordsOf: (text: string) => readonly string[],
): readonly StoredRecord[] {
  const asked = new Set(wordsOf(query.toLowerCase()));
  return records.filter(({ text }) => wordsOf(text.toLowerCase()).some((word) => asked.has(word)));
}

const segmenter = new Intl.Segmenter("en", { granularity: "word" });

function segmented(text: string): readonly string[] {
  return [...segmenter.segment(text)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);
}

function parsed(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}
