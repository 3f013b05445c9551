/** One scope of a provider as a conversation uses it: its two tools, its recall and its maintenance. */
import {
  describeProvider,
  type MemoryMaintenance,
  type MemoryProvider,
  type MemorySessionInfo,
  type MemoryToolContext,
  type MemoryTurnContext,
} from "@keepsake/core";
import type { RemoveResult, SaveResult } from "../file-memory.ts";

export interface CallOptions {
  readonly callId?: string;
  readonly signal?: AbortSignal;
}

export interface MemoryOf {
  save(text: string, options?: CallOptions): Promise<SaveResult>;
  remove(index: number, options?: CallOptions): Promise<RemoveResult>;
  /** The recalled text, `null` where nothing is recalled. */
  recall(options?: CallOptions): Promise<string | null>;
  readonly maintenance: MemoryMaintenance;
}

export function memoryOf(provider: MemoryProvider, key: string, sessionId = "session-1"): MemoryOf {
  const memory = { slot: "profile", scope: { key, namespace: "namespace", value: "value" } };
  const turn = { id: "turn-1", sequence: 1, input: [] };
  const session: MemorySessionInfo = { id: sessionId, auth: { current: null, initiator: null }, turn };
  let calls = 0;

  const execute = async (toolName: string, input: object, options: CallOptions = {}): Promise<unknown> => {
    const tools = await provider.tools?.({ model: null, session, channel: {}, memory, messages: [], turn });
    calls += 1;
    const context = {
      abortSignal: options.signal ?? new AbortController().signal,
      callId: options.callId ?? `call-${calls}`,
      toolName,
      messages: [],
      session,
    };
    return tools?.[toolName]?.execute(input as never, context as unknown as MemoryToolContext);
  };

  const { maintenance } = describeProvider(provider) ?? {};
  if (maintenance === undefined) throw new Error("File memory always has maintenance.");
  return {
    maintenance,
    save: async (text, options) => (await execute("save_memory", { text }, options)) as SaveResult,
    remove: async (index, options) => (await execute("remove_memory", { index }, options)) as RemoveResult,
    recall: async (options = {}) => {
      const context = {
        abortSignal: options.signal ?? new AbortController().signal,
        session,
        memory,
        turn,
        messages: [],
        operationId: "operation-1",
      };
      const result = await provider.recall["turn.started"](context as unknown as MemoryTurnContext);
      return result?.messages.map(({ content }) => content).join("\n") ?? null;
    },
  };
}
