/** Messages as a host hands them to a provider. */
import type { ModelMessage } from "@keepsake/core";

/** What a person says. */
export function userMessage(text: string): ModelMessage {
  const message = { role: "user" as const, content: text, kind: "user" };
  return message;
}

/** As a recalled record stands in the history. */
export function recalledMessage(content: string): ModelMessage {
  const message = { role: "user" as const, content, kind: "memory.load" };
  return message;
}
