/**
 * A script in place of a model. "Remember: ...", "Team: ..." and "Forget: ..." make it call a memory tool. Anything
 * else it answers with what it was shown from memory and which tools it was given.
 */
import { isRecallFrame } from "@keepsake/core";
import { type MockModelRequest, type MockModelToolCall, type MockModelToolResult, mockModel } from "eve/evals";

export const scriptedModel = mockModel({ modelId: "script", respond });

function respond({ lastUserMessage, messages, toolResults, tools }: MockModelRequest) {
  const result = toolResults.at(-1);
  if (messages.at(-1)?.role === "tool" && result !== undefined) return outcome(result);
  const toolNames = tools.map(({ name }) => name);
  const call = command(lastUserMessage ?? "");
  if (call === undefined) return [...memories(messages), `Tools: ${toolNames.join(", ") || "none"}.`].join("\n");
  if (!toolNames.includes(call.name)) return `I was not given ${call.name}.`;
  return { toolCalls: [call] };
}

function command(said: string): MockModelToolCall | undefined {
  const [, verb, rest] = /^(Remember|Team|Forget): (.+)$/.exec(said) ?? [];
  if (verb === "Remember") return { name: "profile__save_memory", input: { text: rest } };
  if (verb === "Team") return { name: "team__save_memory", input: { text: rest } };
  if (verb === "Forget") return { name: "profile__remove_memory", input: { index: Number(rest) } };
  return undefined;
}

function outcome({ isError, output }: MockModelToolResult): string {
  if (isError) return `That was refused: ${JSON.stringify(output)}`;
  return `Done: ${JSON.stringify(output)}`;
}

/** The entries it was shown, each behind the name of its slot. Of a slot that spoke twice, the later word counts. */
function memories(messages: MockModelRequest["messages"]): readonly string[] {
  const frames = messages.flatMap(({ text }) => (isRecallFrame(text) ? [text] : []));
  const bySlot = new Map(frames.map((frame) => [/ slot="([^"]*)"/.exec(frame)?.[1], frame]));
  const lines = [...bySlot].flatMap(([slot, frame]) =>
    [...frame.matchAll(/^\d+: .*$/gm)].map(([entry]) => `${slot} ${entry}`),
  );
  return lines.length > 0 ? ["I was shown:", ...lines] : ["I was shown nothing."];
}
