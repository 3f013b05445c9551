/** How often a memory is shown. A provider may show one memory in several places, so what counts is what a single write gives. */
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";
import type { Person, Reading } from "./person.ts";

/** How often a word stands in what each read path shows. */
export type Copies = ReadonlyMap<string, number>;

/** What one write of one memory gives. Ends the check where what is written in this way cannot be read back. */
export async function copiesOfOne(bench: Bench, handle: Handle, path: WritePath): Promise<Copies> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.write(memory.text, { path });
  const copies = copiesIn(await person.readings(memory.query), memory);
  return isShown(copies) ? copies : bench.notApplicable(`What is written by ${path} is not read back as it was said.`);
}

/** How often a memory is there, compared with one that was written once. */
export async function timesKept(person: Person, memory: Canary, single: Copies): Promise<"never" | "once" | "more"> {
  const readings = await person.readings(memory.query);
  if (!isShown(copiesIn(readings, memory))) return "never";
  return standsMoreOften(readings, memory, single) ? "more" : "once";
}

/** Whether some read path shows a memory more often than one that was written once. */
export function standsMoreOften(readings: readonly Reading[], memory: Canary, single: Copies): boolean {
  return [...copiesIn(readings, memory)].some(([path, count]) => count > (single.get(path) ?? 0));
}

export function copiesIn(readings: readonly Reading[], { word }: Canary): Copies {
  return new Map(readings.map(({ path, text }) => [path, text.toLowerCase().split(word).length - 1]));
}

export function isShown(copies: Copies): boolean {
  return [...copies.values()].some((count) => count > 0);
}
