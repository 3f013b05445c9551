/** The turn's messages and tools go into the real AI SDK as they are. */
import { defineMemory } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { fileMemory, inMemory } from "@keepsake/file";
import { generateText, isStepCount, type ToolSet } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, expectTypeOf, it } from "vitest";
import { createMemoryHost, type MemoryTurnHandle } from "./index.ts";
import { person } from "./test-support/slots.ts";

type GenerateResult = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function scriptedModel(...steps: readonly GenerateResult["content"][]): MockLanguageModelV4 {
  let step = 0;
  return new MockLanguageModelV4({
    doGenerate: async (): Promise<GenerateResult> => {
      const content = steps[step++] ?? [];
      const unified = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
}

describe("the AI SDK", () => {
  it("runs a turn over several steps with a tool call, and the next session recalls it", async () => {
    const profile = defineMemory({ provider: fileMemory({ backend: inMemory() }), scope: byPrincipal });
    const host = createMemoryHost({ slots: { profile } });
    const session = host.session({ auth: person("ann") });
    const turn = await session.startTurn("I like tea.");
    const model = scriptedModel(
      [
        {
          type: "tool-call",
          toolCallId: "c1",
          toolName: "profile__save_memory",
          input: JSON.stringify({ text: "Likes tea." }),
        },
      ],
      [{ type: "text", text: "Noted." }],
    );
    const result = await generateText({ model, messages: turn.messages, tools: turn.tools, stopWhen: isStepCount(5) });
    expect(result.text).toBe("Noted.");
    expect(model.doGenerateCalls[0]?.tools?.map(({ name }) => name)).toEqual([
      "profile__remove_memory",
      "profile__save_memory",
    ]);
    expect(model.doGenerateCalls[0]?.tools?.[1]).toMatchObject({
      inputSchema: { required: ["text"], additionalProperties: false },
    });
    await session.completeTurn({ responseMessages: result.responseMessages });
    const said = session.state.history.map(({ message }) => message.role);
    expect(said).toEqual(["user", "assistant", "tool", "assistant"]);

    const later = await host.session({ auth: person("ann") }).startTurn("What do I like?");
    const second = scriptedModel([{ type: "text", text: "Tea." }]);
    await generateText({ model: second, messages: later.messages, tools: later.tools });
    const prompt = second.doGenerateCalls[0]?.prompt ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(JSON.stringify(prompt[0]?.content)).toContain("0: Likes tea.");
  });

  it("takes the types as they are", () => {
    expectTypeOf<MemoryTurnHandle["tools"]>().toExtend<ToolSet>();
    expectTypeOf<MemoryTurnHandle["messages"]>().toExtend<
      NonNullable<Parameters<typeof generateText>[0]["messages"]>
    >();
  });
});
