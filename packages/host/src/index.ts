export type { CompactedHistory, CompactOptions } from "./compaction.ts";
export { defaultNamespace } from "./default-namespace.ts";
export { createMemoryHost, type MemoryHost, type MemoryHostOptions, type SessionOptions } from "./host.ts";
export type { HostCapabilities } from "./host-capabilities.ts";
export { memoryInstructions } from "./memory-instructions.ts";
export { purgeState } from "./purge-state.ts";
export { type RunToolOptions, runTool, type ToolCall } from "./run-tool.ts";
export type {
  CompleteTurnInput,
  MemorySession,
  MemoryTurnHandle,
  ResumeTurnOptions,
  StartTurnOptions,
} from "./session.ts";
export type { AnswerState, LockState, OpenTurnState, SessionState, TurnState } from "./session-state.ts";
export type { ToolCallOptions, ToolInputSchema, TurnTool, TurnTools } from "./tools.ts";
export type { MemoryTracer, TracedCall, TracedResult } from "./tracer.ts";
