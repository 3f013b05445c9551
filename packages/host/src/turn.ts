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
import type { MemoryTracer } from "./tracer.ts";

/** What a turn needs of its host. */
export interface TurnHost {
  readonly slots: readonly Slot[];
  readonly allowSharedPartitions: boolean;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly onEvent: MemoryEventListener | undefined;
  readonly tracer: MemoryTracer;
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
  /** Aborts when the turn is given up, by its caller's signal or by `cancelTurn`. */
  readonly signal: AbortSignal;
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

/** Made anew for each reader, so that no slot can change what another sees. */
export function sessionInfo({ sessionId, auth, id, sequence }: Turn): MemorySessionInfo {
  return Object.freeze({ id: sessionId, auth, turn: Object.freeze({ id, sequence }) });
}

export function turnInfo({ id, input, sequence }: Turn): MemoryTurn {
  return Object.freeze({ id, input, sequence });
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
    session: sessionInfo(turn),
    turn: turnInfo(turn),
    ...(compaction === undefined ? {} : { compaction: { ...compaction.told } }),
  };
}

/** A provider that does not listen to its signal cannot hold up the end of the turn. */
export function unlessAborted<T>(
  turn: Turn,
  operation: (abortSignal: AbortSignal) => T | Promise<T>,
  callerSignal?: AbortSignal,
): Promise<T> {
  const signal = callerSignal === undefined ? turn.signal : [turn.signal, callerSignal];
  return withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY, clock: turn.host.clock }, operation);
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
