/** One channel for what providers, engine and host want an operator to know. Codes, counts and durations; never content. */
import type { MemoryPhase } from "./contract.ts";
import { type MemoryErrorCode, sanitizeCause } from "./errors.ts";

/** Stable codes. `design/event-codes.json` says what each means; codes are only ever added. */
export const memoryEventCodes = [
  "turn_started",
  "turn_completed",
  "turn_cancelled",
  "turn_failed",
  "turn_resumed",
  "compaction_completed",
  "compaction_cancelled",
  "compaction_failed",
  "history_cleared",
  "slot_disabled",
  "recall_completed",
  "recall_failed",
  "recall_skipped",
  "recall_bounded",
  "tools_failed",
  "capture_completed",
  "capture_failed",
  "secret_refused",
  "input_refused",
  "operation_extended",
  "retry",
  "document_set_aside",
] as const;

export type MemoryEventCode = (typeof memoryEventCodes)[number];

export interface MemoryEvent {
  readonly code: MemoryEventCode;
  readonly slot?: string;
  /** Which handler of the provider was called. */
  readonly phase?: MemoryPhase;
  /** Which of a disabled slot's two answered `null`. */
  readonly resolver?: "scope" | "namespace";
  readonly durationMs?: number;
  /** Numbers by name: `messages`, `characters`, `entries`, `attempt`. */
  readonly counts?: Readonly<Record<string, number>>;
  /** Ids of the secret rules that matched. */
  readonly ruleIds?: readonly string[];
  readonly error?: { readonly name: string; readonly code?: MemoryErrorCode | string; readonly status?: number };
}

export type MemoryEventListener = (event: MemoryEvent) => void;

/** Tells the listener; a listener that throws, at once or later, changes nothing for memory. */
export function emitEvent(listener: MemoryEventListener | undefined, event: MemoryEvent): void {
  if (listener === undefined) return;
  try {
    const later: unknown = listener(event);
    if (later !== undefined) Promise.resolve(later).catch(() => {}); // an async function is a listener too
  } catch {
    // An observer must not be able to fail a turn.
  }
}

/** What an event may say of an error. */
export function describeError(error: unknown): NonNullable<MemoryEvent["error"]> {
  return sanitizeCause(error);
}
