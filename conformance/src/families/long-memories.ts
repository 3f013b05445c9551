/**
 * Long memories. Who stores a long text in pieces, or keeps what does not fit somewhere else, has more than one thing to
 * remove when it is forgotten, and more than one in which a person is named.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { forget } from "../drive/forgets.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";
import { inPieces, isPiece } from "../reference/in-pieces.ts";
import { referenceProvider } from "../reference/provider.ts";

/** The longest that is taken is tried, in UTF-16 code units. */
const lengths = [8_000, 1_900, 900];

const forgotten = defineCheck({
  id: "forgetting/long",
  clause: "MEM-FGT-12",
  title: "Of a long memory that was forgotten, neither its beginning, its middle nor its end is shown or held",
  needs: ["forget-tool"],
  reasons: {
    shown: "Only the first piece of a text that is stored in pieces is forgotten.",
    held: "Pieces of a forgotten text stay in the backend, where nothing leads to them any more.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const { person, words, memory, result } = await longMemory(bench, handle);
    await forget(bench, person, memory, result);
    const { path, isHeld } = await whatIsLeft(bench, person, words);
    if (path !== undefined) fail("shown", `Its ${path} showed a part of a long memory that had been forgotten.`);
    if (isHeld) fail("held", "The backend held a part of a long memory that had been forgotten.");
  },
});

const erased = defineCheck({
  id: "erasing/long",
  clause: "MEM-ERS-07",
  title: "Of a long memory that was erased, neither its beginning, its middle nor its end is shown or held",
  needs: ["erase"],
  reasons: {
    shown: "Only the first piece of a text that is stored in pieces is erased.",
    held: "Pieces of an erased text stay in the backend, where nothing leads to them any more.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase !== "immediate")
      bench.notApplicable("What it erases is gone at some later time.");
    const handle = await bench.open();
    const { person, words } = await longMemory(bench, handle);
    await person.erase();
    const { path, isHeld } = await whatIsLeft(bench, person, words);
    if (path !== undefined) fail("shown", `Its ${path} showed a part of a long memory that had been erased.`);
    if (isHeld) fail("held", "The backend held a part of a long memory that had been erased.");
  },
});

export const longMemories: Family = defineFamily({
  name: "long memories",
  clauses: [
    {
      id: "MEM-FGT-12",
      level: "MUST",
      profile: "base",
      sentence: "However long a memory is, forgetting it removes all of it.",
      source: "P10",
    },
    {
      id: "MEM-ERS-07",
      level: "MUST",
      profile: "base",
      sentence: "However long a memory is, an erase removes all of it.",
      source: "P10",
    },
  ],
  checks: [forgotten, erased],
  mutants: [
    {
      id: "forgetting/first-piece",
      flaw: "Stores a long text in pieces, and forgets the first.",
      kills: { "forgetting/long": "shown" },
      spares: ["forgetting/gone", "erasing/nothing-left"],
      store: (store) => inPieces(store, { removes: "first", lists: "pieces" }),
    },
    {
      id: "erasing/first-pieces",
      flaw: "Stores a long text in pieces, and erases the first of each.",
      kills: { "erasing/long": "shown" },
      spares: ["forgetting/gone", "erasing/nothing-left"],
      provider: (_, options) => {
        const inner = inPieces(options.store, { removes: "all", lists: "pieces" });
        const pieces = referenceProvider({ ...options, store: inner });
        return withMaintenance(pieces, () => ({
          erase: async ({ key, signal = new AbortController().signal }) => {
            const firsts = (await inner.list(key, signal)).filter(({ id }) => !isPiece(id));
            for (const { id } of firsts) await options.store.remove(key, id, signal);
            return { erased: firsts.length, status: "done" };
          },
        }));
      },
    },
    {
      id: "forgetting/orphaned-pieces",
      flaw: "Stores a long text in pieces, and shows none without the first, which is all that it removes.",
      kills: { "forgetting/long": "held", "erasing/long": "held" },
      spares: ["forgetting/gone", "erasing/nothing-left"],
      store: (store) => inPieces(store, { removes: "first", lists: "joined" }),
    },
  ],
});

interface LongMemory {
  readonly person: Person;
  readonly memory: Canary;
  /** At its beginning, in the middle, and at its end. */
  readonly words: readonly Canary[];
  readonly result: unknown;
}

/** Somebody with a memory that is as long as it may be. */
async function longMemory(bench: Bench, handle: Handle): Promise<LongMemory> {
  for (const length of lengths) {
    const person = bench.someone(handle);
    const words = [bench.canary(), bench.canary(), bench.canary()] as const;
    const [first, middle, last] = words;
    const filling = "The garden was quiet and the tea was warm. ".repeat(length / 80);
    const text = `${first.text} ${filling}${middle.text} ${filling}${last.text}`;
    const written = await bench.outcome(() => person.write(text));
    if (written.state === "fulfilled" && (await person.knows(first)))
      return { person, words, memory: first, result: written.value.result };
  }
  return bench.notApplicable(`It takes no memory of ${lengths.at(-1)} characters.`);
}

async function whatIsLeft(
  bench: Bench,
  person: Person,
  words: readonly Canary[],
): Promise<{ readonly path: string | undefined; readonly isHeld: boolean }> {
  const readings = await person.readings(words.map(({ query }) => query).join(" "));
  const path = words.map(({ word }) => pathShowing(readings, word)).find((each) => each !== undefined);
  if (bench.facts.backend === "none") return { path, isHeld: false };
  const held = await Promise.all(words.map(({ word }) => bench.holds(word)));
  return { path, isHeld: held.includes(true) };
}
