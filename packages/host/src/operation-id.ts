import type { MemoryPhase } from "@keepsake/core";

/** Names one call of one handler, the same each time the same call is made again, and never that of another. */
export function operationId(operation: {
  readonly sessionId: string;
  readonly sequence: number;
  readonly turnId: string;
  readonly phase: MemoryPhase;
  readonly slot: string;
  /** In the phases of a compaction: which one it is, in or since the turn. */
  readonly compaction?: number | undefined;
}): string {
  const { sessionId, sequence, turnId, phase, slot, compaction } = operation;
  const step = compaction === undefined ? "" : `${compaction}:`;
  return `eve-memory-operation-v1:${sessionId}:${sequence}:${turnId}:${step}${phase}:${slot}`;
}
