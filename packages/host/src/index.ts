export { defaultNamespace } from "./default-namespace.ts";
export { createMemoryHost, type MemoryHost, type MemoryHostOptions, type SessionOptions } from "./host.ts";
export type { HostCapabilities } from "./host-capabilities.ts";
export { runTool, type ToolCall } from "./run-tool.ts";
export type {
  CompleteTurnInput,
  MemorySession,
  MemoryTurnHandle,
  SessionState,
  StartTurnOptions,
} from "./session.ts";
export type { ToolCallOptions, ToolInputSchema, TurnTool, TurnTools } from "./tools.ts";
