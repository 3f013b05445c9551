/** Names one call of one handler, the same each time the same call is made again. */
export function operationId(operation: {
  readonly sessionId: string;
  readonly sequence: number;
  readonly turnId: string;
  readonly phase: "turn.started" | "turn.completed";
  readonly slot: string;
}): string {
  const { sessionId, sequence, turnId, phase, slot } = operation;
  return ["eve-memory-operation-v1", sessionId, sequence, turnId, phase, slot].join(":");
}
