/** What read paths show of what several people told: their own memory, and hopefully nobody else's. */
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";
import type { Person, Reading } from "./person.ts";

/** Somebody, and what they told. */
export interface Told {
  readonly person: Person;
  readonly memory: Canary;
}

/** New people who each tell something. */
export async function toldBy(
  bench: Bench,
  handle: Handle,
  { count, path }: { readonly count: number; readonly path: WritePath },
): Promise<readonly Told[]> {
  const told = Array.from({ length: count }, () => ({ person: bench.someone(handle), memory: bench.canary() }));
  for (const { person, memory } of told) await person.write(memory.text, { path });
  return told;
}

/** The read path that shows the word, or `undefined` where none does. */
export function pathShowing(readings: readonly Reading[], word: string): string | undefined {
  return readings.find(({ text }) => text.toLowerCase().includes(word))?.path;
}

/** The read path that does not show the word, of those that are known to work: not every search finds what recall does. */
export function pathMissing(
  readings: readonly Reading[],
  word: string,
  working: ReadonlySet<string>,
): string | undefined {
  return readings.find(({ path, text }) => working.has(path) && !text.toLowerCase().includes(word))?.path;
}

/** The read paths on which somebody who is alone finds what was told. */
export async function workingPaths(bench: Bench, handle: Handle): Promise<ReadonlySet<string>> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.write(memory.text);
  const readings = await person.readings(memory.query);
  return new Set(readings.filter(({ text }) => text.toLowerCase().includes(memory.word)).map(({ path }) => path));
}

/** What is answered to a question: by recall, and by the search tool where there is one. */
export async function answersTo(person: Person, query: string): Promise<readonly Reading[]> {
  const recalled = { path: "recall", text: await person.recalls(query) };
  if (person.handle.facts?.searchTool === undefined) return [recalled];
  return [recalled, { path: "search", text: JSON.stringify(await person.search(query)) ?? "" }];
}

/** What each sees who asks for their own memory on every read path, and then for that of all others. */
export async function crossReadings<T extends Told>(
  told: readonly T[],
): Promise<readonly (T & { readonly own: readonly Reading[]; readonly all: readonly Reading[] })[]> {
  const crossed: (T & { readonly own: readonly Reading[]; readonly all: readonly Reading[] })[] = [];
  for (const each of told) {
    const own = await each.person.readings(each.memory.query);
    const others = told.filter((other) => other !== each).map(({ memory }) => memory.query);
    crossed.push({ ...each, own, all: [...own, ...(await answersTo(each.person, others.join(" ")))] });
  }
  return crossed;
}

/** What each sees on every read path who asks for what any of them told. */
export async function crossShown<T extends Told>(
  told: readonly T[],
): Promise<readonly (T & { readonly all: readonly Reading[] })[]> {
  const query = told.map(({ memory }) => memory.query).join(" ");
  const crossed: (T & { readonly all: readonly Reading[] })[] = [];
  for (const each of told) crossed.push({ ...each, all: await each.person.readings(query) });
  return crossed;
}

/** The first who is shown what another told, whose it was, and by which read path. */
export function leakIn<T extends Told>(
  crossed: readonly (T & { readonly all: readonly Reading[] })[],
): { readonly reader: T; readonly owner: T; readonly path: string } | undefined {
  for (const reader of crossed) {
    for (const owner of crossed) {
      const path = owner === reader ? undefined : pathShowing(reader.all, owner.memory.word);
      if (path !== undefined) return { reader, owner, path };
    }
  }
  return undefined;
}
