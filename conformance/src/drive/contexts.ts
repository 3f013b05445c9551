/** What a host hands to a provider, as the reference host makes it. */
import {
  MemoryError,
  type MemoryOperationContext,
  type MemoryPhase,
  type MemorySessionInfo,
  type MemorySlotInfo,
  type MemoryToolContext,
  type MemoryToolsContext,
  type MemoryTurn,
  type ModelMessage,
  type Principal,
} from "@keepsake/core";

export const caller: Principal = {
  attributes: {},
  authenticator: "conformance",
  principalId: "person",
  principalType: "user",
};

/** One turn of a session: what it began with, and what it brought. */
export interface Turn {
  readonly sessionId: string;
  readonly id: string;
  readonly sequence: number;
  readonly input: readonly ModelMessage[];
  /** What went before it. */
  readonly history: readonly ModelMessage[];
}

export interface OperationOptions {
  readonly phase: MemoryPhase;
  readonly memory: MemorySlotInfo;
  readonly turn: Turn;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  /** Default: made as the reference host makes it. */
  readonly operationId?: string | undefined;
  /** A compaction between turns, which belongs to none. */
  readonly standalone?: boolean | undefined;
}

/** A context for any phase; the members that only some phases have are there where they belong. */
export function operationContext(
  options: OperationOptions,
): MemoryOperationContext & { readonly turn: MemoryTurn | null } {
  const { phase, memory, turn, messages, signal, standalone = false } = options;
  const { id, sequence, input } = turn;
  const isCompaction = phase.startsWith("compaction");
  const usage = phase === "compaction.requested" ? { usageInputTokens: 90_000 } : {};
  return {
    abortSignal: signal,
    session: sessionInfo(turn),
    memory,
    messages: structuredClone([...messages]),
    operationId: options.operationId ?? operationId({ phase, memory, turn }),
    turn: standalone ? null : Object.freeze({ id, sequence, input: structuredClone(input) }),
    ...(isCompaction ? { compaction: { modelId: "conformance", ...usage } } : {}),
    getSandbox: unsupported,
  };
}

export function operationId({ phase, memory, turn }: Pick<OperationOptions, "phase" | "memory" | "turn">): string {
  const step = phase.startsWith("compaction") ? ["0"] : [];
  const parts = [
    "eve-memory-operation-v1",
    turn.sessionId,
    String(turn.sequence),
    turn.id,
    ...step,
    phase,
    memory.slot,
  ];
  return parts.join(":");
}

export function toolsContext(memory: MemorySlotInfo, turn: Turn): MemoryToolsContext {
  const { turn: _, ...session } = sessionInfo(turn);
  return {
    model: { id: "conformance" },
    session,
    channel: { kind: "http", metadata: {} },
    memory,
    messages: structuredClone([...turn.history, ...turn.input]),
    turn: { id: turn.id, sequence: turn.sequence, input: structuredClone(turn.input) },
  };
}

export interface CallOptions {
  readonly memory: MemorySlotInfo;
  readonly turn: Turn;
  readonly tool: string;
  readonly callId: string;
  readonly signal: AbortSignal;
}

export function toolContext({ memory, turn, tool, callId, signal }: CallOptions): MemoryToolContext {
  return {
    abortSignal: signal,
    callId,
    toolName: `${memory.slot}__${tool}`,
    messages: structuredClone([...turn.history, ...turn.input]),
    session: sessionInfo(turn),
    getSandbox: unsupported,
    getToken: unsupported,
    requireAuth() {
      throw new MemoryError("unsupported", "There is no sign-in here.");
    },
  };
}

function sessionInfo({ sessionId, id, sequence }: Turn): MemorySessionInfo {
  return { id: sessionId, auth: { current: caller, initiator: caller }, turn: { id, sequence } };
}

async function unsupported(): Promise<never> {
  throw new MemoryError("unsupported", "There is none here.");
}
