/** Tells whether a turn that is started again recalls the same, without keeping what it recalled. */
import { MemoryError } from "@keepsake/core";
import { textDigest } from "@keepsake/core/keys";
import type { RecalledBatch } from "./history.ts";

/** By slot, in the order of slots. */
export type RecallDigests = Readonly<Record<string, string>>;

/** A digest covers the scope, and the ids and texts in their order. No messages have one too. */
export function recallDigests(batches: readonly RecalledBatch[]): RecallDigests {
  const texts = batches.map(({ lock, messages }): [string, string] => [
    lock.slot.name,
    JSON.stringify([lock.scope.key, messages.map(({ content, id }) => (id === undefined ? [content] : [content, id]))]),
  ]);
  return Object.freeze(Object.fromEntries(texts.map(([slot, text]) => [slot, textDigest(text)])));
}

/** @throws MemoryError `replay_diverged` naming the first slot that recalled something else, or no longer recalls. */
export function refuseDivergence(first: RecallDigests, again: RecallDigests): void {
  const slots = [...Object.keys(again), ...Object.keys(first)];
  const slot = slots.find((name) => first[name] !== again[name]);
  if (slot === undefined) return;
  throw new MemoryError(
    "replay_diverged",
    `Memory slot "${slot}" recalled something else than when the turn began. Resume the turn, or cancel it.`,
    { slot },
  );
}
