/**
 * Memories that hold a piece of the form in which memories are kept: the comment at the top of a file, the line that parts
 * two notes, the name of a field. A store that is read by looking for these finds them in what somebody said.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { copiesIn } from "../drive/copies.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Handle } from "../drive/handle.ts";
import { admitsFailure, operationsOf } from "../drive/operations.ts";
import type { Person, Reading } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { piecesOf, twinOf } from "../drive/stored-pieces.ts";
import { defineFamily, type Family, type Mutant } from "../family.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";

const kept = defineCheck({
  id: "stored-form/kept",
  clause: "MEM-FRM-06",
  title: "Memories that hold pieces of what the backend holds are kept whole or refused, and change nothing else",
  needs: ["backend"],
  reasons: {
    cut: "The store is read by looking for a piece of its own form, which is found within a text: the rest of it is lost. Escape it when it is written, or read by a real parser.",
    removed:
      "A piece of the stored form is taken out of a text: it is looked for everywhere, and not only where it belongs.",
    "others-lost": "A text that holds a piece of the stored form changes what is read of other memories.",
    back: "A text that holds a piece of the stored form undoes what was forgotten.",
    twice: "A text that holds a piece of the stored form is not known again when its write is repeated.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    let tried = 0;
    for (const path of bench.writePaths) {
      const before = await settled(bench, handle, path);
      if (before === undefined || !(await keepsPlain(bench, handle, path, before.pieces))) continue;
      const { person, others, forgotten, pieces } = before;
      const accepted: Attack[] = [];
      for (const piece of pieces) {
        const attack = attackWith(bench, piece);
        if (await isAccepted(bench, person, path, attack)) accepted.push(attack);
      }
      if (accepted.length === 0) continue;
      tried += accepted.length;
      await bench.outcome(() => person.write(bench.canary().text, { path })); // there may be no room left
      const reader = bench.facts.capabilities.durable === true ? person.again(await bench.open()) : person.again();
      const all = await reader.readings(
        [...others, ...forgotten, ...accepted.map(({ own }) => own)].map(({ query }) => query).join(" "),
      );
      for (const other of others) {
        if (!(await recalls(reader, all, other, [other.text.toLowerCase()])))
          fail("others-lost", `After such memories were written by ${path}, another was not recalled as it was.`);
      }
      for (const { word } of forgotten) {
        const shown = pathShowing(all, word);
        if (shown !== undefined) fail("back", `What was forgotten came back in ${shown}, after writes by ${path}.`);
      }
      for (const { own, words } of accepted) {
        if (!(await recalls(reader, all, own, words)))
          fail("cut", `A memory written by ${path} was not recalled from its beginning to its end.`);
      }
      for (const attack of accepted) {
        if (await losesPiece(bench, reader, path, attack, all))
          fail("removed", `Words within a memory written by ${path} were not recalled, as others in their place are.`);
      }
      for (const { own } of accepted) {
        const usual = others.map((other) => copiesIn(all, other));
        const isMore = [...copiesIn(all, own)].some(([where, count]) => {
          const allowed = Math.max(...usual.map((copies) => copies.get(where) ?? 0));
          return allowed > 0 && count > allowed;
        });
        if (isMore) fail("twice", `A memory whose write by ${path} was repeated stood there more than once.`);
      }
    }
    if (tried === 0)
      bench.notApplicable("Nothing of its stored form can be told from the memories, or none with it is kept.");
  },
});

interface Before {
  readonly person: Person;
  /** What stays as it is. */
  readonly others: readonly Canary[];
  /** What stays away. */
  readonly forgotten: readonly Canary[];
  readonly pieces: readonly string[];
}

/** Somebody who wrote, repeated and forgot, and what the store made of it. `undefined` where it does not show. */
async function settled(bench: Bench, handle: Handle, path: WritePath): Promise<Before | undefined> {
  const person = bench.someone(handle);
  const others = [bench.canary(), bench.canary()];
  const gone = bench.canary();
  for (const { text } of others) await repeated(person, text, path);
  const { result } = await person.write(gone.text, { path });
  if (operationsOf(bench, ["forget"]).length > 0) await bench.outcome(() => person.forget(gone, result));
  const texts = [...others, gone].map(({ text }) => text);
  const pieces = piecesOf(await bench.backend.contents(), texts);
  const all = await person.again().readings([...others, gone].map(({ query }) => query).join(" "));
  for (const other of others)
    if (!(await recalls(person.again(), all, other, [other.text.toLowerCase()]))) return undefined;
  const forgotten = pathShowing(all, gone.word) === undefined ? [gone] : [];
  return { person, others, forgotten, pieces };
}

interface Attack {
  readonly piece: string;
  readonly own: Canary;
  readonly text: string;
  /** One at its beginning, one in the middle, one at its end. */
  readonly words: readonly string[];
}

/** The piece within a line, as a line of its own, and at the beginning of one. */
function attackWith(bench: Bench, piece: string): Attack {
  const [own, middle, end] = [bench.canary(), bench.canary(), bench.canary()];
  const text = `${own.text} ${piece} and\n${piece}\n${piece}${middle.word} ${piece} ${end.word} too.`;
  return { piece, own, text, words: [own.word, middle.word, end.word] };
}

/** Whether plain words in the places of the pieces are kept from the beginning to the end. */
async function keepsPlain(bench: Bench, handle: Handle, path: WritePath, pieces: readonly string[]): Promise<boolean> {
  const person = bench.someone(handle);
  const { own, text, words } = attackWith(
    bench,
    "plain ".repeat(Math.max(...pieces.map(({ length }) => length)) / 6 + 1),
  );
  await bench.outcome(() => person.write(text, { path }));
  const recalled = (await person.recalls(own.query)).toLowerCase();
  return words.every((word) => recalled.includes(word));
}

/** Writes it twice, as the same operation. It may be refused. */
async function isAccepted(bench: Bench, person: Person, path: WritePath, { text }: Attack): Promise<boolean> {
  const { events } = person.handle;
  const before = events.length;
  const outcome = await bench.outcome(() => repeated(person, text, path));
  if (outcome.state !== "fulfilled" || admitsFailure(outcome.value)) return false;
  const refused: unknown = Reflect.get(Object(outcome.value), "refused");
  const isListed = Array.isArray(refused) && refused.length > 0;
  return !isListed && !events.slice(before).some(({ code }) => code.endsWith("_refused"));
}

/** Answers what the first write did. */
async function repeated(person: Person, text: string, path: WritePath): Promise<unknown> {
  const written = await person.write(text, { path });
  if (path !== "import") await person.repeat(written);
  return written.result;
}

/** Whether the words are recalled, if not together with others then by their own question. */
async function recalls(
  reader: Person,
  all: readonly Reading[],
  { query }: Canary,
  words: readonly string[],
): Promise<boolean> {
  const together = recalledOf(all).toLowerCase();
  if (words.every((word) => together.includes(word))) return true;
  const alone = (await reader.recalls(query)).toLowerCase();
  return words.every((word) => alone.includes(word));
}

function recalledOf(all: readonly Reading[]): string {
  return all.find(({ path }) => path === "recall")?.text ?? "";
}

/** Whether less is recalled of the piece than of another of its shape, with which the store has nothing to do. */
async function losesPiece(
  bench: Bench,
  reader: Person,
  path: WritePath,
  attack: Attack,
  all: readonly Reading[],
): Promise<boolean> {
  const { twin, word, twinWord } = twinOf(attack.piece) ?? {};
  if (twin === undefined || word === undefined || twinWord === undefined) return false;
  if (wordsLeft(recalledOf(all), attack, word) >= 3) return false;
  const left = wordsLeft(await reader.recalls(attack.own.query), attack, word);
  if (left >= 3) return false;
  const person = bench.someone(reader.handle);
  const harmless = attackWith(bench, twin);
  if (!(await isAccepted(bench, person, path, harmless))) return false;
  return left < wordsLeft(await person.recalls(harmless.own.query), harmless, twinWord);
}

/** How often a word of the piece stands between the beginning of a memory and its middle. */
function wordsLeft(recalled: string, { words: [first = "", middle = ""] }: Attack, word: string): number {
  const text = recalled.toLowerCase();
  const start = text.indexOf(first);
  const inside = text.slice(start, Math.max(start, text.indexOf(middle, start)));
  return inside.split(word.toLowerCase()).length - 1;
}

const removed = new Map<string, readonly StoredRecord[]>();

const mutants: readonly Mutant[] = [
  {
    id: "stored-form/ends-at-the-next-field",
    flaw: "Takes for the end of a text what stands behind it in the store.",
    kills: { "stored-form/kept": "cut" },
    spares: ["framing/line-breaks", "language/verbatim"],
    store: (store) =>
      reading(store, (records) =>
        records.map((record) => ({ ...record, text: record.text.split('"createdAt":')[0] ?? "" })),
      ),
  },
  {
    id: "stored-form/takes-fields-out",
    flaw: "Takes the names of its fields out of texts when it reads them.",
    kills: { "stored-form/kept": "removed" },
    spares: ["framing/line-breaks", "language/verbatim"],
    store: (store) =>
      reading(store, (records) =>
        records.map((record) => ({ ...record, text: record.text.replace(/"(?:createdAt|records)":/g, "") })),
      ),
  },
  {
    id: "stored-form/begins-again",
    flaw: "Takes a text with the name of its first field for the beginning of the store, and leaves out what stood before.",
    kills: { "stored-form/kept": "others-lost" },
    spares: ["framing/line-breaks", "language/verbatim"],
    store: (store) =>
      reading(store, (records) => {
        const isInside = records.some(({ text }) => text.includes('"records":'));
        return isInside ? records.filter(({ text }) => /"\w+":/.test(text)) : records;
      }),
  },
  {
    id: "stored-form/marks-are-hidden",
    flaw: "Marks what was forgotten in a part of its store that a text can hide.",
    kills: { "stored-form/kept": "back" },
    spares: ["forgetting/gone", "framing/line-breaks"],
    store: (store) => ({
      ...store,
      list: async (scope, signal) => {
        const records = await store.list(scope, signal);
        const isHidden = records.some(({ text }) => text.includes('"gone":'));
        return isHidden ? [...records, ...(removed.get(scope) ?? [])] : records;
      },
      remove: async (scope, id, signal) => {
        const found = (await store.list(scope, signal)).filter((record) => record.id === id);
        removed.set(scope, [...(removed.get(scope) ?? []), ...found]);
        return store.remove(scope, id, signal);
      },
    }),
  },
  {
    id: "stored-form/id-of-the-text",
    flaw: "Knows a record by the first id that it finds in it, and gives it another where that is none of its own.",
    kills: { "stored-form/kept": "twice" },
    spares: ["framing/line-breaks", "idempotency/capture-twice"],
    store: (store) => ({
      ...store,
      put: (scope, record, signal) =>
        store.put(scope, record.text.includes('"id":') ? { ...record, id: crypto.randomUUID() } : record, signal),
    }),
  },
];

function reading(
  store: RecordStore,
  change: (records: readonly StoredRecord[]) => readonly StoredRecord[],
): RecordStore {
  return { ...store, list: async (scope, signal) => change(await store.list(scope, signal)) };
}

export const storedForm: Family = defineFamily({
  name: "stored-form",
  clauses: [
    {
      id: "MEM-FRM-06",
      level: "MUST",
      profile: "base",
      sentence:
        "A text that holds a piece of the form in which memories are stored is kept whole or refused, and changes no other memory, forgotten or not.",
      source: "P2, P7, P10, C12",
    },
  ],
  checks: [kept],
  mutants,
});
