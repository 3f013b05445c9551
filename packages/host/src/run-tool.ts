/** Carries out a model's tool call in a loop of one's own. The AI SDK does this by itself. */
import { MemoryError, type ModelMessage, type ToolModelMessage } from "@keepsake/core";
import type { TurnTools } from "./tools.ts";

export interface ToolCall {
  /** The model's id for the call. */
  readonly toolCallId: string;
  /** The qualified name, `<slot>__<tool>`. */
  readonly toolName: string;
  readonly input: unknown;
}

/**
 * The message that answers the call. A tool that refuses or fails is an answer too: the model is told, and the turn goes
 * on. Only an abort is thrown.
 */
export async function runTool(
  tools: TurnTools,
  { toolCallId, toolName, input }: ToolCall,
  options: { readonly messages?: readonly ModelMessage[]; readonly abortSignal?: AbortSignal } = {},
): Promise<ToolModelMessage> {
  const answer = (output: Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"]) =>
    ({ role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] }) satisfies ToolModelMessage;
  try {
    const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
    if (tool === undefined) throw new MemoryError("invalid_input", "There is no tool of this name in this turn.");
    const output = await tool.execute(input, { toolCallId, ...options });
    return answer((await tool.toModelOutput?.({ output })) ?? { type: "json", value: output });
  } catch (error) {
    options.abortSignal?.throwIfAborted();
    return answer({ type: "error-text", value: error instanceof Error ? error.message : "The tool failed." });
  }
}
