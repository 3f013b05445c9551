/** What is recalled once certain texts were written, and the frame that harmless ones are recalled in. */
import type { ModelMessage } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { WritePath } from "./facts.ts";
import { type Delimiter, delimiterCounts, type Frame, frameOf } from "./frame.ts";
import type { Handle } from "./handle.ts";
import { recalledMessage } from "./messages.ts";
import type { Person, Recalled } from "./person.ts";

export interface OwnText {
  readonly own: Canary;
  readonly text: string;
}

export interface Benign {
  readonly recalled: Recalled;
  readonly frame: Frame;
  /** The recalled text without the memories. */
  readonly around: string;
  readonly counts: ReturnType<typeof delimiterCounts>;
}

/** Harmless memories of somebody new, and the frame that they are recalled in. */
export async function benign(bench: Bench, handle: Handle, path: WritePath, count: number): Promise<Benign> {
  const { memories, recalled, frame: learned } = await learn(bench, handle, path, count);
  const frame = learned.delimiters.some(isLabel)
    ? withCommonLabels(learned, await learn(bench, handle, path, count))
    : learned;
  const around = memories.reduce((rest, { text }) => rest.replaceAll(text, ""), recalled.text);
  return { recalled, frame, around, counts: delimiterCounts(recalled, frame) };
}

interface Learned {
  readonly memories: readonly OwnText[];
  readonly recalled: Recalled;
  readonly frame: Frame;
}

async function learn(bench: Bench, handle: Handle, path: WritePath, count: number): Promise<Learned> {
  const memories = Array.from({ length: count }, () => bench.canary()).map((own) => ({ own, text: own.text }));
  const recalled = await recalledAfter(bench, bench.someone(handle), path, memories);
  const texts = memories.map(({ text }) => text);
  return { memories, recalled, frame: frameOf(recalled, texts) };
}

/** A label that only one person's memories have is an id of theirs, which happens to look like one. */
function withCommonLabels({ delimiters, ...rest }: Frame, { frame: other }: Learned): Frame {
  const isCommon = ({ text }: Delimiter): boolean =>
    other.delimiters.some((each) => isLabel(each) && each.text === text);
  return { ...rest, delimiters: delimiters.filter((each) => !isLabel(each) || isCommon(each)) };
}

function isLabel({ kind }: Delimiter): boolean {
  return kind === "label";
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

/** What was recalled, as it stands in the history. */
export function recordsOf({ messages }: Recalled): readonly ModelMessage[] {
  return (messages ?? []).map(({ content }) => recalledMessage(content));
}
