/** A history that has grown long: its older part becomes a summary, and what was recalled stays as it is. */
import { MemoryError, type ModelMessage } from "@keepsake/core";
import { captureAll } from "./capture.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { type History, type HistoryEntry, project, takeRecalled, toModelMessages } from "./history.ts";
import { recallAll } from "./recall.ts";
import type { Round } from "./round.ts";
import type { SlotLock } from "./slots.ts";
import { type Turn, unlessAborted } from "./turn.ts";

export interface CompactOptions {
  /**
   * Sums up the messages that are cut, oldest first: usually a call of a model without tools. Recalled memory is not among
   * them. What it throws is passed on, and the history stays as it was.
   */
  readonly summarize: (
    messages: ModelMessage[],
    options: { readonly abortSignal: AbortSignal },
  ) => string | Promise<string>;
  /** How many messages at the end stay as they are, at most. Default 10. */
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

/**
 * The compacted history: records first, then the summary, then what is kept; `null` where there is nothing to sum up.
 * Every slot may capture before, and recall after; the history changes only if all of them succeed.
 * @throws MemoryError `compaction_failed`, `invalid_recall`; whatever `summarize` throws; a signal's reason.
 */
export async function compactHistory(input: CompactionInput): Promise<History | null> {
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
    const retryable = MemoryError.isInstance(cause) && cause.retryable;
    const message = `Memory slot "${slot}" could not capture. The history is as it was.`;
    throw new MemoryError("compaction_failed", message, { slot, cause, retryable });
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
  return place(recalled, { beforeInput: isOpen });
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
 * At least one message is summed up, and never a tool's answer kept without its call. What the open turn was asked is kept,
 * however long ago that was.
 */
function split(
  said: History,
  { keepMessages, inputLength }: { readonly keepMessages: number; readonly inputLength: number },
): { readonly older: History; readonly kept: History } {
  let start = Math.max(said.length - keepMessages, Math.min(said.length, 1));
  while (said[start]?.message.role === "tool") start += 1;
  const inputEnd = inputLength === 0 ? said.length : lastUserIndex(said) + 1;
  const inputStart = inputEnd - inputLength;
  if (start <= inputStart) return { older: said.slice(0, start), kept: said.slice(start) };
  const afterInput = Math.max(start, inputEnd);
  return {
    older: [...said.slice(0, inputStart), ...said.slice(inputEnd, afterInput)],
    kept: [...said.slice(inputStart, inputEnd), ...said.slice(afterInput)],
  };
}

/** New records come right before what the open turn was asked, and between turns at the end. */
function place(
  { kept, added }: ReturnType<typeof takeRecalled>,
  { beforeInput }: { readonly beforeInput: boolean },
): History {
  const index = beforeInput ? lastUserIndex(kept) : -1;
  return index === -1 ? [...kept, ...added] : [...kept.slice(0, index), ...added, ...kept.slice(index)];
}

function lastUserIndex(history: History): number {
  return history.findLastIndex(({ message }: HistoryEntry) => message.kind === "user");
}
