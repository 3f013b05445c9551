/** Where somebody may watch the host's calls to providers. Without a watcher it costs nothing. */
import type { MemoryPhase } from "@keepsake/core";

/** One call of a provider, before it is made. */
export interface TracedCall {
  readonly kind: "recall" | "capture" | "tool";
  readonly slot: string;
  /** The derived key: it tells partitions apart and says nothing of who they belong to. */
  readonly scopeKey: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** Of a recall or capture. */
  readonly phase?: MemoryPhase;
  readonly operationId?: string;
  /** Of a tool. */
  readonly toolName?: string;
  readonly toolDescription?: string;
  readonly callId?: string;
  /** What goes in, for watchers that are allowed content. */
  readonly input: () => unknown;
}

/** What came out of a call that succeeded. */
export interface TracedResult {
  /** Of a recall: how many messages. */
  readonly records?: number;
  /** Length in UTF-16 units: of recalled text, or of a tool's answer as JSON. */
  readonly characters?: number;
  /** What came out, for watchers that are allowed content. */
  readonly output?: () => unknown;
}

export interface MemoryTracer {
  /** Runs the call once and passes on how it ends. `wasGivenUp` tells a cancellation from a failure. */
  trace<T>(
    call: TracedCall,
    run: () => Promise<T>,
    told: { readonly result: (value: T) => TracedResult; readonly wasGivenUp: () => boolean },
  ): Promise<T>;
}
