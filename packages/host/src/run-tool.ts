/** Carries out a model's tool call in a loop of one's own. The AI SDK does this by itself. */
import { MemoryError, type ModelMessage, type ToolModelMessage, withDeadline } from "@keepsake/core";
import type { TurnTools } from "./tools.ts";

export interface ToolCall {
  /** The model's id for the call. */
  readonly toolCallId: string;
  /** The qualified name, `<slot>__<tool>`. */
  readonly toolName: string;
  readonly input: unknown;
}

export interface RunToolOptions {
  readonly messages?: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
  /** Asks a person about a call that needs one's agreement. Without it, such calls are denied. */
  readonly approve?: (call: ToolCall) => boolean | Promise<boolean>;
}

type ToolOutput = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"];

/**
 * The message that answers the call. A tool that refuses or fails is an answer too: the model is told, and the turn goes
 * on. Only an abort, of the call or of its turn, is thrown.
 */
export async function runTool(
  tools: TurnTools,
  call: ToolCall,
  options: RunToolOptions = {},
): Promise<ToolModelMessage> {
  const { toolCallId, toolName, input } = call;
  const { approve, abortSignal, messages } = options;
  const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
  const signals = [tool?.turnSignal, abortSignal].filter((signal) => signal !== undefined);
  const carryOut = async (signal: AbortSignal): Promise<ToolOutput> => {
    if (tool === undefined) throw new MemoryError("invalid_input", "There is no tool of this name in this turn.");
    if ((await tool.needsApproval?.(input, { toolCallId })) && !(await approve?.(call))) {
      return { type: "execution-denied", reason: "A person has to agree to this call, and has not." };
    }
    signal.throwIfAborted();
    const callOptions = { toolCallId, abortSignal: signal, ...(messages === undefined ? {} : { messages }) };
    const output = await tool.execute(input, callOptions);
    return (await tool.toModelOutput?.({ output })) ?? { type: "json", value: output };
  };
  // Nothing that is waited for, be it a person, can hold up the end of the turn.
  const output = await withDeadline({ signal: signals, timeoutMs: Number.POSITIVE_INFINITY }, carryOut).catch(
    (error: unknown): ToolOutput => {
      for (const signal of signals) signal.throwIfAborted();
      return { type: "error-text", value: errorText(error) };
    },
  );
  return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
}

function errorText(error: unknown): string {
  try {
    const message: unknown = error instanceof Error ? error.message : undefined;
    if (typeof message === "string" && message !== "") return message;
  } catch {
    // an error whose message cannot be read
  }
  return "The tool failed.";
}
