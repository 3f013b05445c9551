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
  type MemoryToolsContext,
  type MemoryTurn,
  type SessionAuth,
  withDeadline,
} from "@keepsake/core";
import type { HistoryEntry } from "./history.ts";
import type { HostCapabilities } from "./host-capabilities.ts";
import type { Slot } from "./slots.ts";
import type { MemoryTracer } from "./tracer.ts";

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
  readonly told: {
    readonly session: MemorySessionInfo;
    /** What `tools()` is told of it: eve leaves the turn out. */
    readonly sessionOfTools: MemoryToolsContext["session"];
    readonly turn: MemoryTurn;
  };
  /** Aborts when the turn is given up, by its caller's signal or by `cancelTurn`. */
  readonly signal: AbortSignal;
  /** Whoever waits for a provider is told here when the signal aborts: one listener for the whole turn. */
  readonly waiting: Set<(reason: unknown) => void>;
}

/** A provider that does not listen to its signal cannot hold up the end of the turn. */
export function unlessAborted<T>(
  turn: Turn,
  operation: (abortSignal: AbortSignal) => T | Promise<T>,
  callerSignal?: AbortSignal,
): Promise<T> {
  const { signal, waiting, host } = turn;
  // Only where there are two signals is a third made of them: a turn waits a dozen times.
  if (callerSignal !== undefined) {
    return withDeadline(
      { signal: [signal, callerSignal], timeoutMs: Number.POSITIVE_INFINITY, clock: host.clock },
      operation,
    );
  }
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    waiting.add(reject); // before the operation runs: an outcome that comes with the abort is too late
    Promise.resolve(operation(signal)).then(
      (outcome) => {
        waiting.delete(reject);
        resolve(outcome);
      },
      (error: unknown) => {
        waiting.delete(reject);
        reject(error);
      },
    );
  });
}

/** Tells that something ended, and how long it took since `startedAt`. */
export function emitTimed(turn: Turn, startedAt: number, event: MemoryEvent): void {
  const { onEvent, clock } = turn.host;
  if (onEvent !== undefined) emitEvent(onEvent, { ...event, durationMs: clock.now() - startedAt });
}

export function emit({ host }: Turn, event: MemoryEvent): void {
  emitEvent(host.onEvent, event);
}
