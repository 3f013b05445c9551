/** What the model loop added to a turn, given whole each time: to compact within the turn, and to complete it. */
import { MemoryError, type ModelMessage } from "@keepsake/core";
import { textDigest } from "@keepsake/core/keys";
import { frozenCopy } from "./frozen-copy.ts";
import type { History } from "./history.ts";
import { isMessage } from "./schemas.ts";
import type { AnswerState } from "./session-state.ts";

/**
 * The messages of an answer so far, oldest first.
 * @throws MemoryError `invalid_input` for what no model loop adds.
 */
export function checkAnswer(messages: unknown): readonly ModelMessage[] {
  if (!Array.isArray(messages)) throw new MemoryError("invalid_input", "responseMessages must be a list of messages.");
  if (!messages.every(isMessage) || messages.some(({ role }: ModelMessage) => role === "user")) {
    throw new MemoryError(
      "invalid_input",
      "A model's answer holds assistant and tool messages only, each with text or a list of parts as its content.",
    );
  }
  return messages as readonly ModelMessage[];
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
  return messages.slice(taken?.messages ?? 0).map((message) => frozenCopy({ message }));
}

export function answerState(messages: readonly ModelMessage[]): AnswerState {
  return Object.freeze({ messages: messages.length, digest: textDigest(JSON.stringify(messages)) });
}
