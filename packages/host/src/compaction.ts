/** A history that has grown long: its older part becomes a summary, and what was recalled stays as it is. */
import { isRetryable, MemoryError, type ModelMessage } from "@keepsake/core";
import { firstUnanswered } from "./answer.ts";
import { captureAll } from "./capture.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { type History, type HistoryEntry, project, takeRecalled, toModelMessages } from "./history.ts";
import { recallAll } from "./recall.ts";
import type { Round } from "./round.ts";
import type { SlotLock } from "./slots.ts";
import { type Turn, unlessAborted } from "./turn.ts";
import { lastSaid } from "./turn-input.ts";

export interface CompactOptions {
  /**
   * Sums up the messages that are cut, oldest first: usually a call of a model without tools. Recalled memory is not among
   * them. What it throws is passed on, and the history stays as it was.
   */
  readonly summarize: (
    messages: ModelMessage[],
    options: { readonly abortSignal: AbortSignal },
  ) => string | Promise<string>;
  /** How many messages at the end stay as they are, at most. Default 10. Where there are no more, nothing is done. */
  readonly keepMessages?: number;
  /** Within a turn: all that the model loop has added so far, as `completeTurn` will be given it. */
  readonly responseMessages?: readonly ModelMessage[];
  /** Input tokens of the latest model call, for providers that want to know. */
  readonly usageInputTokens?: number;
  /** Ends the compaction. A turn that is open goes on. */
  readonly abortSignal?: AbortSignal;
}

export interface CompactedHistory {
  /** `false` where there was nothing to sum up. */
  readonly compacted: boolean;
  /** What the model is shown from now on. */
  readonly messages: ModelMessage[];
}

export interface CompactionInput {
  /** The turn that is open, or between turns the latest. */
  readonly turn: Turn;
  readonly isOpen: boolean;
  readonly locks: readonly SlotLock[];
  readonly history: History;
  /** How many compactions there were in or since the turn. */
  readonly ordinal: number;
  /** The turn's number, or between turns the next one's. */
  readonly sequence: number;
  readonly options: CompactOptions;
}

/** A shorter history, and how many messages its summary stands for. */
export interface Compaction {
  readonly history: History;
  readonly summedUp: number;
}

/**
 * The compacted history: records first, then the summary, then what is kept; `null` where there is nothing to sum up.
 * Every slot may capture before, and recall after; the history changes only if all of them succeed.
 * @throws MemoryError `compaction_failed`, `invalid_recall`; whatever `summarize` throws; a signal's reason.
 */
export async function compactHistory(input: CompactionInput): Promise<Compaction | null> {
  const { turn, isOpen, locks, history, ordinal, sequence, options } = input;
  const { summarize, keepMessages = 10, usageInputTokens = null, abortSignal: callerSignal } = options;
  const said = history.filter(({ record }) => record === undefined);
  const { older, kept } = split(said, { keepMessages, inputLength: isOpen ? turn.input.length : 0 });
  if (older.length === 0) return null;

  const modelId = turn.modelId ?? "unknown";
  const round = (told: NonNullable<Round["compaction"]>["told"]) => ({
    turn,
    callerSignal,
    compaction: { ordinal, sequence, told },
  });
  const requested = { ...round({ modelId, usageInputTokens }), messages: project(history, locks) };
  const [failure] = await captureAll({ ...requested, phase: "compaction.requested" }, locks);
  for (const signal of [turn.signal, callerSignal]) signal?.throwIfAborted();
  if (failure !== undefined) {
    const { slot, error: cause } = failure;
    const message = `Memory slot "${slot}" could not capture. The history is as it was.`;
    throw new MemoryError("compaction_failed", message, { slot, cause, retryable: isRetryable(cause) });
  }

  const cut = toModelMessages(project(older, locks));
  const summary: unknown = await unlessAborted(turn, (abortSignal) => summarize(cut, { abortSignal }), callerSignal);
  if (typeof summary !== "string" || summary.trim() === "") {
    throw new MemoryError("compaction_failed", "summarize() must answer text that is not blank.");
  }
  const records = history.filter(({ record }) => record !== undefined);
  const shorter = [...records, ...checkpoint(summary), ...kept];
  const completed = { ...round({ modelId }), messages: project(shorter, locks) };
  const recalled = takeRecalled(shorter, await recallAll({ ...completed, phase: "compaction.completed" }, locks));
  return { history: place(recalled, { beforeInput: isOpen }), summedUp: older.length };
}

/** What stands for the older part, in the shape that providers written for eve know. */
function checkpoint(summary: string): History {
  return [
    frozenCopy({
      message: { role: "user", kind: "context.compaction", content: "Summary of the conversation so far:" },
    }),
    frozenCopy({ message: { role: "assistant", content: summary } }),
  ];
}

/**
 * A summary stays with its heading, and a tool's result with its call. What the open turn was asked is kept, however long
 * ago that was. A summary alone is not summed up again.
 */
function split(
  said: History,
  { keepMessages, inputLength }: { readonly keepMessages: number; readonly inputLength: number },
): { readonly older: History; readonly kept: History } {
  const inputEnd = inputLength === 0 ? said.length : lastSaid(said) + 1;
  const inputStart = inputEnd - inputLength;
  // A call of the open turn that waits for its result, or for a person's word, stays, and what follows it.
  const waiting = inputEnd + firstUnanswered(said.slice(inputEnd));
  let start = Math.max(said.length - keepMessages, 0);
  if (isHeading(said[start - 1])) start += 1;
  while (said[start]?.message.role === "tool") start += 1;
  start = Math.min(start, waiting);
  const afterInput = Math.max(start, inputEnd);
  const older =
    start <= inputStart ? said.slice(0, start) : [...said.slice(0, inputStart), ...said.slice(inputEnd, afterInput)];
  if (older.length === 2 && isHeading(older[0])) return { older: [], kept: said };
  const cut = new Set(older);
  return { older, kept: said.filter((entry) => !cut.has(entry)) };
}

function isHeading(entry: HistoryEntry | undefined): boolean {
  return entry?.message.kind === "context.compaction";
}

/** New records come right before what the open turn was asked, and between turns at the end. */
function place(
  { kept, added }: ReturnType<typeof takeRecalled>,
  { beforeInput }: { readonly beforeInput: boolean },
): History {
  const index = beforeInput ? lastSaid(kept) : -1;
  return index === -1 ? [...kept, ...added] : [...kept.slice(0, index), ...added, ...kept.slice(index)];
}
