/** What the model loop added to a turn, given whole each time: to compact within the turn, and to complete it. */
import { MemoryError, type ModelMessage } from "@keepsake/core";
import { textDigest } from "@keepsake/core/keys";
import { canonicalJson } from "./canonical-json.ts";
import type { History, HistoryEntry } from "./history.ts";
import { readAnswerMessage } from "./schemas.ts";
import type { AnswerState } from "./session-state.ts";
import { lastSaid } from "./turn-input.ts";

/**
 * A copy of the messages of an answer so far, oldest first.
 * @throws MemoryError `invalid_input` for what no model loop adds.
 */
export function readAnswer(messages: unknown): readonly ModelMessage[] {
  if (!Array.isArray(messages)) throw new MemoryError("invalid_input", "responseMessages must be a list of messages.");
  return Array.from(messages, (each: unknown) => {
    const message = readAnswerMessage(each);
    if (message !== undefined) return message;
    throw new MemoryError(
      "invalid_input",
      "A model's answer holds assistant and tool messages only, each with text or a list of parts as its content.",
    );
  });
}

/**
 * The part of an answer that the history does not hold yet.
 * @throws MemoryError `invalid_input` for an answer that does not begin with the part that it holds.
 */
export function restOfAnswer(messages: readonly ModelMessage[], taken: AnswerState | undefined): History {
  if (taken !== undefined && answerState(messages.slice(0, taken.messages)).digest !== taken.digest) {
    throw new MemoryError(
      "invalid_input",
      "responseMessages must hold the whole answer, beginning with what a compaction was given.",
    );
  }
  return messages.slice(taken?.messages ?? 0).map((message) => Object.freeze({ message }));
}

/** @throws MemoryError `invalid_input` for an answer that is not JSON. */
export function answerState(messages: readonly ModelMessage[]): AnswerState {
  try {
    return Object.freeze({ messages: messages.length, digest: textDigest(canonicalJson(messages)) });
  } catch (cause) {
    throw new MemoryError("invalid_input", "An answer that a compaction takes in must be JSON.", { cause });
  }
}

/**
 * Where an answer begins to wait: the first message with a call that has no result after it and may still get one, from a
 * tool or, where a person was asked, from whoever carries it out. At the end where none waits.
 */
export function firstUnanswered(said: History): number {
  const parts = said.flatMap((entry, index) => partsOf(entry).map((part) => ({ ...part, index })));
  const asked = new Set(
    parts.filter(({ type }) => type === "tool-approval-request").map(({ toolCallId }) => toolCallId),
  );
  const waiting = new Map<unknown, number>();
  for (const { type, toolCallId, providerExecuted, index } of parts) {
    const mayGetOne = providerExecuted !== true || asked.has(toolCallId);
    if (type === "tool-call" && mayGetOne && !waiting.has(toolCallId)) waiting.set(toolCallId, index);
    if (type === "tool-result") waiting.delete(toolCallId);
  }
  return Math.min(said.length, ...waiting.values());
}

/** A history whose answer was given up: calls that will have no result now are left out, since no model goes on from them. */
export function withoutWaitingCalls(history: History): History {
  const answer = lastSaid(history) + 1;
  return history.slice(0, answer + firstUnanswered(history.slice(answer)));
}

interface ToolPart {
  readonly type: string;
  readonly toolCallId?: unknown;
  readonly providerExecuted?: unknown;
}

function partsOf({ message }: HistoryEntry): readonly ToolPart[] {
  return typeof message.content === "string" ? [] : (message.content as readonly ToolPart[]);
}
