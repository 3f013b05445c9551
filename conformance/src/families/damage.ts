/**
 * Files that were damaged at rest. Real stores took what they could not read for nothing, showed what was left as if it
 * were all, and kept the copy that they had set aside when a person asked to have everything erased.
 */
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import {
  asItWas,
  cutEnd,
  cutInHalf,
  type Damage,
  damage,
  filesHolding,
  garbledStart,
  isJson,
  readPaths,
  type StoredFile,
  unreadable,
} from "../drive/damaged-files.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { damageMutants } from "./damage-mutants.ts";

const reading = defineCheck({
  id: "damage/reading",
  clause: "MEM-DMG-01",
  title: "A file of a person's memory cannot be understood any more, and all is asked for",
  needs: ["backend", "durable"],
  reasons: {
    part: "What cannot be read is left out without a word: fail, or say in the text or by an event that it is missing.",
    nothing: "What cannot be read is taken for a memory that is empty.",
  },
  async run(bench, fail) {
    for (const { change, place } of [
      { change: unreadable, place: 0 },
      { change: unreadable, place: -1 },
      { change: cutInHalf, place: 0 },
    ]) {
      const { ann, memories, query } = await remembering(bench);
      const whole = new Map<string, string>();
      const before = await bench.open();
      for (const [path, read] of readPaths(ann.again(before), query)) whole.set(path, await read());
      await before.close();
      const file = (await filesHolding(bench, memories, [])).at(place);
      // Half of a text may be all that somebody wrote; half of a JSON document never is.
      if (file === undefined || (change === cutInHalf && !isJson(file))) continue;
      await damage(file, change);
      const opened = await bench.outcome(() => bench.open());
      // Where even that fails, nobody is told anything wrong.
      if (opened.state === "fulfilled")
        await mustTell(bench, { ann: ann.again(opened.value), before, memories, query, whole, fail });
      await damage(file, asItWas); // it may be everybody's
    }
  },
});

interface Asked {
  readonly ann: Person;
  /** The instance that read before the damage. */
  readonly before: Handle;
  readonly memories: readonly Canary[];
  readonly query: string;
  /** What each way to read showed before. */
  readonly whole: ReadonlyMap<string, string>;
  readonly fail: Fail<"part" | "nothing">;
}

async function mustTell(bench: Bench, { ann, before, memories, query, whole, fail }: Asked): Promise<void> {
  for (const [path, read] of readPaths(ann, query)) {
    const outcome = await bench.outcome(read);
    const known = whole.get(path) ?? "";
    if (outcome.state !== "fulfilled" || saysMore(outcome.value, known)) continue;
    if (ann.handle.events.some(({ code }) => !before.events.some((event) => event.code === code))) continue;
    const shown = memories.filter(({ word }) => known.includes(word));
    const left = shown.filter(({ word }) => outcome.value.includes(word));
    if (left.length === 0 && shown.length > 0)
      fail("nothing", `Its ${path} answered as if there were no memories, and nothing said that a file was damaged.`);
    if (left.length < shown.length)
      fail(
        "part",
        `Its ${path} showed ${left.length} of ${shown.length} memories, and nothing said that any is missing.`,
      );
  }
}

const erase = defineCheck({
  id: "damage/erase",
  clause: "MEM-DMG-02",
  title: "A person is erased whose files are damaged, were perhaps set aside, and perhaps put back from a backup",
  needs: ["erase", "backend", "durable"],
  reasons: {
    left: "The damaged file, or a copy that was set aside, outlives the erase, which says that it is done.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase === "requested") bench.notApplicable("Its service erases later, as declared.");
    let erased = 0;
    for (const change of [garbledStart, cutEnd]) {
      for (const since of ["damaged", "used", "put back"] as const) {
        const told = await remembering(bench);
        const { ann, memories, query } = told;
        const files = await damageAll(bench, told, change);
        const held = await wordsHeld(bench, memories);
        if (held.length === 0) continue;
        const opened = await bench.outcome(() => bench.open());
        if (opened.state !== "fulfilled") continue;
        const there = ann.again(opened.value);
        if (since !== "damaged") await use(bench, there, query);
        if (since === "put back") {
          for (const file of files) await damage(file, asItWas);
          const outcome = await bench.outcome(() => there.recalls(query));
          const isUsedAgain = outcome.state === "fulfilled" && held.some(({ word }) => outcome.value.includes(word));
          if (!isUsedAgain) continue;
        }
        const outcome = await bench.outcome(() =>
          there.maintain("erase", (maintenance, key) => maintenance.erase({ key })),
        );
        if (outcome.state !== "fulfilled" || outcome.value.status !== "done") continue;
        erased += 1;
        if ((await wordsHeld(bench, held)).length > 0)
          fail("left", "After an erase that was done, a file still held words of the person.");
      }
    }
    if (erased === 0) bench.notApplicable("It erases nothing that is damaged, and says so.");
  },
});

const others = defineCheck({
  id: "damage/others",
  clause: "MEM-DMG-03",
  title: "A person's files are damaged, then used, and somebody else goes on",
  needs: ["backend", "durable"],
  reasons: {
    "others-fail": "One scope's damage is met by everybody: a shared list, or a look at all files, fails.",
    "others-lost": "Damage in one scope is mended by starting anew for everybody.",
  },
  async run(bench, fail) {
    for (const change of [unreadable, garbledStart]) {
      const told = await remembering(bench);
      const { ann, ben, kept, query } = told;
      const next = bench.canary();
      await damageAll(bench, told, change);
      const there = ann.again(await bench.open());
      await use(bench, there, query);
      await bench.outcome(() => there.erase());
      const later = ben.again(await bench.open());
      const outcome = await bench.outcome(async () => {
        await later.write(next.text);
        return [await later.recalls(kept.query), await later.recalls(next.query)];
      });
      if (outcome.state !== "fulfilled") return fail("others-fail", "Somebody else's recall or write failed.");
      const [first = "", second = ""] = outcome.value;
      if (!first.includes(kept.word) || !second.includes(next.word))
        fail("others-lost", "Somebody else's memory was not recalled any more.");
    }
  },
});

export const damaged: Family = defineFamily({
  name: "damage",
  clauses: [
    {
      id: "MEM-DMG-01",
      level: "MUST",
      profile: "strict",
      sentence:
        "Where a stored file cannot be understood, a read fails, shows all the same, or says that something is missing.",
      source: "P4",
    },
    {
      id: "MEM-DMG-02",
      level: "MUST",
      profile: "base",
      sentence: "An erase of a scope with damaged files fails, or leaves none of its words in any file or copy.",
      source: "P10, P4",
    },
    {
      id: "MEM-DMG-03",
      level: "MUST",
      profile: "base",
      sentence: "Damage to the files of one scope changes nothing for another.",
      source: "P1, P4",
    },
  ],
  checks: [reading, erase, others],
  mutants: damageMutants,
});

interface Remembering {
  readonly ann: Person;
  readonly memories: readonly Canary[];
  /** About all of them. */
  readonly query: string;
  /** What somebody else told. */
  readonly kept: Canary;
  readonly ben: Person;
}

/** Two who are new, with what they told an instance that is closed by now. */
async function remembering(bench: Bench): Promise<Remembering> {
  if (bench.facts.backend !== "directory") bench.notApplicable("It keeps no files.");
  const handle = await bench.open();
  const ann = bench.someone(handle);
  const memories = [bench.canary(), bench.canary(), bench.canary()];
  for (const { text } of memories) await ann.write(text);
  const [ben, kept] = [bench.someone(handle), bench.canary()];
  await ben.write(kept.text);
  await handle.close();
  return { ann, memories, query: memories.map(({ query }) => query).join(" "), ben, kept };
}

/** Answers the files as they were. */
async function damageAll(
  bench: Bench,
  { memories, kept }: Remembering,
  change: Damage,
): Promise<readonly StoredFile[]> {
  const files = await filesHolding(bench, memories, [kept]);
  for (const file of files) await damage(file, change);
  return files;
}

/** Reads and writes, as far as that can be done; it may set aside what it cannot read, or begin anew. */
async function use(bench: Bench, person: Person, query: string): Promise<void> {
  for (const read of readPaths(person, query).values()) await bench.outcome(read);
  await bench.outcome(() => person.write(bench.canary().text));
}

async function wordsHeld(bench: Bench, memories: readonly Canary[]): Promise<readonly Canary[]> {
  const held: Canary[] = [];
  for (const memory of memories) if (await bench.holds(memory.word)) held.push(memory);
  return held;
}

const trouble =
  /damage|corrupt|unread|could ?n[o']t|can ?n[o']t|unable|incomplete|missing|omitted|lost|error|fail|\ufffd|\0|\\u0000/gi;

/** Whether a text speaks of trouble, or shows what is broken, where it did not before. */
function saysMore(text: string, before: string): boolean {
  return (text.match(trouble)?.length ?? 0) > (before.match(trouble)?.length ?? 0);
}
