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

const distance = 50;

const reasons = {
  back: "Of earlier operations it knows only the latest few, or what is known of them is forgotten by each that follows.",
} as const;

const tool = defineCheck({
  id: "distant-repeats/tool",
  clause: "MEM-DRP-01",
  title: `A call comes again after what it saved was forgotten, or erased, and ${distance} other calls`,
  needs: ["save-tool"],
  reasons,
  async run(bench, fail) {
    const { person, gone } = await removedFrom(bench, "tool");
    await otherCalls(bench, person);
    await mustStayGone(bench, { person, gone, fail });
  },
});

const capture = defineCheck({
  id: "distant-repeats/capture",
  clause: "MEM-DRP-02",
  title: `A turn is captured again after what it said was forgotten, or erased, and ${distance} other turns`,
  needs: ["capture"],
  reasons,
  async run(bench, fail) {
    const { person, gone } = await removedFrom(bench, "capture");
    await otherTurns(bench, person);
    await mustStayGone(bench, { person, gone, fail });
  },
});

export const distantRepeats: Family = defineFamily({
  name: "distant-repeats",
  clauses: [
    {
      id: "MEM-DRP-01",
      level: "MUST",
      profile: "strict",
      sentence: `A tool's write that comes again after its memory was forgotten or erased brings nothing back, ${distance} other calls later.`,
      source: "P2, P10",
    },
    {
      id: "MEM-DRP-02",
      level: "MUST",
      profile: "strict",
      sentence: `A capture that comes again after its memory was forgotten or erased brings nothing back, ${distance} other turns later.`,
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
      id: "distant-repeats/latest-operations",
      flaw: "Knows the latest 20 operations.",
      kills: {
        "distant-repeats/tool": "back",
        "distant-repeats/capture": "back",
      },
      spares: ["tool-calls/after-forget", "late-repeats/after-forget", "erasing/late-repeat"],
      store: (store) => {
        const operations: string[] = [];
        const known = forgetful(store, (scope, id) => operations.includes(`${scope} ${id}`));
        return {
          ...known,
          async put(scope, record, signal) {
            const outcome = await known.put(scope, record, signal);
            operations.push(`${scope} ${record.id}`);
            if (operations.length > 20) operations.shift();
            return outcome;
          },
        };
      },
    },
  ],
});

interface Gone {
  readonly written: Written;
  readonly memory: Canary;
  readonly how: "forgotten" | "erased";
}

/** Somebody whose memories were written in this way, shown, and removed in the ways that there are. */
async function removedFrom(
  bench: Bench,
  path: WritePath,
): Promise<{ readonly person: Person; readonly gone: readonly Gone[] }> {
  const { forgetHow, maintenance, capabilities } = bench.facts;
  const person = bench.someone(await bench.open());
  const told = async (): Promise<Omit<Gone, "how">> => {
    const memory = bench.canary();
    const written = await person.write(memory.text, { path });
    if (!(await person.knows(memory))) bench.notApplicable(`What is written by ${path} is not recalled.`);
    return { written, memory };
  };
  const gone: Gone[] = [];
  if (maintenance && capabilities.erase === "immediate") {
    gone.push({ ...(await told()), how: "erased" });
    await person.erase();
  }
  if (forgetHow !== undefined) {
    const { written, memory } = await told();
    await forget(bench, person, memory, written.result);
    gone.push({ written, memory, how: "forgotten" });
  }
  return gone.length > 0 ? { person, gone } : bench.notApplicable("Nothing that it remembers can be removed at once.");
}

/** Saves, each removed again where that can be done, so that the room does not run out. */
async function otherCalls(bench: Bench, person: Person): Promise<void> {
  let calls = 0;
  while (calls < distance) {
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
async function otherTurns(bench: Bench, person: Person): Promise<void> {
  for (let count = 1; count <= distance; count += 1) {
    const memory = bench.canary();
    await bench.outcome(() => person.write(`${memory.topic} ${memory.word}`, { path: "capture" }));
    if (count % 5 === 0 && bench.facts.forgetHow !== undefined)
      await bench.outcome(() => person.again().forget(memory));
  }
}

interface Staying {
  readonly person: Person;
  readonly gone: readonly Gone[];
  readonly fail: Fail<keyof typeof reasons>;
}

/** Ends the check where by now nothing is remembered at all. */
async function mustStayGone(bench: Bench, { person, gone, fail }: Staying): Promise<void> {
  for (const { written, memory, how } of gone) {
    await bench.outcome(() => person.repeat(written));
    if (pathShowing(await person.readings(memory.query), memory.word) !== undefined)
      fail("back", `What was ${how} came again by ${written.path} after ${distance} others, and was back.`);
  }
  const [last, { path }] = [bench.canary(), gone[0]?.written ?? {}];
  await bench.outcome(() => person.write(last.text, path === undefined ? {} : { path }));
  if (!(await person.knows(last))) bench.notApplicable("It remembers nothing any more after so many writes.");
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
