/** Providers that capture too much, or too little. */
import {
  extendProvider,
  isRecallFrame,
  isUserMessage,
  type ModelMessage,
  messageKind,
  messageText,
} from "@keepsake/core";
import type { Mutant } from "../family.ts";

export const capturingMutants: readonly Mutant[] = [
  {
    id: "capturing/kind-user-only",
    flaw: "Takes messages of kind user, and none without a kind.",
    kills: { "capturing/user-text": "kind-missed" },
    spares: ["capturing/several", "capturing/nothing-else"],
    parts: ({ isCaptured }) => ({
      isCaptured: (message) => messageKind(message) === "user" && isCaptured(message),
    }),
  },
  {
    id: "capturing/strings-only",
    flaw: "Takes content that is text, and no parts.",
    kills: { "capturing/user-text": "parts-missed" },
    spares: ["capturing/nothing-else", "capturing/empty"],
    parts: () => ({ textOf: ({ content }) => (typeof content === "string" ? content : "") }),
  },
  {
    id: "capturing/last-message",
    flaw: "Takes the last user message of a turn only.",
    kills: { "capturing/several": "missed" },
    spares: ["capturing/user-text", "capturing/nothing-else"],
    parts: ({ turnMessages }) => ({
      turnMessages: (messages, input) => turnMessages(messages, input).filter(isUserMessage).slice(-1),
    }),
  },
  {
    id: "capturing/recalled-records",
    flaw: "Takes recalled records for what a person says.",
    kills: { "capturing/nothing-else": "recalled-record", "echoes/five-turns": "grows" },
    spares: ["capturing/user-text", "capturing/assistant"],
    parts: ({ isCaptured }) => ({
      turnMessages: (messages) => messages,
      isCaptured: (message) => isCaptured(message) || messageKind(message) === "memory.load",
    }),
  },
  {
    id: "capturing/all-of-role-user",
    flaw: "Takes every message of role user that is not its own frame.",
    kills: { "capturing/nothing-else": "host-message" },
    spares: ["capturing/user-text", "capturing/assistant"],
    parts: () => ({
      isCaptured: (message) =>
        message.role === "user" && messageKind(message) !== "memory.load" && !isRecallFrame(messageText(message)),
    }),
  },
  {
    id: "capturing/tool-results",
    flaw: "Takes what tools answer, too.",
    kills: { "capturing/nothing-else": "tool-result" },
    spares: ["capturing/user-text", "capturing/assistant"],
    parts: ({ isCaptured, textOf }) => ({
      isCaptured: (message) => isCaptured(message) || message.role === "tool",
      textOf: (message) => (message.role === "tool" ? JSON.stringify(message.content) : textOf(message)),
    }),
  },
  {
    id: "capturing/gives-up-at-tools",
    flaw: "Takes nothing of a turn in which a tool was called.",
    kills: { "capturing/nothing-else": "lost" },
    spares: ["capturing/user-text"],
    parts: ({ turnMessages }) => ({
      turnMessages: (messages, input) => (messages.some(isTool) ? [] : turnMessages(messages, input)),
    }),
  },
  {
    id: "capturing/assistant-too",
    flaw: "Takes the assistant's words, and declares that it does not.",
    kills: { "capturing/assistant": "kept-anyway" },
    spares: ["capturing/user-text", "capturing/several"],
    parts: ({ isCaptured }) => ({ isCaptured: (message) => isCaptured(message) || message.role === "assistant" }),
  },
  {
    id: "capturing/declares-all",
    flaw: "Declares that it takes the assistant's words, and does not.",
    kills: { "capturing/assistant": "not-kept" },
    spares: ["capturing/user-text"],
    provider: (provider) => extendProvider(provider, { declaration: { capabilities: { capture: "all" } } }),
  },
  {
    id: "capturing/declares-none",
    flaw: "Declares that it captures nothing, and does.",
    kills: { "capturing/undeclared": "captures-anyway" },
    spares: [],
    provider: (provider) => extendProvider(provider, { declaration: { capabilities: { capture: "none" } } }),
  },
  {
    id: "capturing/object-object",
    flaw: "Makes text of parts by String().",
    kills: { "capturing/empty": "stored-nothing", "capturing/user-text": "parts-missed" },
    spares: ["capturing/nothing-else"],
    parts: () => ({ textOf: ({ content }) => String(content) }),
  },
  {
    id: "capturing/needs-text-in-all",
    flaw: "Gives up a turn at its first message without text.",
    kills: { "capturing/empty": "lost-the-rest" },
    spares: ["capturing/user-text", "capturing/several"],
    parts: ({ turnMessages, textOf }) => ({
      turnMessages: (messages, input) =>
        input.some((message) => textOf(message).trim() === "") ? [] : turnMessages(messages, input),
    }),
  },
  {
    id: "capturing/assumes-text",
    flaw: "Reads the first text part of a message, which may have none.",
    kills: { "capturing/empty": "threw" },
    spares: ["capturing/user-text", "capturing/several"],
    parts: () => ({ textOf: ({ content }) => (typeof content === "string" ? content : firstText(content)) }),
  },
  {
    id: "capturing/ignores-compaction",
    flaw: "Has a handler for compactions that waits for the end of the turn.",
    kills: { "capturing/compaction-requested": "not-taken" },
    spares: ["capturing/user-text"],
    provider: (provider) =>
      extendProvider(provider, { capture: { ...provider.capture, "compaction.requested": () => {} } }),
  },
];

function isTool({ role }: ModelMessage): boolean {
  return role === "tool";
}

function firstText(parts: readonly { readonly type: string; readonly text?: string }[]): string {
  const text = parts.find(({ type }) => type === "text")?.text;
  if (text === undefined) throw new TypeError("A message has no text.");
  return text;
}
