/** What is recalled once certain texts were written, and the frame that harmless ones are recalled in. */
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { WritePath } from "./facts.ts";
import { delimiterCounts, type Frame, frameOf } from "./frame.ts";
import type { Handle } from "./handle.ts";
import type { Person, Recalled } from "./person.ts";

export interface OwnText {
  readonly own: Canary;
  readonly text: string;
}

/** Harmless memories of somebody new, and the frame that they are recalled in. */
export async function benign(bench: Bench, handle: Handle, path: WritePath, count: number) {
  const memories = Array.from({ length: count }, () => bench.canary()).map((own) => ({ own, text: own.text }));
  const recalled = await recalledAfter(bench, bench.someone(handle), path, memories);
  const frame: Frame = frameOf(
    recalled,
    memories.map(({ text }) => text),
  );
  const around = memories.reduce((rest, { text }) => rest.replaceAll(text, ""), recalled.text);
  return { recalled, frame, around, counts: delimiterCounts(recalled, frame) };
}

/** What is recalled once these were written, as far as they were accepted. */
export async function recalledAfter(
  bench: Bench,
  person: Person,
  path: WritePath,
  memories: readonly OwnText[],
): Promise<Recalled> {
  for (const { text } of memories) await bench.outcome(() => person.write(text, { path })); // it may refuse odd text
  return person.recalled(memories.map(({ own }) => own.query).join(" "));
}
