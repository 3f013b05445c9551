/** A small agent: a loop around a model. Here the model is a script, so that it needs no key and no network. */
import { isRecallFrame, type ModelMessage } from "@keepsake/core";
import { type MemorySession, runTool, type ToolCall, type TurnTools } from "@keepsake/host";

/** A model sees messages and tools. It answers in words, or calls a tool. */
export type Model = (messages: readonly ModelMessage[], tools: TurnTools) => string | Omit<ToolCall, "toolCallId">;

/** A tool call and what came of it, as text. */
export interface ToolOutcome {
  readonly toolName: string;
  readonly answer: string;
  readonly failed: boolean;
}

/** What the memory in the prompt was, which tools the model called, and what it said in the end. */
export interface TurnOutcome {
  readonly recalled: string | undefined;
  readonly outcomes: readonly ToolOutcome[];
  readonly answer: string;
}

/** Runs one turn to its end. */
export async function takeTurn(session: MemorySession, model: Model, text: string): Promise<TurnOutcome> {
  const turn = await session.startTurn(text);
  const responseMessages: ModelMessage[] = [];
  const outcomes: ToolOutcome[] = [];
  for (;;) {
    const reply = model([...turn.messages, ...responseMessages], turn.tools);
    if (typeof reply === "string") {
      responseMessages.push({ role: "assistant", content: reply });
      await session.completeTurn({ responseMessages });
      return { recalled: recalledText(turn.messages), outcomes, answer: reply };
    }
    const call = { toolCallId: `call-${outcomes.length}`, ...reply };
    const result = await runTool(turn.tools, call);
    responseMessages.push({ role: "assistant", content: [{ type: "tool-call", ...call }] }, result);
    outcomes.push({ toolName: call.toolName, ...toolAnswer(result) });
  }
}

/** The text of a tool's answer, and whether it is a refusal. */
export function toolAnswer(message: ModelMessage): { readonly answer: string; readonly failed: boolean } {
  const [part] = message.role === "tool" ? message.content : [];
  if (part?.type !== "tool-result") return { answer: "", failed: true };
  const { output } = part;
  if (output.type === "error-text") return { answer: output.value, failed: true };
  return { answer: output.type === "json" ? JSON.stringify(output.value) : "", failed: false };
}

/** The memory in the prompt, in its latest form. */
export function recalledText(messages: readonly ModelMessage[]): string | undefined {
  return messages
    .flatMap(({ content }) => (typeof content === "string" ? [content] : []))
    .findLast((content) => isRecallFrame(content));
}
