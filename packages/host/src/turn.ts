/** One turn in the making: what every phase of it knows, and what a provider is told of it. */
import {
  type Clock,
  emitEvent,
  type MemoryChannel,
  type MemoryEvent,
  type MemoryEventListener,
  type MemoryNamespaceContext,
  type MemoryPhase,
  type MemoryScopeContext,
  type MemorySessionInfo,
  type MemoryTurn,
  type MemoryTurnContext,
  type ModelMessage,
  type SessionAuth,
  withDeadline,
} from "@keepsake/core";
import type { HistoryEntry } from "./history.ts";
import type { HostCapabilities } from "./host-capabilities.ts";
import { operationId } from "./operation-id.ts";
import type { Slot, SlotLock } from "./slots.ts";
import type { MemoryTracer, TracedCall, TracedResult } from "./tracer.ts";

/** What a turn needs of its host. */
export interface TurnHost {
  readonly slots: readonly Slot[];
  readonly allowSharedPartitions: boolean;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly onEvent: MemoryEventListener | undefined;
  readonly tracer: MemoryTracer | undefined;
  readonly capabilities: HostCapabilities;
  /** Where default namespaces come from. */
  readonly application: Omit<MemoryNamespaceContext, "slot">;
  readonly defaultNamespace: (context: MemoryNamespaceContext) => string;
}

export interface Turn {
  readonly host: TurnHost;
  readonly sessionId: string;
  readonly id: string;
  readonly sequence: number;
  readonly auth: SessionAuth;
  readonly channel: MemoryChannel;
  readonly conversation: MemoryScopeContext["conversation"];
  /** The model that is spoken to, where the application says. */
  readonly modelId: string | undefined;
  readonly input: readonly HistoryEntry["message"][];
  /** What providers are told of the session and the turn. Frozen, so that no slot can change what another sees. */
  readonly told: { readonly session: MemorySessionInfo; readonly turn: MemoryTurn };
  /** Aborts when the turn is given up, by its caller's signal or by `cancelTurn`. */
  readonly signal: AbortSignal;
  /** Whoever waits for a provider is told here when the signal aborts: one listener for the whole turn. */
  readonly waiting: Set<(reason: unknown) => void>;
}

/** One round of calls: the same handler of every slot, at once. */
export interface Round {
  readonly turn: Turn;
  readonly phase: MemoryPhase;
  readonly messages: readonly ModelMessage[];
  /** May end the round, beside the turn's own signal. */
  readonly callerSignal?: AbortSignal | undefined;
  readonly compaction?: {
    /** How many came before it, in or since the turn. */
    readonly ordinal: number;
    /** The turn's number, or between turns the next one's. */
    readonly sequence: number;
    readonly told: { readonly modelId: string; readonly usageInputTokens?: number | null };
  };
}

export function turnId(sequence: number): string {
  return `turn_${sequence}`;
}

export function operationOf({ turn, phase, compaction }: Round, slot: string): string {
  const { sessionId, id } = turn;
  const { ordinal, sequence = turn.sequence } = compaction ?? {};
  return operationId({ sessionId, sequence, turnId: id, phase, slot, compaction: ordinal });
}

/** What a slot's handler is called with in this round. */
export function handlerContext(round: Round, lock: SlotLock, abortSignal: AbortSignal): MemoryTurnContext {
  const { turn, messages, compaction } = round;
  const slot = lock.slot.name;
  return {
    abortSignal,
    getSandbox: turn.host.capabilities.getSandbox,
    memory: { scope: lock.scope, slot },
    messages: [...messages],
    operationId: operationOf(round, slot),
    session: turn.told.session,
    turn: turn.told.turn,
    ...(compaction === undefined ? {} : { compaction: { ...compaction.told } }),
  };
}

/** A provider that does not listen to its signal cannot hold up the end of the turn. */
export function unlessAborted<T>(
  turn: Turn,
  operation: (abortSignal: AbortSignal) => T | Promise<T>,
  callerSignal?: AbortSignal,
): Promise<T> {
  const { signal, waiting, host } = turn;
  if (callerSignal !== undefined) {
    return withDeadline(
      { signal: [signal, callerSignal], timeoutMs: Number.POSITIVE_INFINITY, clock: host.clock },
      operation,
    );
  }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    waiting.add(reject); // before the operation runs: an outcome that comes with the abort is too late
    Promise.resolve(operation(signal))
      .then(resolve, reject)
      .finally(() => waiting.delete(reject));
  });
}

/** Runs a call of a slot's provider, watched where somebody watches. */
export function traced<T>(
  { host, sessionId, id }: Turn,
  { slot, scope }: SlotLock,
  run: () => Promise<T>,
  describe: () => {
    readonly call: Pick<TracedCall, "kind" | "input"> & Partial<TracedCall>;
    readonly result: (value: T) => TracedResult;
    readonly wasGivenUp: () => boolean;
  },
): Promise<T> {
  if (host.tracer === undefined) return run();
  const { call, ...told } = describe();
  return host.tracer.trace({ ...call, slot: slot.name, scopeKey: scope.key, sessionId, turnId: id }, run, told);
}

/** Whether a round ended because somebody gave it up, and not by itself. */
export function isGivenUp({ turn, callerSignal }: Round): boolean {
  return turn.signal.aborted || callerSignal?.aborted === true;
}

/** Milliseconds since `startedAt`. */
export function elapsedMs({ host }: Turn, startedAt: number): number {
  return host.clock.now() - startedAt;
}

export function emit({ host }: Turn, event: MemoryEvent): void {
  emitEvent(host.onEvent, event);
}
