/** Whether a secret got through somewhere, and what that says about how it is looked for. */
import type { Bench } from "../bench.ts";
import type { Fail } from "../check.ts";
import type { WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";
import type { Person } from "./person.ts";
import { someSecret } from "./secret-samples.ts";

export interface WithSecret {
  readonly what: string;
  readonly core: string;
  /** The secret with what surrounds it. */
  readonly form: string;
}

export interface Trace extends WithSecret {
  readonly where: string;
}

/** Causes that have nothing to do with where a secret stands in a text. */
export const otherCauses = {
  "depends-on-earlier-calls":
    "The same text is refused at one time and stored at another: a regular expression with the g flag keeps its lastIndex between calls of test().",
  unchecked:
    "A secret that stands plainly in a text gets through too: nothing is looked for at all, or only after it was sent.",
};

/** Writes them all, which may be refused by throwing or dropped in silence. Answers the first that left a trace, and where. */
export async function traceAfter(
  bench: Bench,
  person: Person,
  path: WritePath,
  written: readonly WithSecret[],
): Promise<Trace | undefined> {
  const memories = written.map((each) => ({ ...each, memory: bench.canary() }));
  for (const { memory, form } of memories) await bench.outcome(() => person.write(`${memory.text} ${form}`, { path }));
  for (const { memory, what, core, form } of memories) {
    const where = await traceOf(bench, person, core, memory.query);
    if (where !== undefined) return { what, core, form, where };
  }
  return undefined;
}

/** Where something of the secret is found. */
export async function traceOf(bench: Bench, person: Person, core: string, query: string): Promise<string | undefined> {
  if (bench.facts.backend !== "none") {
    if (await bench.holds(core)) return "the backend";
    if (bench.wasSent(core)) return "sent";
  }
  // A backend that holds nothing of it has nothing to show; without one, every read path is asked.
  const readings = bench.facts.backend === "none" ? await person.readings(query) : [await person.recalls(query)];
  const shown = readings.some((reading) => (typeof reading === "string" ? reading : reading.text).includes(core));
  return shown ? "what it recalled" : undefined;
}

/** Whether a text that got through is refused when others write it: once more, and once again after that. */
export async function isRefusedLater(
  bench: Bench,
  handle: Handle,
  path: WritePath,
  { form, core }: WithSecret,
): Promise<boolean> {
  for (const _ of ["once more", "once again"]) {
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await bench.outcome(() => person.write(`${memory.text} ${form}`, { path }));
    // The secret itself is there already, so what stands beside it tells whether this was taken too.
    if ((await traceOf(bench, person, memory.word, memory.query)) !== undefined) continue;
    if (!(await person.recalls(memory.query)).includes(core)) return true;
  }
  return false;
}

/** Fails for a cause that is not what the check is about, where there is one. */
export async function blameOtherCauses(
  bench: Bench,
  handle: Handle,
  path: WritePath,
  trace: WithSecret,
  fail: Fail<keyof typeof otherCauses>,
): Promise<void> {
  if (await isRefusedLater(bench, handle, path, trace))
    fail("depends-on-earlier-calls", `By ${path}, a text that was stored is refused when somebody else writes it.`);
  const { kind, text, core } = someSecret(60);
  const plain = await traceAfter(bench, bench.someone(handle), path, [
    { what: kind, core, form: `The key is ${text}` },
  ]);
  if (plain !== undefined) fail("unchecked", `By ${path}, ${kind} that stands plainly in a text got through too.`);
}

export async function keepsHarmless(bench: Bench, handle: Handle, path: WritePath): Promise<boolean> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.write(memory.text, { path });
  return person.knows(memory);
}
