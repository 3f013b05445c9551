/** A session's messages: what was said, and among it what was recalled, of which only the current part is kept and shown. */
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

/** What one slot recalled in one round. */
export interface RecalledBatch {
  readonly lock: SlotLock;
  readonly messages: readonly MemoryRecallMessage[];
}

/**
 * Takes what was recalled into the history. A keyed message equal to the latest of its identity changes nothing; another
 * takes that one's place at the end, and the one before it is gone: what was forgotten does not stay in a session. A
 * message without a key is always added. Answers what is left of the history and what comes new, apart.
 */
export function takeRecalled(
  history: History,
  batches: readonly RecalledBatch[],
): { readonly kept: History; readonly added: History } {
  const latest = new Map<string, HistoryEntry>();
  for (const entry of history) {
    if (entry.record?.itemKey !== undefined) latest.set(identity(entry.record), entry);
  }
  const replaced = new Set<HistoryEntry>();
  const added: HistoryEntry[] = [];
  for (const { lock, messages } of batches) {
    for (const { content, id } of messages) {
      const record: RecordAttribution = {
        slot: lock.slot.name,
        namespaceKey: lock.namespaceKey,
        scopeKey: lock.scope.key,
        ...(id === undefined ? {} : { itemKey: itemKey(id) }),
      };
      const before = id === undefined ? undefined : latest.get(identity(record));
      if (before?.message.content === content) continue;
      if (before !== undefined) replaced.add(before);
      added.push(frozenCopy({ message: { role: "user", kind: "memory.load", content }, record }));
    }
  }
  const kept = replaced.size === 0 ? history : history.filter((entry) => !replaced.has(entry));
  return { kept, added };
}

/**
 * What a reader of the history sees under these locks: of recalled messages, those of a locked slot's namespace, and of
 * its scope unless it shows the whole session's.
 */
export function project(history: History, locks: readonly SlotLock[]): readonly HistoryEntry["message"][] {
  const shown: HistoryEntry["message"][] = [];
  for (const { message, record } of history) {
    if (record === undefined || locks.some((lock) => isShown(record, lock))) shown.push(message);
  }
  return shown;
}

function isShown({ slot, namespaceKey, scopeKey }: RecordAttribution, lock: SlotLock): boolean {
  if (lock.slot.name !== slot || lock.namespaceKey !== namespaceKey) return false;
  return lock.visibility === "session" || lock.scope.key === scopeKey;
}

/** Messages as a model takes them, without what only the host and providers read. */
export function toModelMessages(messages: readonly HistoryEntry["message"][]): ModelMessage[] {
  return messages.map((message) => {
    if (message.kind === undefined) return { ...message };
    const { role, content } = message; // what has a kind is the host's own making, and has no more than these
    return { role, content } as ModelMessage;
  });
}

/** A scope key stands for its namespace too, and none of the three can hold a line break. */
function identity({ slot, scopeKey, itemKey: key }: RecordAttribution): string {
  return `${slot}\n${scopeKey}\n${key}`;
}
