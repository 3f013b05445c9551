/**
 * Bounds: what a provider gives a model has an end, whatever it was told before. Public providers bound all entries but the
 * first, trust a service's own limit, cut in the middle of a sentence without saying so, or pass on a megabyte from a tool.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import { ProviderThrew } from "../drive/handle.ts";
import { admitsFailure } from "../drive/operations.ts";
import type { Person } from "../drive/person.ts";
import { schemaRefuses } from "../drive/tool-input.ts";
import { defineFamily, type Family } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { boundsMutants } from "./bounds-mutants.ts";

/** In UTF-16 code units: far more than anybody should put into a prompt. */
const mostUnits = 100_000;
const unbounded =
  "The texts that are returned are not counted here, on the client's side: only the service's limit holds.";

const recallBound = defineCheck({
  id: "bounds/recall",
  clause: "MEM-BND-01",
  title: "However much is stored, recall stays within 100,000 characters",
  reasons: { unbounded, nothing: "With much stored it recalls nothing at all." },
  async run(bench, fail) {
    const { person, written } = await filled(bench);
    const newest = written.at(-1);
    if (newest === undefined) return bench.notApplicable("It accepts no memory of a thousand characters.");
    const { length } = await person.recalls(newest.query);
    if (length > mostUnits) fail("unbounded", `It recalled ${length} characters of ${written.length} memories.`);
    if (length === 0) fail("nothing", `It recalled nothing of ${written.length} memories.`);
  },
});

const oversized = defineCheck({
  id: "bounds/oversized-entry",
  clause: "MEM-BND-02",
  title: "One huge memory is refused, dropped or bounded, and what was there is still there",
  reasons: {
    unbounded: "The bound counts entries, or begins with the second: one that is longer than all of it gets through.",
    lost: "The huge one pushed out what was there, or broke the store.",
    unusable: "After it nothing can be written or recalled any more.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const person = bench.someone(handle);
      const [kept, huge, later] = [bench.canary(), bench.canary(), bench.canary()];
      await person.write(kept.text, { path });
      await writes(person, longText(huge, 200_000), path);
      const { length } = await person.recalls(huge.query);
      if (length > mostUnits) fail("unbounded", `It recalled ${length} characters of one memory, written by ${path}.`);
      if (!(await keeps(person, kept, huge)))
        fail("lost", `An earlier memory was not recalled after a huge one by ${path}.`);
      const afterwards = await bench.outcome(() => person.write(later.text, { path }));
      if (afterwards.state !== "fulfilled" || !(await keeps(person, later, huge)))
        fail("unusable", `A short memory could not be written by ${path} after a huge one.`);
    }
  },
});

const notCut = defineCheck({
  id: "bounds/not-cut-silently",
  clause: "MEM-BND-03",
  title: "A long memory comes back whole, says that it was cut, or was refused",
  reasons: { cut: "The end of a long text is dropped, on the way in or out, with nothing that says so." },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const person = bench.someone(handle);
      const [head, tail] = [bench.canary(), bench.canary()];
      await writes(person, `${longText(head, 10_000)} ${tail.text}`, path);
      const recalled = await person.recalls(head.query);
      if (!recalled.toLowerCase().includes(head.word)) continue;
      // In parts that are found one by one nothing is lost.
      const whole = recalled.toLowerCase().includes(tail.word) || (await person.knows(tail));
      if (!whole && !saysCut(recalled))
        fail("cut", `Of a long memory written by ${path} the beginning was recalled, and not the end.`);
    }
  },
});

const toolOutput = defineCheck({
  id: "bounds/tool-output",
  clause: "MEM-BND-04",
  title: "However much is stored, the search tool answers within 100,000 characters",
  needs: ["search-tool"],
  reasons: { unbounded },
  async run(bench, fail) {
    const { person, written } = await filled(bench);
    if (written.length === 0) bench.notApplicable("It accepts no memory of a thousand characters.");
    const answer = JSON.stringify(await person.search("What was chosen? filler")) ?? "";
    if (answer.length > mostUnits)
      fail("unbounded", `It found ${answer.length} characters of ${written.length} memories.`);
  },
});

const toolInput = defineCheck({
  id: "bounds/tool-input",
  clause: "MEM-BND-05",
  title: "A megabyte for a tool is refused or bounded, and not in silence",
  needs: ["tools"],
  reasons: {
    silent: "The text is dropped, and the tool answers as if it had been saved, with no event.",
    unbounded,
    lost: "The megabyte pushed out what was there, or broke the store.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const person = bench.someone(handle);
    const [kept, huge] = [bench.canary(), bench.canary()];
    await person.write(kept.text);
    const tools = handle.guess(await person.toolset());
    if (tools.save === undefined && tools.search === undefined) bench.notApplicable("None of its tools takes a text.");
    if (tools.save !== undefined) {
      const events = handle.events.length;
      const outcome = await calls(bench, person, tools.save.name, tools.save.input(longText(huge, 1_000_000)));
      const isTold = outcome.state !== "fulfilled" || admitsFailure(outcome.value) || handle.events.length > events;
      const { length } = await person.recalls(huge.query);
      if (length > mostUnits) fail("unbounded", `It recalled ${length} characters of one memory.`);
      if (!isTold && !(await isSomewhere(person, huge)))
        fail("silent", "The tool took a megabyte, stored nothing, and did not say so.");
    }
    if (tools.search !== undefined) {
      const query = `${kept.query} ${longText(huge, 1_000_000)}`;
      const outcome = await calls(bench, person, tools.search.name, tools.search.input(query));
      const { length } = (outcome.state === "fulfilled" && JSON.stringify(outcome.value)) || "";
      if (length > mostUnits) fail("unbounded", `The search tool answered ${length} characters.`);
    }
    if (!(await keeps(person, kept, huge))) fail("lost", "An earlier memory was not recalled afterwards.");
  },
});

export const bounds: Family = defineFamily({
  name: "bounds",
  clauses: [
    must("01", "Recalled text has a bound that the provider keeps by itself, of at most 100,000 UTF-16 code units."),
    must("02", "One memory beyond every bound is refused, dropped or bounded, and takes nothing with it."),
    must("03", "Nothing is cut silently: what was stored is recalled whole, or the text says that it was cut."),
    must(
      "04",
      "What a tool answers has a bound that the provider keeps by itself, of at most 100,000 UTF-16 code units.",
    ),
    must("05", "A tool's input beyond every bound is refused or bounded, and the tool says so or an event does."),
  ],
  checks: [recallBound, oversized, notCut, toolOutput, toolInput],
  mutants: boundsMutants,
});

function must(number: string, sentence: string) {
  return { id: `MEM-BND-${number}`, level: "MUST", profile: "base", sentence, source: "P6" } as const;
}

/** Somebody with as many memories as make more than is ever recalled, or as many as were accepted. */
async function filled(bench: Bench): Promise<{ readonly person: Person; readonly written: readonly Canary[] }> {
  const person = bench.someone(await bench.open());
  const written: Canary[] = [];
  const write = async (length: number): Promise<boolean> => {
    const memory = bench.canary();
    const { state, ...outcome } = await writes(person, longText(memory, length));
    const isTaken = state === "fulfilled" && !admitsFailure(Object(outcome).value);
    if (isTaken) written.push(memory);
    return isTaken;
  };
  for (const length of [1_900, 950]) {
    written.length = 0;
    if (!(await write(length)) || !(await isSomewhere(person, written[0]))) continue;
    while (written.length * length < 1.2 * mostUnits && (await write(length)));
    break;
  }
  return { person, written };
}

/** Begins as the memory does; the rest is words that mean nothing, and that no secret looks like. */
function longText({ text, topic }: Canary, length: number): string {
  return `${text} ${`The filler about ${topic} goes on. `.repeat(Math.ceil(length / 30))}`.slice(0, length).trimEnd();
}

/** A write that may be refused, by the tool's own schema too. */
export async function writes(
  person: Person,
  text: string,
  path: WritePath | undefined = person.handle.facts?.writePaths[0],
): Promise<Outcome<unknown>> {
  const { handle } = person;
  if (path === "tool") {
    const tools = await person.toolset();
    const { save } = handle.guess(tools);
    const tool = tools[save?.name ?? ""];
    if (tool !== undefined && (await schemaRefuses(tool, save?.input(text)))) return refused;
  }
  try {
    return { state: "fulfilled", value: (await person.write(text, path === undefined ? {} : { path })).result };
  } catch (error) {
    if (error instanceof ProviderThrew) return { state: "rejected", error: error.error };
    throw error;
  }
}

/** A call as a host makes it, which asks the tool's schema first. */
async function calls(bench: Bench, person: Person, name: string, input: unknown): Promise<Outcome<unknown>> {
  const tool = (await person.toolset())[name];
  if (tool !== undefined && (await schemaRefuses(tool, input))) return refused;
  return bench.outcome(() => person.call(name, input));
}

const refused: Outcome<never> = { state: "rejected", error: new TypeError("The tool's schema refuses it.") };

async function isSomewhere(person: Person, memory: Canary | undefined): Promise<boolean> {
  if (memory === undefined) return false;
  const { query, word } = memory;
  return (await person.readings(query)).some(({ text }) => text.toLowerCase().includes(word));
}

/** Whether a memory is recalled; where the huge one is shown, it may have taken the room. */
async function keeps(person: Person, memory: Canary, huge: Canary): Promise<boolean> {
  const text = (await person.recalls(memory.query)).toLowerCase();
  return text.includes(memory.word) || text.includes(huge.word) || isSomewhere(person, memory);
}

function saysCut(text: string): boolean {
  return /…|\.\.\.|\b(cut|truncated|omitted|more|shortened|abridged|abbreviated|clipped|trimmed|partial|excerpt)\b/i.test(
    text,
  );
}
