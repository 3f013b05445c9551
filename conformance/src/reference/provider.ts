/**
 * The reference provider: small, and right. It captures what people say, offers three tools, expires, replays, and can be
 * looked into. Certification is proved on it: each mutant is this provider, wrong in one way.
 */
import {
  type Clock,
  checkOptions,
  type Duration,
  defineMemoryProvider,
  defineTool,
  emitEvent,
  isRecallFrame,
  isUserMessage,
  MemoryError,
  type MemoryEventListener,
  type MemoryOperationContext,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryToolContext,
  type MemoryToolsContext,
  type MemoryTurn,
  messageDigests,
  messageKind,
  messageText,
  operationDigest,
  optionIs,
  parseDuration,
} from "@keepsake/core";
import { z } from "zod";
import { referenceMaintenance } from "./maintenance.ts";
import { correctParts, type ReferenceParts } from "./parts.ts";
import { patientStore } from "./patient-store.ts";
import type { RecordStore, StoredRecord } from "./record-store.ts";

const textInput = z.strictObject({ text: z.string().min(1) });
const queryInput = z.strictObject({ query: z.string().min(1) });
const idInput = z.strictObject({ id: z.string().min(1) });

export interface ReferenceOptions {
  readonly store: RecordStore;
  readonly clock: Clock;
  readonly onEvent?: MemoryEventListener | undefined;
  readonly ttl?: Duration | undefined;
}

const recallId = "reference-memory";

/** Any phase: a compaction between turns may have none. */
type MaybeTurn = MemoryOperationContext & { readonly turn: MemoryTurn | null };

/** @throws MemoryError `invalid_options`. Calls throw `backend_failed` and `timeout`; tools also `secret_refused`, `limit_exceeded`. */
export function referenceProvider(options: ReferenceOptions, parts: ReferenceParts = correctParts): MemoryProvider {
  checkOptions("referenceProvider()", options, {
    store: optionIs.having("list", "put"),
    clock: optionIs.clock,
    onEvent: optionIs.callable,
    ttl: optionIs.duration,
  });
  const { clock, onEvent } = options;
  const ttlMs = options.ttl === undefined ? undefined : parseDuration(options.ttl, "ttl");
  const store = patientStore(options.store, { clock, parts, onEvent });

  const live = async (key: string, signal: AbortSignal): Promise<readonly StoredRecord[]> =>
    (await store.list(parts.partition(key), signal)).filter((record) => parts.isLive(record, clock.now()));

  const put = async (key: string, text: string, operation: readonly string[], signal: AbortSignal) => {
    const now = clock.now();
    const expiry = ttlMs === undefined ? {} : { expiresAt: parts.expiresAt(now, ttlMs) };
    const id = parts.recordId(key, operation);
    return { id, outcome: await store.put(parts.partition(key), { id, text, createdAt: now, ...expiry }, signal) };
  };

  const recall = async (context: MaybeTurn): Promise<MemoryRecallResult> => {
    const { abortSignal: signal, memory, operationId } = context;
    const { key } = memory.scope;
    const records = await live(key, signal);
    const ranked = parts.rank(records, parts.redacted(queryOf(context)));
    const chosen = chooseLines(memory.slot, ranked);
    const operation = operationDigest({ scopeKey: key, operation: ["recall", operationId] });
    const pinned = await store.pin(
      parts.partition(key),
      operation,
      chosen.map(({ id }) => id),
      signal,
    );
    const shown = pinned.flatMap((id) => records.filter((record) => record.id === id));
    if (shown.length < ranked.length) {
      emitEvent(onEvent, {
        code: "recall_bounded",
        slot: memory.slot,
        counts: { omitted: ranked.length - shown.length },
      });
    }
    if (shown.length === 0 && !hasSpoken(context)) return null;
    const content =
      shown.length === 0 ? parts.emptyFrame(memory.slot) : parts.frame(memory.slot, shown.map(parts.line));
    return { messages: [{ id: recallId, content }] };
  };

  const chooseLines = (slot: string, ranked: readonly StoredRecord[]): readonly StoredRecord[] => {
    const chosen: StoredRecord[] = [];
    let remaining = parts.maxCharacters - parts.frame(slot, []).length;
    for (const record of ranked) {
      remaining -= parts.line(record).length + 1;
      if (remaining < 0) break;
      chosen.push(record);
    }
    return chosen;
  };

  const capture = async (context: MaybeTurn): Promise<void> => {
    const { abortSignal: signal, memory } = context;
    const operation = parts.turnOperation(context);
    const messages = parts.turnMessages(context.messages, context.turn?.input ?? []).filter(parts.isCaptured);
    const digests = messageDigests(messages);
    let known = 0;
    let stored = 0;
    for (const [index, message] of messages.entries()) {
      const text = parts.textOf(message);
      const ruleIds = parts.secretsIn(text);
      if (ruleIds.length > 0) emitEvent(onEvent, { code: "secret_refused", slot: memory.slot, ruleIds });
      else if (parts.tooLong(text)) emitEvent(onEvent, { code: "input_refused", slot: memory.slot });
      else if (text.trim() !== "") {
        const { outcome } = await put(memory.scope.key, text, [...operation, digests[index] ?? ""], signal);
        if (outcome === "stored") stored += 1;
        else known += 1;
      }
    }
    if (known > 0 && stored > 0) emitEvent(onEvent, { code: "operation_extended", slot: memory.slot });
  };

  const save = async (memory: MemoryToolsContext["memory"], text: string, context: MemoryToolContext) => {
    const ruleIds = parts.secretsIn(text);
    if (ruleIds.length > 0) {
      emitEvent(onEvent, { code: "secret_refused", slot: memory.slot, ruleIds });
      throw new MemoryError("secret_refused", "This looks like a secret, and memory never keeps one.", { ruleIds });
    }
    if (parts.tooLong(text)) throw new MemoryError("limit_exceeded", "A memory may have at most 2,000 characters.");
    const { key } = memory.scope;
    const signal = context.abortSignal;
    const operation = parts.callOperation(context, text);
    const own = parts.recordId(key, operation);
    const same = (await live(key, signal)).find((record) => parts.isSame(record.text, text));
    // What the call came to is kept: one that found its text there does not save it when it comes again.
    const [id = own] = await store.pin(parts.partition(key), `call ${own}`, [same?.id ?? own], signal);
    if (id !== own) return { saved: same !== undefined, duplicate: same !== undefined, id };
    const { outcome } = await put(key, text, operation, signal);
    return { saved: outcome !== "gone", duplicate: outcome === "known", id };
  };

  const forget = async (key: string, id: string, signal: AbortSignal) => {
    const records = await live(key, signal);
    const found = records.find((record) => record.id === id);
    const same = found === undefined ? [] : records.filter(({ text }) => parts.isSame(text, found.text));
    for (const record of same) await store.remove(parts.partition(key), record.id, signal);
    return { removed: same.length > 0 };
  };

  const search = async (key: string, query: string, signal: AbortSignal) => {
    const records = await live(key, signal);
    return {
      matches: parts
        .rank(records, parts.redacted(query))
        .slice(0, 5)
        .map(({ id, text }) => ({ id, text })),
    };
  };

  return defineMemoryProvider(
    {
      recall: { "turn.started": recall, "compaction.completed": recall },
      capture: { "turn.completed": capture, "compaction.requested": capture },
      tools: async ({ memory }) => ({
        save_memory: defineTool({
          description: "Keep one lasting fact or preference.",
          inputSchema: textInput,
          execute: ({ text }, context) => save(memory, text, context),
        }),
        search_memories: defineTool({
          description: "Search what is remembered.",
          inputSchema: queryInput,
          execute: ({ query }, { abortSignal }) => search(memory.scope.key, query, abortSignal),
        }),
        forget_memory: defineTool({
          description: "Forget one memory by its id.",
          inputSchema: idInput,
          execute: ({ id }, { abortSignal }) => forget(memory.scope.key, id, abortSignal),
        }),
      }),
    },
    {
      capabilities: {
        partition: "scope",
        capture: "user",
        ttl: options.store.expiry,
        durable: options.store.durable,
        replay: options.store.durable ? "durable" : "process",
        freshness: "current",
        erase: "immediate",
      },
      maintenance: referenceMaintenance({ store, clock, parts }),
    },
  );
}

/** What the person just said. */
function queryOf({ turn }: MaybeTurn): string {
  return (turn?.input ?? []).filter(isUserMessage).map(messageText).join("\n");
}

/** Whether this session was shown memory before, so that saying nothing would leave it standing. */
function hasSpoken({ messages, memory }: MemoryOperationContext): boolean {
  return messages.some(
    (message) => messageKind(message) === "memory.load" && isRecallFrame(messageText(message), memory.slot),
  );
}
