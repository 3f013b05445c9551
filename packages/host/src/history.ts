/** A session's messages: what was said, and among it what was recalled, of which only the current part is shown. */
import type { MemoryRecallMessage, MessageKind, ModelMessage } from "@keepsake/core";
import { itemKey } from "@keepsake/core/keys";
import { frozenCopy } from "./frozen-copy.ts";
import type { SlotLock } from "./slots.ts";

/** Whose memory a recalled message is. Holds keys, never a scope's values. */
export interface RecordAttribution {
  readonly slot: string;
  readonly namespaceKey: string;
  readonly scopeKey: string;
  /** Present on keyed messages: a later one of the same key replaces it. */
  readonly itemKey?: string;
}

export interface HistoryEntry {
  readonly message: ModelMessage & { readonly kind?: MessageKind };
  readonly record?: RecordAttribution;
}

export type History = readonly HistoryEntry[];

/**
 * The history with newly recalled messages at its end. A keyed message equal to the latest of its identity adds nothing;
 * one without a key is always added.
 */
export function appendRecalled(history: History, lock: SlotLock, messages: readonly MemoryRecallMessage[]): History {
  const grown = [...history];
  for (const { content, id } of messages) {
    const record: RecordAttribution = {
      slot: lock.slot.name,
      namespaceKey: lock.namespaceKey,
      scopeKey: lock.scope.key,
      ...(id === undefined ? {} : { itemKey: itemKey(id) }),
    };
    const latest = grown.findLast((entry) => isSameItem(entry.record, record));
    if (latest?.message.content === content) continue;
    grown.push(frozenCopy({ message: { role: "user", kind: "memory.load", content }, record }));
  }
  return grown;
}

/**
 * What a reader of the history sees under these locks: of recalled messages, those of a locked slot's namespace, of its
 * scope unless it shows the whole session's, and of each keyed one the latest.
 */
export function project(history: History, locks: readonly SlotLock[]): readonly HistoryEntry["message"][] {
  const latest = new Map<string, HistoryEntry>();
  for (const entry of history) {
    if (entry.record?.itemKey !== undefined) latest.set(identity(entry.record), entry);
  }
  return history
    .filter((entry) => {
      const { record } = entry;
      if (record === undefined) return true;
      const lock = locks.find(({ slot }) => slot.name === record.slot);
      if (lock === undefined || lock.namespaceKey !== record.namespaceKey) return false;
      if (lock.visibility === "scope" && lock.scope.key !== record.scopeKey) return false;
      return record.itemKey === undefined || latest.get(identity(record)) === entry;
    })
    .map(({ message }) => message);
}

/** Messages as a model takes them, without what only the host and providers read. */
export function toModelMessages(messages: readonly HistoryEntry["message"][]): ModelMessage[] {
  return messages.map(({ kind: _, ...message }) => message as ModelMessage);
}

function isSameItem(a: RecordAttribution | undefined, b: RecordAttribution): boolean {
  return a?.itemKey !== undefined && b.itemKey !== undefined && identity(a) === identity(b);
}

/** A scope key stands for its namespace too, and none of the three can hold a line break. */
function identity({ slot, scopeKey, itemKey: key }: RecordAttribution): string {
  return `${slot}\n${scopeKey}\n${key}`;
}
