/** Providers that leave in a prompt what was forgotten. */
import { type MemoryProvider, type ModelMessage, messageKind } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { withRecall } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import { answering } from "../reference/standing-before.ts";
import { splitFrame } from "./keyed.ts";

export const retractingMutants: readonly Mutant[] = [
  {
    id: "retracting/silent-when-emptied",
    flaw: "Recalls nothing once nothing is left, whatever it said before.",
    kills: {
      "retracting/after-forget": "silent",
      "retracting/after-erase": "silent",
      "retracting/long-chat": "silent",
    },
    spares: ["keyed/ids", "keyed/compaction"],
    provider: (provider) =>
      answering(provider, (result, { memory: { slot } }) =>
        result?.messages[0]?.content === correctParts.emptyFrame(slot) ? null : result,
      ),
  },
  {
    id: "retracting/looks-a-little-back",
    flaw: "Looks in the last 50 messages for what it has shown.",
    kills: { "retracting/long-chat": "silent" },
    spares: ["retracting/after-forget", "retracting/after-erase", "retracting/in-a-host"],
    provider: (provider) => seeing(provider, (messages) => messages.slice(-50)),
  },
  {
    id: "retracting/looks-at-the-latest-record",
    flaw: "Looks whether the latest record in the history is its own.",
    kills: { "retracting/long-chat": "silent" },
    spares: ["retracting/after-forget", "retracting/after-erase", "retracting/in-a-host"],
    provider: (provider) =>
      seeing(provider, (messages) => messages.filter((each) => messageKind(each) === "memory.load").slice(-1)),
  },
  {
    id: "retracting/remembers-whom-it-told",
    flaw: "Keeps in its process which sessions it has spoken to, instead of reading the history.",
    kills: { "retracting/after-forget": "silent" },
    spares: ["keyed/ids", "retracting/after-erase", "retracting/in-a-host"],
    provider: (provider) => {
      const spokenTo = new Set<string>();
      return answering(provider, (result, { memory: { slot }, session }) => {
        if (result?.messages[0]?.content === correctParts.emptyFrame(slot))
          return spokenTo.has(session.id) ? result : null;
        if (result !== null) spokenTo.add(session.id);
        return result;
      });
    },
  },
  {
    id: "retracting/a-message-a-memory",
    flaw: "Recalls each memory under its own id, and never again once it is forgotten.",
    kills: {
      "retracting/after-forget": "left-standing",
      "retracting/in-a-host": "still-in-prompt",
    },
    spares: ["keyed/ids", "keyed/compaction"],
    provider: (provider) =>
      answering(
        provider,
        (result) => result && { messages: result.messages.flatMap((message) => splitFrame(message, (line) => line)) },
      ),
  },
  {
    id: "retracting/caches-recall",
    flaw: "Goes on recalling in a session what it recalled there first.",
    kills: { "retracting/after-forget": "still-recalled", "retracting/after-erase": "still-recalled" },
    spares: ["keyed/ids", "keyed/compaction"],
    provider: (provider) => {
      const cache = new Map<string, unknown>();
      return answering(provider, (result, { session, memory }) => {
        const key = `${session.id} ${memory.scope.key}`;
        if (!cache.has(key)) cache.set(key, result);
        return cache.get(key);
      });
    },
  },
];

/** Recalls as if the history were what this makes of it. */
function seeing(
  provider: MemoryProvider,
  change: (messages: readonly ModelMessage[]) => readonly ModelMessage[],
): MemoryProvider {
  return withRecall(provider, (recall, context) => recall({ ...context, messages: change(context.messages) }));
}
