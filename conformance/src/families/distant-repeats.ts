/**
 * A repeat that comes late, when much has happened since. What is known of earlier operations is kept in a list with an
 * end: where that is near, an afternoon's work pushes out what would have kept the forgotten from coming back.
 */
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import { forget } from "../drive/forgets.ts";
import type { Person, Written } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";

const distance = 200;
/** With these, more than a list of the latest operations usually holds. */
const further = 100;

const reasons = {
  back: "Of earlier operations it knows only the latest few, or what is known of them is forgotten by each that follows.",
  "back-when-full":
    "What is known of earlier operations has an end, and once it is full the latest are left out of it.",
} as const;

const tool = defineCheck({
  id: "distant-repeats/tool",
  clause: "MEM-DRP-01",
  title: `A call comes again after what it saved was forgotten, or erased, and ${distance} other calls; a later one at once`,
  needs: ["save-tool"],
  reasons,
  run: (bench, fail) => repeated(bench, { path: "tool", others: otherCalls, fail }),
});

const capture = defineCheck({
  id: "distant-repeats/capture",
  clause: "MEM-DRP-02",
  title: `A turn is captured again after what it said was forgotten, or erased, and ${distance} other turns; a later one at once`,
  needs: ["capture"],
  reasons,
  run: (bench, fail) => repeated(bench, { path: "capture", others: otherTurns, fail }),
});

export const distantRepeats: Family = defineFamily({
  name: "distant-repeats",
  clauses: [
    {
      id: "MEM-DRP-01",
      level: "MUST",
      profile: "strict",
      sentence: `A tool's write that comes again after its memory was forgotten or erased brings nothing back, ${distance} other calls later, nor right after ${distance + further} others.`,
      source: "P2, P10",
    },
    {
      id: "MEM-DRP-02",
      level: "MUST",
      profile: "strict",
      sentence: `A capture that comes again after its memory was forgotten or erased brings nothing back, ${distance} other turns later, nor right after ${distance + further} others.`,
      source: "P2, P10",
    },
  ],
  checks: [tool, capture],
  mutants: [
    {
      id: "distant-repeats/latest-removals",
      flaw: "Knows the latest 8 that it removed.",
      kills: { "distant-repeats/tool": "back", "distant-repeats/capture": "back" },
      spares: ["tool-calls/after-forget", "late-repeats/after-forget", "erasing/late-repeat"],
      store: (store) => {
        const removed: string[] = [];
        return {
          ...forgetful(store, (scope, id) => removed.lastIndexOf(`${scope} ${id}`) >= removed.length - 8),
          async remove(scope, id, signal) {
            const answer = await store.remove(scope, id, signal);
            if (answer) removed.push(`${scope} ${id}`);
            return answer;
          },
        };
      },
    },
    {
      id: "distant-repeats/first-operations",
      flaw: "Knows the first 128 operations, and none that came when the list was full.",
      kills: { "distant-repeats/tool": "back-when-full", "distant-repeats/capture": "back-when-full" },
      spares: ["tool-calls/after-forget", "late-repeats/after-forget", "erasing/late-repeat"],
      store: (store) => knowing(store, (operations) => operations.slice(0, 128)),
    },
    {
      id: "distant-repeats/latest-operations",
      flaw: "Knows the latest 100 operations.",
      kills: { "distant-repeats/tool": "back", "distant-repeats/capture": "back" },
      spares: ["tool-calls/after-forget", "late-repeats/after-forget", "erasing/late-repeat"],
      store: (store) => knowing(store, (operations) => operations.slice(-100)),
    },
  ],
});

interface Gone {
  readonly written: Written;
  readonly memory: Canary;
  readonly how: "forgotten" | "erased";
}

interface Repeating {
  readonly path: WritePath;
  readonly others: (bench: Bench, person: Person, most: number) => Promise<void>;
  readonly fail: Fail<keyof typeof reasons>;
}

async function repeated(bench: Bench, { path, others, fail }: Repeating): Promise<void> {
  const person = bench.someone(await bench.open());
  const gone = [...(await erasedFrom(bench, person, path)), ...(await forgottenFrom(bench, person, path))];
  if (gone.length === 0) bench.notApplicable("Nothing that it remembers can be removed at once.");
  await others(bench, person, distance);
  const old = await broughtBack(bench, person, gone);
  if (old !== undefined) fail("back", `What was ${old} came again by ${path} after ${distance} others, and was back.`);
  await others(bench, person, further);
  const forgotten = await forgottenFrom(bench, person, path); // an erase may make room again
  const late = await broughtBack(
    bench,
    person,
    forgotten.length > 0 ? forgotten : await erasedFrom(bench, person, path),
  );
  if (late !== undefined)
    fail(
      "back-when-full",
      `After ${distance + further} others, what was just ${late} came again by ${path}, and was back.`,
    );
  const last = bench.canary();
  await bench.outcome(() => person.write(last.text, { path }));
  if (!(await person.knows(last))) bench.notApplicable("It remembers nothing any more after so many writes.");
}

/** A memory that was written in this way, shown, and erased with everything else; none where that cannot be done. */
async function erasedFrom(bench: Bench, person: Person, path: WritePath): Promise<readonly Gone[]> {
  const { maintenance, capabilities } = bench.facts;
  if (!maintenance || capabilities.erase !== "immediate") return [];
  const told = await shownTo(bench, person, path);
  await person.erase();
  return [{ ...told, how: "erased" }];
}

/** A memory that was written in this way, shown, and forgotten; none where that cannot be done. */
async function forgottenFrom(bench: Bench, person: Person, path: WritePath): Promise<readonly Gone[]> {
  if (bench.facts.forgetHow === undefined) return [];
  const told = await shownTo(bench, person, path);
  await forget(bench, person, told.memory, told.written.result);
  return [{ ...told, how: "forgotten" }];
}

async function shownTo(bench: Bench, person: Person, path: WritePath): Promise<Omit<Gone, "how">> {
  const memory = bench.canary();
  const written = await bench.outcome(() => person.write(memory.text, { path }));
  if (written.state !== "fulfilled" || !(await person.knows(memory)))
    return bench.notApplicable(`What is written by ${path} is not recalled, or there is no room left for it.`);
  return { written: written.value, memory };
}

/** Saves, each removed again where that can be done, so that the room does not run out. */
async function otherCalls(bench: Bench, person: Person, most: number): Promise<void> {
  let calls = 0;
  while (calls < most) {
    const { text, word } = { ...bench.canary(), text: `Note ${calls}.` };
    const saved = await bench.outcome(() => person.save(text));
    calls += 1;
    if (saved.state !== "fulfilled" || bench.facts.forgetHow === undefined) continue;
    const { forget: tool } = person.handle.guess(await person.toolset());
    const known = tool
      ?.inputs({ text, word, saved: saved.value, recalled: "", found: undefined })
      .find(({ how }) => how === bench.facts.forgetHow || how.endsWith("what the save tool answered"));
    if (tool === undefined || known === undefined) continue;
    await bench.outcome(() => person.call(tool.name, known.input));
    calls += 1;
  }
}

/** Turns, some of which are forgotten again. */
async function otherTurns(bench: Bench, person: Person, most: number): Promise<void> {
  for (let count = 1; count <= most; count += 1) {
    const memory = bench.canary();
    await bench.outcome(() => person.write(`${memory.topic} ${memory.word}`, { path: "capture" }));
    if (count % 20 === 0 && bench.facts.forgetHow !== undefined)
      await bench.outcome(() => person.again().forget(memory));
  }
}

/** How that was removed which its repeated write has brought back. */
async function broughtBack(bench: Bench, person: Person, gone: readonly Gone[]): Promise<Gone["how"] | undefined> {
  for (const { written, memory, how } of gone) {
    await bench.outcome(() => person.repeat(written));
    if (pathShowing(await person.readings(memory.query), memory.word) !== undefined) return how;
  }
  return undefined;
}

/** Knows these of the operations that wrote, oldest first. */
function knowing(store: RecordStore, kept: (operations: readonly string[]) => readonly string[]): RecordStore {
  let operations: readonly string[] = [];
  const known = forgetful(store, (scope, id) => operations.includes(`${scope} ${id}`));
  return {
    ...known,
    async put(scope, record, signal) {
      const outcome = await known.put(scope, record, signal);
      operations = kept([...operations, `${scope} ${record.id}`]);
      return outcome;
    },
  };
}

/** Knows of what was removed only what is still known; the rest comes back under another id. */
function forgetful(store: RecordStore, isKnown: (scope: string, id: string) => boolean): RecordStore {
  return {
    ...store,
    async put(scope, record, signal) {
      const outcome = await store.put(scope, record, signal);
      if (outcome !== "gone" || isKnown(scope, record.id)) return outcome;
      return store.put(scope, { ...record, id: crypto.randomUUID() }, signal);
    },
  };
}
