/** One turn in the making: what every phase of it knows, and what a provider is told of it. */
import {
  type Clock,
  emitEvent,
  type MemoryChannel,
  type MemoryEvent,
  type MemoryEventListener,
  type MemoryNamespaceContext,
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

/** What a turn needs of its host. */
export interface TurnHost {
  readonly slots: readonly Slot[];
  readonly allowSharedPartitions: boolean;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly onEvent: MemoryEventListener | undefined;
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
  readonly input: readonly HistoryEntry["message"][];
  /** Aborts when the turn is given up, by its caller's signal or by `cancelTurn`. */
  readonly signal: AbortSignal;
}

/** Made anew for each reader, so that no slot can change what another sees. */
export function sessionInfo({ sessionId, auth, id, sequence }: Turn): MemorySessionInfo {
  return Object.freeze({ id: sessionId, auth, turn: Object.freeze({ id, sequence }) });
}

export function turnInfo({ id, input, sequence }: Turn): MemoryTurn {
  return Object.freeze({ id, input, sequence });
}

/** What a handler of this phase is called with. */
export function handlerContext(
  turn: Turn,
  lock: SlotLock,
  call: {
    readonly phase: "turn.started" | "turn.completed";
    readonly messages: readonly ModelMessage[];
    readonly abortSignal: AbortSignal;
  },
): MemoryTurnContext {
  const { phase, messages, abortSignal } = call;
  const { sessionId, sequence, id: turnId } = turn;
  const slot = lock.slot.name;
  return {
    abortSignal,
    getSandbox: turn.host.capabilities.getSandbox,
    memory: { scope: lock.scope, slot },
    messages: [...messages],
    operationId: operationId({ sessionId, sequence, turnId, phase, slot }),
    session: sessionInfo(turn),
    turn: turnInfo(turn),
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

/** Milliseconds since `startedAt`. */
export function elapsedMs({ host }: Turn, startedAt: number): number {
  return host.clock.now() - startedAt;
}

export function emit({ host }: Turn, event: MemoryEvent): void {
  emitEvent(host.onEvent, event);
}
