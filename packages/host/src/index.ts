export { defaultNamespace } from "./default-namespace.ts";
export { createMemoryHost, type MemoryHost, type MemoryHostOptions, type SessionOptions } from "./host.ts";
export type { HostCapabilities } from "./host-capabilities.ts";
export { memoryInstructions } from "./memory-instructions.ts";
export { type RunToolOptions, runTool, type ToolCall } from "./run-tool.ts";
export type {
  CompleteTurnInput,
  MemorySession,
  MemoryTurnHandle,
  StartTurnOptions,
} from "./session.ts";
export type { SessionState } from "./session-state.ts";
export type { ToolCallOptions, ToolInputSchema, TurnTool, TurnTools } from "./tools.ts";
