/** A model that is shown prompts as plain text and answers what a test says. */
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";

/** What the model was shown at one step. */
export interface Prompt {
  /** `role: text`, the system prompt included. */
  readonly messages: readonly string[];
  readonly tools: readonly OfferedTool[];
  /** Oldest first, those of earlier turns included. */
  readonly toolResults: readonly ToolResult[];
}

interface OfferedTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema. */
  readonly inputSchema: unknown;
}

interface ToolResult {
  readonly toolName: string;
  readonly output: unknown;
}

/** Text, or a tool call. */
export type Reply = string | { readonly toolName: string; readonly input: unknown };

type ModelCall = Parameters<MockLanguageModelV4["doStream"]>[0];
type ModelStream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type ModelStreamPart = ModelStream extends ReadableStream<infer Part> ? Part : never;
type ModelMessage = ModelCall["prompt"][number];
type ModelMessagePart = Exclude<ModelMessage["content"], string>[number];

export function scriptedModel(respond: (prompt: Prompt) => Reply): MockLanguageModelV4 {
  let calls = 0;
  return new MockLanguageModelV4({
    doStream: async (call) => {
      calls += 1;
      return { stream: convertArrayToReadableStream(streamOf(respond(promptOf(call)), `call_${calls}`)) };
    },
  });
}

function promptOf({ prompt, tools = [] }: ModelCall): Prompt {
  return {
    messages: prompt.map((message) => `${message.role}: ${partsOf(message).map(textOf).join(" ")}`),
    tools: tools.flatMap((tool) =>
      tool.type === "function"
        ? [{ name: tool.name, description: tool.description, inputSchema: tool.inputSchema }]
        : [],
    ),
    toolResults: prompt
      .flatMap(partsOf)
      .flatMap((part) =>
        part.type === "tool-result" ? [{ toolName: part.toolName, output: part.output as unknown }] : [],
      ),
  };
}

function partsOf({ content }: ModelMessage): readonly ModelMessagePart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function textOf(part: ModelMessagePart): string {
  if (part.type === "text") return part.text;
  if (part.type === "tool-call") return `${part.toolName} ${JSON.stringify(part.input)}`;
  return part.type === "tool-result" ? JSON.stringify(part.output) : part.type;
}

function streamOf(reply: Reply, id: string): ModelStreamPart[] {
  const parts: ModelStreamPart[] =
    typeof reply === "string"
      ? [
          { type: "text-start", id },
          { type: "text-delta", id, delta: reply },
          { type: "text-end", id },
        ]
      : [{ type: "tool-call", toolCallId: id, toolName: reply.toolName, input: JSON.stringify(reply.input) }];
  return [
    { type: "stream-start", warnings: [] },
    ...parts,
    {
      type: "finish",
      finishReason: { unified: typeof reply === "string" ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
    },
  ];
}
