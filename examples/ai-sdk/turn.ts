/** One turn: memory is recalled, the model answers and uses its tools, and a person is asked where a tool wants that. */
import { isRecallFrame, type ModelMessage } from "@keepsake/core";
import { type MemorySession, memoryInstructions, type TurnTools } from "@keepsake/host";
import { isStepCount, type LanguageModel, streamText, type TextStreamPart, type ToolApprovalRequestOutput } from "ai";

const instructions = `You are a companion in a terminal: answer in a few plain sentences.\n\n${memoryInstructions}`;

/** A tool call that waits for a person's word. */
export type ApprovalRequest = ToolApprovalRequestOutput<TurnTools>;

/** Where a turn is shown, and who is asked. */
export interface TurnView {
  /** What the model is shown of memory, one memory each: `<number>: <text>`. */
  recalled(memories: readonly string[]): void;
  /** The next piece of the answer. */
  text(piece: string): void;
  tool(toolName: string, outcome: string): void;
  approve(request: ApprovalRequest, memories: readonly string[]): Promise<boolean>;
}

export interface TurnOptions {
  readonly model: LanguageModel;
  readonly view: TurnView;
  readonly abortSignal: AbortSignal;
}

/** @throws Whatever the memory or the model throws, and the signal's reason. The turn is given up then. */
export async function takeTurn(session: MemorySession, input: string, options: TurnOptions): Promise<void> {
  const { model, view, abortSignal } = options;
  const { messages, tools } = await session.startTurn(input, { abortSignal });
  try {
    const memories = recalledMemories(messages);
    view.recalled(memories);
    const responseMessages: ModelMessage[] = [];
    for (;;) {
      const result = streamText({
        model,
        instructions,
        messages: [...messages, ...responseMessages],
        tools,
        stopWhen: isStepCount(10),
        abortSignal,
        onError: () => {}, // thrown by show(), instead of printed
      });
      const requests = await show(result.stream, view);
      abortSignal.throwIfAborted(); // an aborted stream just ends
      responseMessages.push(...(await result.responseMessages));
      if (requests.length === 0) break;
      // Called again with the answers, the SDK runs what was approved and tells the model of what was not.
      responseMessages.push({ role: "tool", content: await answers(requests, memories, view) });
    }
    await session.completeTurn({ responseMessages });
  } catch (error) {
    session.cancelTurn();
    throw error;
  }
}

/** Shows an answer as it comes, and gives back what a person has to decide. @throws What went wrong in the stream. */
async function show(stream: AsyncIterable<TextStreamPart<TurnTools>>, view: TurnView): Promise<ApprovalRequest[]> {
  const requests: ApprovalRequest[] = [];
  for await (const part of stream) {
    if (part.type === "text-delta") view.text(part.text);
    else if (part.type === "tool-result") view.tool(part.toolName, JSON.stringify(part.output));
    else if (part.type === "tool-error") view.tool(part.toolName, `refused: ${errorText(part.error)}`);
    else if (part.type === "tool-output-denied") view.tool(part.toolName, "not allowed");
    else if (part.type === "tool-approval-request") requests.push(part);
    else if (part.type === "error") throw part.error;
  }
  return requests;
}

/** One line that a person can use. */
export function errorText(error: unknown): string {
  const [line = "Something failed."] = (error instanceof Error ? error.message : String(error)).trim().split("\n");
  const code: unknown = error instanceof Error ? Reflect.get(Object(error.cause), "code") : undefined;
  return typeof code === "string" ? `${line} (${code})` : line;
}

type Answers = Extract<ModelMessage, { role: "tool" }>["content"];

async function answers(
  requests: readonly ApprovalRequest[],
  memories: readonly string[],
  view: TurnView,
): Promise<Answers> {
  const given: Answers = [];
  for (const request of requests) {
    const approved = await view.approve(request, memories);
    given.push({ type: "tool-approval-response", approvalId: request.approvalId, approved });
  }
  return given;
}

/** The lines of the recalled message, without its frame and its first line, which is for the model. */
function recalledMemories(messages: readonly ModelMessage[]): readonly string[] {
  return messages
    .flatMap(({ content }) => (typeof content === "string" && isRecallFrame(content) ? [content] : []))
    .flatMap((frame) => frame.split("\n").slice(2, -1));
}
