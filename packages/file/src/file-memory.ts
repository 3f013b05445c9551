/** File memory: one bounded document per scope, recalled whole, and kept by the model through two tools. */
import {
  defineMemoryProvider,
  defineTool,
  describeError,
  emitEvent,
  isRecallFrame,
  MemoryError,
  type MemoryErrorCode,
  type MemoryOperationContext,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryToolContext,
  messageKind,
  messageText,
} from "@keepsake/core";
import { z } from "zod";
import type { FileDocument } from "./document.ts";
import { createDocumentStore, type DocumentChange } from "./document-store.ts";
import { entryText, growing } from "./entry.ts";
import { createMaintenance } from "./maintenance.ts";
import { type FileMemoryOptions, parseOptions } from "./options.ts";
import { emptyRecallText, recallMessageId, recallText } from "./recall.ts";
import { type CallResult, createCallRunner, type ToolTarget } from "./tool-call.ts";

/** What `save_memory` answers. */
export interface SaveResult {
  readonly saved: true;
  /** The same words were saved before; `index` is theirs. */
  readonly duplicate: boolean;
  readonly index: number;
}

/** What `remove_memory` answers. `removed` is `false` where nothing stands under the index. */
export interface RemoveResult {
  readonly removed: boolean;
  readonly index: number;
}

const refusals: readonly MemoryErrorCode[] = ["secret_refused", "invalid_input", "limit_exceeded"];

const saveInput = z.strictObject({
  text: z.string().min(1).describe("The fact or preference, as one short sentence that stands on its own."),
});
const removeInput = z.strictObject({
  index: z.int().min(0).describe("The number in front of the memory."),
});

/**
 * A provider that keeps one bounded, readable document per scope. The model saves and removes; nothing is captured by
 * itself, nothing is cut, and an index is never used twice.
 * @throws MemoryError `invalid_options` here. Recall and tools throw `backend_failed`, `timeout`, `corrupt_store`,
 * `unsupported_version`, `limit_exceeded` and `conflict`; tools also `secret_refused` and `invalid_input`.
 */
export function fileMemory(options: FileMemoryOptions = {}): MemoryProvider {
  const settings = parseOptions(options);
  const { backend, maxCharacters, secrets, onEvent } = settings;
  const store = createDocumentStore(settings);
  const runCall = createCallRunner(store);

  const recall = async (context: MemoryOperationContext): Promise<MemoryRecallResult> => {
    const { slot, scope } = context.memory;
    const signal = context.abortSignal ?? new AbortController().signal; // a bare call, as from a script
    const document = await store.read({ key: scope.key, signal });
    if (document === null && !hasSpoken(context)) return null;
    const { text, omitted } =
      document === null ? { text: emptyRecallText(slot), omitted: 0 } : recallText(slot, document, maxCharacters);
    if (omitted > 0) emitEvent(onEvent, { code: "recall_bounded", slot, counts: { omitted } });
    return { messages: [{ id: recallMessageId, content: text }] };
  };

  const save = async (target: ToolTarget, input: string, context?: MemoryToolContext): Promise<SaveResult> => {
    const text = entryText(input, secrets);
    const act = (document: FileDocument): DocumentChange<CallResult> => {
      const same = document.entries.find((entry) => entry.text === text);
      if (same !== undefined) return { result: { outcome: "duplicate", index: same.index } };
      const grown = growing(document, { slot: target.slot, maxCharacters });
      const index = grown.add(text);
      return { document: grown.document, result: { outcome: "saved", index } };
    };
    const { outcome, index } = await runCall({ target, request: ["save", text], context, act });
    return { saved: true, duplicate: outcome === "duplicate", index };
  };

  const remove = async (target: ToolTarget, index: number, context?: MemoryToolContext): Promise<RemoveResult> => {
    const act = (document: FileDocument): DocumentChange<CallResult> => {
      const entries = document.entries.filter((entry) => entry.index !== index);
      if (entries.length === document.entries.length) return { result: { outcome: "absent", index } };
      return { document: { ...document, entries }, result: { outcome: "removed", index } };
    };
    const { outcome } = await runCall({ target, request: ["remove", String(index)], context, act });
    return { removed: outcome === "removed", index };
  };

  /** Tells of a save that is refused for what it holds or how long it is. */
  const reported = async <T>(slot: string, saving: Promise<T>): Promise<T> => {
    try {
      return await saving;
    } catch (error) {
      if (MemoryError.isInstance(error) && refusals.includes(error.code)) {
        emitEvent(onEvent, {
          code: error.code === "secret_refused" ? "secret_refused" : "input_refused",
          slot,
          error: describeError(error),
          ...(error.ruleIds === undefined ? {} : { ruleIds: error.ruleIds }),
        });
      }
      throw error;
    }
  };

  return defineMemoryProvider(
    {
      recall: { "turn.started": recall, "compaction.completed": recall },
      tools: async ({ memory: { slot, scope } }) => {
        const target: ToolTarget = { slot, key: scope.key };
        return {
          remove_memory: defineTool({
            description:
              "Forget one saved memory by the number it is listed under. For what is wrong, out of date or no longer wanted.",
            inputSchema: removeInput,
            execute: ({ index }, context) => remove(target, index, context),
          }),
          save_memory: defineTool({
            description:
              "Keep one lasting fact or preference for later conversations. " +
              "Never passwords, keys or codes, never instructions, nothing that only matters for the task at hand.",
            inputSchema: saveInput,
            execute: ({ text }, context) => reported(slot, save(target, text, context)),
          }),
        };
      },
    },
    {
      capabilities: {
        partition: "scope",
        capture: "none",
        ttl: "none",
        durable: backend.durable ?? false,
        replay: "none",
        freshness: "current",
        erase: "immediate",
      },
      maintenance: createMaintenance(store, settings),
    },
  );
}

/** Whether this session was shown this slot's memory before, so that saying nothing would leave it standing. */
function hasSpoken({ messages, memory }: MemoryOperationContext): boolean {
  return (messages ?? []).some(
    (message) => messageKind(message) === "memory.load" && isRecallFrame(messageText(message), memory.slot),
  );
}
