/** What is said in a turn, and where it stands in the history. */
import type { UserContent } from "@keepsake/core";
import type { History, HistoryEntry } from "./history.ts";

type Message = HistoryEntry["message"];

/** What the application adds comes first, then what the person says. Content is taken as checked and copied. */
export function turnInput(context: readonly string[], content: string | UserContent): readonly Message[] {
  const added = context.map(
    (text): Message => Object.freeze({ role: "user", kind: "context.instruction", content: text }),
  );
  return Object.freeze([...added, Object.freeze({ role: "user", kind: "user", content })]);
}

export function inputEntries(input: readonly Message[]): History {
  return input.map((message) => Object.freeze({ message }));
}

/** Where the latest thing that a person said stands; -1 where nobody has said anything. */
export function lastSaid(history: History): number {
  return history.findLastIndex(({ message }) => message.role === "user" && message.kind === "user");
}

/**
 * The history up to the input of the turn that is open. What the turn recalled is among it, since what that replaced is gone.
 */
export function historyBefore(history: History, input: readonly Message[]): History {
  const before = history.slice(0, lastSaid(history));
  // A compaction may have put records between what the application added and what the person said.
  const said = before.filter(({ record }) => record === undefined);
  const context = new Set(said.slice(said.length - input.length + 1));
  return before.filter((entry) => !context.has(entry));
}
