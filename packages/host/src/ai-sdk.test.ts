/** The turn's messages and tools go into the real AI SDK as they are, and what it answers goes back the same way. */
import {
  defineMemory,
  defineTool,
  type MemoryDefinition,
  MemoryError,
  type MemoryTool,
  type MemoryToolContext,
  type ModelMessage,
} from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { fileMemory, inMemory } from "@keepsake/file";
import { generateText, isStepCount, type PrepareStepFunction, streamText, type ToolSet } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { defineTool as eveDefineTool } from "eve/tools";
import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, type MemorySession, type MemoryTurnHandle } from "./index.ts";
import { person, slotKnowing, slotRecalling } from "./test-support/slots.ts";

type GenerateResult = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;
type ModelStream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type ModelStreamPart = ModelStream extends ReadableStream<infer Part> ? Part : never;
type ModelPrompt = Parameters<MockLanguageModelV4["doStream"]>[0]["prompt"];

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A text, or calls of tools. */
type Step = string | readonly Call[];
interface Call {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

/** A model that answers one step after another, streamed or at once. */
function scriptedModel(...steps: readonly Step[]): MockLanguageModelV4 {
  let count = 0;
  const next = () => {
    const step = steps[count++] ?? "";
    const unified = typeof step === "string" ? ("stop" as const) : ("tool-calls" as const);
    return { step, finishReason: { unified, raw: undefined } };
  };
  const toolCall = ({ id, tool, input }: Call) => ({
    type: "tool-call" as const,
    toolCallId: id,
    toolName: tool,
    input: JSON.stringify(input),
  });
  return new MockLanguageModelV4({
    doGenerate: async (): Promise<GenerateResult> => {
      const { step, finishReason } = next();
      const content = typeof step === "string" ? [{ type: "text" as const, text: step }] : step.map(toolCall);
      return { content, finishReason, usage, warnings: [] };
    },
    doStream: async () => {
      const { step, finishReason } = next();
      const parts = typeof step === "string" ? textParts(step) : step.map(toolCall);
      const start: ModelStreamPart = { type: "stream-start", warnings: [] };
      return { stream: convertArrayToReadableStream([start, ...parts, { type: "finish", finishReason, usage }]) };
    },
  });
}

function textParts(text: string): ModelStreamPart[] {
  return [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: text },
    { type: "text-end", id: "t" },
  ];
}

/** What the model was shown at each step. */
function promptsOf({ doGenerateCalls, doStreamCalls }: MockLanguageModelV4): ModelPrompt[] {
  return [...doGenerateCalls, ...doStreamCalls].map(({ prompt }) => prompt);
}

/** The tools' answers in a prompt, by the id of their call. */
function toolAnswers(prompt: ModelPrompt | undefined): Record<string, unknown> {
  const parts = (prompt ?? []).flatMap((message) => (message.role === "tool" ? message.content : []));
  return Object.fromEntries(
    parts.flatMap((part) => (part.type === "tool-result" ? [[part.toolCallId, part.output]] : [])),
  );
}

interface LoopInput {
  readonly model: MockLanguageModelV4;
  readonly messages: ModelMessage[];
  readonly tools: MemoryTurnHandle["tools"];
  readonly prepareStep?: PrepareStepFunction<ToolSet>;
}
type Loop = (input: LoopInput) => Promise<{ readonly text: string; readonly responseMessages: ModelMessage[] }>;

const loops: Readonly<Record<string, Loop>> = {
  generateText: async (input) => {
    const { text, responseMessages } = await generateText({ ...input, stopWhen: isStepCount(10) });
    return { text, responseMessages };
  },
  streamText: async (input) => {
    const result = streamText({ ...input, stopWhen: isStepCount(10) });
    return { text: await result.text, responseMessages: await result.responseMessages };
  },
};

/** A slot with a `save` tool, which keeps what it is told and what it captures. */
function keepingSlot(
  changes: Partial<MemoryTool> = {},
  save: (text: string, context: MemoryToolContext) => unknown = () => "saved",
) {
  const saved: string[] = [];
  const captured: (readonly ModelMessage[])[] = [];
  const tool = defineTool({
    description: "Saves.",
    inputSchema: z.strictObject({ text: z.string() }),
    execute: ({ text }, context) => {
      saved.push(text);
      return save(text, context);
    },
  });
  const slot: MemoryDefinition = slotRecalling(() => null, {
    tools: async () => ({ save: { ...tool, ...changes } }),
    capture: { "turn.completed": ({ messages }) => void captured.push(messages) },
  });
  return { slot, saved, captured };
}

const rolesOf = ({ state }: MemorySession): string[] => state.history.map(({ message }) => message.role);

describe.each(Object.entries(loops))("%s", (_, loop) => {
  it("runs a turn over several steps, with calls of several slots' tools in one", async () => {
    const profile = keepingSlot();
    const work = keepingSlot({}, (text, { callId }) => ({ saved: text, callId }));
    const session = createMemoryHost({ slots: { profile: profile.slot, work: work.slot } }).session();
    const turn = await session.startTurn("I like tea and I paint.");
    const model = scriptedModel(
      [
        { id: "c1", tool: "profile__save", input: { text: "Likes tea." } },
        { id: "c2", tool: "work__save", input: { text: "Paints." } },
      ],
      [{ id: "c3", tool: "profile__save", input: { text: "Likes it hot." } }],
      "Noted.",
    );
    const { text, responseMessages } = await loop({ ...turn, model });
    expect(text).toBe("Noted.");
    expect(profile.saved).toEqual(["Likes tea.", "Likes it hot."]);
    expect(work.saved).toEqual(["Paints."]);
    expect(toolAnswers(promptsOf(model)[2])).toEqual({
      c1: { type: "text", value: "saved" },
      c2: { type: "json", value: { saved: "Paints.", callId: "c2" } },
      c3: { type: "text", value: "saved" },
    });

    await session.completeTurn({ responseMessages });
    expect(rolesOf(session)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    const whole = session.state.history.map(({ message }) => message);
    expect(profile.captured).toEqual([whole]);
    expect(work.captured).toEqual([whole]);
  });

  it("tells the model when its input does not fit, and goes on", async () => {
    const { slot, saved, captured } = keepingSlot();
    const session = createMemoryHost({ slots: { notes: slot } }).session();
    const model = scriptedModel(
      [{ id: "c1", tool: "notes__save", input: { text: 7 } }],
      [{ id: "c2", tool: "notes__save", input: { text: "Likes tea.", user: "ben" } }],
      [{ id: "c3", tool: "notes__save", input: { text: "Likes tea." } }],
      "Noted.",
    );
    const { text, responseMessages } = await loop({ ...(await session.startTurn("I like tea.")), model });
    expect(text).toBe("Noted.");
    expect(saved).toEqual(["Likes tea."]);
    const told = { type: "error-text", value: expect.stringMatching(/invalid input/i) };
    expect(toolAnswers(promptsOf(model)[3])).toMatchObject({ c1: told, c2: told, c3: { type: "text" } });
    await session.completeTurn({ responseMessages });
    expect(captured).toHaveLength(1);
  });

  it("tells the model when a tool fails, and goes on", async () => {
    const { slot, captured } = keepingSlot({}, (text) => {
      if (text === "too much") throw new MemoryError("limit_exceeded", "Memory is full. Remove something first.");
      return "saved";
    });
    const session = createMemoryHost({ slots: { notes: slot } }).session();
    const model = scriptedModel(
      [
        { id: "c1", tool: "notes__save", input: { text: "too much" } },
        { id: "c2", tool: "notes__save", input: { text: "little" } },
      ],
      "It is full.",
    );
    const { text, responseMessages } = await loop({ ...(await session.startTurn("Keep all this.")), model });
    expect(text).toBe("It is full.");
    expect(toolAnswers(promptsOf(model)[1])).toEqual({
      c1: { type: "error-text", value: expect.stringContaining("Memory is full. Remove something first.") },
      c2: { type: "text", value: "saved" },
    });
    await session.completeTurn({ responseMessages });
    expect(captured).toHaveLength(1);
  });

  it("shows the model what a tool shows it, and not the whole answer", async () => {
    const toModelOutput = () => ({ type: "text" as const, value: "one of 3 memories" });
    const { slot } = keepingSlot({ toModelOutput }, () => ({ all: ["a", "b", "c"] }));
    const session = createMemoryHost({ slots: { notes: slot } }).session();
    const model = scriptedModel([{ id: "c1", tool: "notes__save", input: { text: "x" } }], "ok");
    await loop({ ...(await session.startTurn("hello")), model });
    expect(toolAnswers(promptsOf(model)[1])).toEqual({ c1: { type: "text", value: "one of 3 memories" } });
  });

  describe("asks a person where a tool wants one", () => {
    const askFirst = { approval: () => "user-approval" as const };
    const call = { id: "c1", tool: "notes__save", input: { text: "Likes tea." } };

    it("and the turn waits for the answer, which is yes", async () => {
      const { slot, saved, captured } = keepingSlot(askFirst);
      const session = createMemoryHost({ slots: { notes: slot } }).session();
      const turn = await session.startTurn("I like tea.");
      const { responseMessages: first } = await loop({ ...turn, model: scriptedModel([call]) });
      expect([saved, captured]).toEqual([[], []]);
      await expect(session.startTurn("Hello?")).rejects.toMatchObject({ code: "invalid_state" });

      const answered = [...first, approvalResponse(first, true)];
      const model = scriptedModel("Noted.");
      const second = await loop({ ...turn, messages: [...turn.messages, ...answered], model });
      expect(second.text).toBe("Noted.");
      expect(saved).toEqual(["Likes tea."]);
      expect(toolAnswers(promptsOf(model)[0])).toEqual({ c1: { type: "text", value: "saved" } });

      await session.completeTurn({ responseMessages: [...answered, ...second.responseMessages] });
      expect(rolesOf(session)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
      expect(captured).toEqual([session.state.history.map(({ message }) => message)]);

      const later = scriptedModel("Tea.");
      const { text } = await loop({ ...(await session.startTurn("What do I like?")), model: later });
      expect(text).toBe("Tea.");
      expect(toolAnswers(promptsOf(later)[0])).toEqual({ c1: { type: "text", value: "saved" } });
      expect(saved).toEqual(["Likes tea."]);
    });

    it("and does not run it when the answer is no", async () => {
      const { slot, saved, captured } = keepingSlot(askFirst);
      const session = createMemoryHost({ slots: { notes: slot } }).session();
      const turn = await session.startTurn("I like tea.");
      const { responseMessages: first } = await loop({ ...turn, model: scriptedModel([call]) });
      const answered = [...first, approvalResponse(first, false)];
      const model = scriptedModel("Then not.");
      const second = await loop({ ...turn, messages: [...turn.messages, ...answered], model });
      expect(second.text).toBe("Then not.");
      expect(saved).toEqual([]);
      expect(toolAnswers(promptsOf(model)[0])).toMatchObject({ c1: { type: "execution-denied" } });
      await session.completeTurn({ responseMessages: [...answered, ...second.responseMessages] });
      expect(rolesOf(session)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
      expect(captured).toHaveLength(1);
    });

    it("only where it wants one", async () => {
      const approval = ({ toolInput }: { toolInput?: unknown }) =>
        JSON.stringify(toolInput).includes("secret") ? ("user-approval" as const) : ("approved" as const);
      const { slot, saved } = keepingSlot({ approval });
      const session = createMemoryHost({ slots: { notes: slot } }).session();
      const model = scriptedModel([
        { ...call, id: "c1" },
        { ...call, id: "c2", input: { text: "A secret." } },
      ]);
      const { responseMessages } = await loop({ ...(await session.startTurn("Keep both.")), model });
      expect(saved).toEqual(["Likes tea."]);
      expect(approvalRequests(responseMessages)).toMatchObject([{ toolCallId: "c2" }]);
    });

    it("and the answer may come in another process", async () => {
      const before = keepingSlot(askFirst);
      const session = createMemoryHost({ slots: { notes: before.slot }, appRoot: "/app" }).session();
      const turn = await session.startTurn("I like tea.");
      const { responseMessages } = await loop({ ...turn, model: scriptedModel([call]) });
      const kept = JSON.stringify({ state: session.state, responseMessages });

      const { state, responseMessages: first } = JSON.parse(kept);
      const after = keepingSlot(askFirst);
      const resumed = createMemoryHost({ slots: { notes: after.slot }, appRoot: "/app" }).session({ state });
      const handle = await resumed.resumeTurn();
      expect(handle.messages).toEqual(turn.messages);
      const answered = [...first, approvalResponse(first, true)];
      const model = scriptedModel("Noted.");
      const second = await loop({ ...handle, messages: [...handle.messages, ...answered], model });
      expect(second.text).toBe("Noted.");
      await resumed.completeTurn({ responseMessages: [...answered, ...second.responseMessages] });

      expect(rolesOf(resumed)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
      expect([before.saved, after.saved]).toEqual([[], ["Likes tea."]]);
      expect(before.captured).toEqual([]);
      expect(after.captured).toEqual([resumed.state.history.map(({ message }) => message)]);
    });
  });

  describe("can have the history compacted between two steps", () => {
    const calls = ["c1", "c2"].map((id) => [{ id, tool: "notes__save", input: { text: `Part ${id}.` } }]);

    /** A session with one turn behind it, over a slot that recalls, saves, and notes what it is asked to capture. */
    async function sessionWithHistory() {
      const kept = keepingSlot();
      const captured: { readonly phase: string; readonly messages: unknown[] }[] = [];
      const capture = (phase: string) => (context: { readonly messages: readonly ModelMessage[] }) =>
        void captured.push({ phase, messages: context.messages.map(shortly) });
      const { tools } = kept.slot.provider;
      const notes = slotRecalling(() => ({ messages: [{ id: "known", content: "likes tea" }] }), {
        ...(tools === undefined ? {} : { tools }),
        capture: {
          "turn.completed": capture("turn.completed"),
          "compaction.requested": capture("compaction.requested"),
        },
      });
      const session = createMemoryHost({ slots: { notes } }).session();
      await session.startTurn("old question");
      await session.completeTurn({ responseMessages: [{ role: "assistant", content: "old answer" }] });
      captured.length = 0;
      return { session, captured };
    }

    it("and completes with all messages, of which none is kept twice", async () => {
      const { session, captured } = await sessionWithHistory();
      const summarized: unknown[] = [];
      const model = scriptedModel(...calls, "Done.");
      const { responseMessages } = await loop({
        ...(await session.startTurn("question")),
        model,
        prepareStep: async ({ stepNumber, responseMessages: soFar }) => {
          if (stepNumber !== 2) return {};
          const { messages } = await session.compact({
            responseMessages: soFar,
            keepMessages: 2,
            summarize: (cut) => {
              summarized.push(...cut.map(shortly));
              return "what happened";
            },
          });
          return { messages };
        },
      });
      expect(summarized).toEqual(["old question", "old answer", "call c1", "result c1"]);
      const summary = ["Summary of the conversation so far:", "what happened"];
      const before = ["likes tea", "old question", "old answer", "question", "call c1", "result c1"];
      expect(promptsOf(model)[1]?.map(shortly)).toEqual(before);
      const shown = ["likes tea", ...summary, "question", "call c2", "result c2"];
      expect(promptsOf(model)[2]?.map(shortly)).toEqual(shown);

      await session.completeTurn({ responseMessages });
      const whole = [...shown, "Done."];
      expect(session.state.history.map(({ message }) => shortly(message))).toEqual(whole);
      expect(captured).toEqual([
        { phase: "compaction.requested", messages: [...before, "call c2", "result c2"] },
        { phase: "turn.completed", messages: whole },
      ]);
    });

    it("and keeps no tool's answer whose call was cut", async () => {
      const { session } = await sessionWithHistory();
      const model = scriptedModel(...calls, "Done.");
      const { responseMessages } = await loop({
        ...(await session.startTurn("question")),
        model,
        prepareStep: async ({ stepNumber, responseMessages: soFar }) => {
          if (stepNumber !== 2) return {};
          const summarize = () => "what happened";
          const { messages } = await session.compact({ responseMessages: soFar, keepMessages: 1, summarize });
          return { messages };
        },
      });
      const shown = ["likes tea", "Summary of the conversation so far:", "what happened", "question"];
      expect(promptsOf(model)[2]?.map(shortly)).toEqual(shown);
      await session.completeTurn({ responseMessages });
      expect(session.state.history.map(({ message }) => shortly(message))).toEqual([...shown, "Done."]);
    });

    it("as often as that is wanted", async () => {
      const { session, captured } = await sessionWithHistory();
      const model = scriptedModel(...calls, "Done.");
      let summaries = 0;
      const { responseMessages } = await loop({
        ...(await session.startTurn("question")),
        model,
        prepareStep: async ({ responseMessages: soFar }) => {
          const summarize = () => `summary ${++summaries}`;
          const { messages } = await session.compact({ responseMessages: soFar, keepMessages: 2, summarize });
          return { messages };
        },
      });
      await session.completeTurn({ responseMessages });
      const history = session.state.history.map(({ message }) => shortly(message));
      const kept = ["question", "call c2", "result c2", "Done."];
      expect(history).toEqual(["likes tea", "Summary of the conversation so far:", `summary ${summaries}`, ...kept]);
      expect(summaries).toBeGreaterThan(1);
      expect(captured.filter(({ phase }) => phase === "turn.completed")).toEqual([
        { phase: "turn.completed", messages: history },
      ]);
    });

    it("and the loop goes on after a person's answer", async () => {
      const { slot, saved, captured } = keepingSlot({ approval: () => "user-approval" });
      const session = createMemoryHost({ slots: { notes: slot } }).session();
      await session.startTurn("old question");
      await session.completeTurn({ responseMessages: [{ role: "assistant", content: "old answer" }] });
      captured.length = 0;
      const turn = await session.startTurn("question");
      const [call = []] = calls;
      const { responseMessages: first } = await loop({ ...turn, model: scriptedModel(call) });
      const answered = [...first, approvalResponse(first, true)];
      const model = scriptedModel("Done.");
      const second = await loop({
        ...turn,
        messages: [...turn.messages, ...answered],
        model,
        prepareStep: async ({ responseMessages: soFar }) => {
          const responseMessages = [...answered, ...soFar];
          const summarize = () => "what happened";
          const { messages } = await session.compact({ responseMessages, keepMessages: 3, summarize });
          return { messages };
        },
      });
      expect(saved).toEqual(["Part c1."]);
      const shown = ["Summary of the conversation so far:", "what happened", "question", "call c1", "result c1"];
      expect(promptsOf(model)[0]?.map(shortly)).toEqual(shown);
      await session.completeTurn({ responseMessages: [...answered, ...second.responseMessages] });
      expect(rolesOf(session)).toEqual(["user", "assistant", "user", "assistant", "tool", "tool", "assistant"]);
      expect(captured).toHaveLength(1);
    });
  });
});

describe("the AI SDK", () => {
  it("runs a turn with the file memory's tools, and the next session recalls what they saved", async () => {
    const profile = defineMemory({ provider: fileMemory({ backend: inMemory() }), scope: byPrincipal });
    const host = createMemoryHost({ slots: { profile } });
    const session = host.session({ auth: person("ann") });
    const turn = await session.startTurn("I like tea.");
    const model = scriptedModel([{ id: "c1", tool: "profile__save_memory", input: { text: "Likes tea." } }], "Noted.");
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
    expect(rolesOf(session)).toEqual(["user", "assistant", "tool", "assistant"]);

    const later = await host.session({ auth: person("ann") }).startTurn("What do I like?");
    const second = scriptedModel("Tea.");
    await generateText({ model: second, messages: later.messages, tools: later.tools });
    const prompt = second.doGenerateCalls[0]?.prompt ?? [];
    expect(prompt.map(({ role }) => role)).toEqual(["user", "user"]);
    expect(JSON.stringify(prompt[0]?.content)).toContain("0: Likes tea.");
  });

  it("may be stopped in the middle of an answer; the turn is cancelled, and the session goes on", async () => {
    const { slot, captured } = keepingSlot();
    const session = createMemoryHost({ slots: { notes: slot, known: slotKnowing(() => "likes tea") } }).session();
    const { messages, tools } = await session.startTurn("Tell me a story.");
    const halfAnswered = new MockLanguageModelV4({
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => {
            for (const part of textParts("Once upon").slice(0, 2)) controller.enqueue(part); // and never ends
          },
        }),
      }),
    });
    const stop = new AbortController();
    const stopped: unknown[] = [];
    const { textStream } = streamText({
      model: halfAnswered,
      messages,
      tools,
      abortSignal: stop.signal,
      onAbort: () => void stopped.push("stopped"),
    });
    const heard: string[] = [];
    for await (const text of textStream) {
      heard.push(text);
      stop.abort();
    }
    expect([heard, stopped]).toEqual([["Once upon"], ["stopped"]]);

    session.cancelTurn();
    await expect(tools.notes__save?.execute({ text: "late" })).rejects.toThrow();
    expect(captured).toEqual([]);
    const next = await session.startTurn("Shorter, please.");
    const model = scriptedModel("Once.");
    const { responseMessages } = await generateText({ model, messages: next.messages, tools: next.tools });
    expect(model.doGenerateCalls[0]?.prompt.map(shortly)).toEqual([
      "likes tea",
      "Tell me a story.",
      "Shorter, please.",
    ]);
    await session.completeTurn({ responseMessages });
    expect(captured).toHaveLength(1);
  });

  it("shows the model a tool's JSON Schema exactly as it was written, and leaves the author's own alone", async () => {
    const written = {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      title: "What to save",
      properties: {
        text: { type: "string", examples: ["Likes tea."] },
        about: { type: "object", properties: { who: { type: "string" } } },
        more: { type: "object", additionalProperties: true },
      },
      required: ["text"],
    };
    const inputSchema = structuredClone(written);
    const description = "Saves.";
    const saved: unknown[] = [];
    const execute = (input: unknown) => void saved.push(input);
    const plain = { description, inputSchema, execute, [Symbol.for("eve:tool-brand")]: true };
    const notes = slotRecalling(() => null, {
      tools: async () => ({ plain, eve: eveDefineTool({ description, inputSchema, execute }) }),
    });
    const session = createMemoryHost({ slots: { notes } }).session();
    const input = { text: "Likes tea.", about: { who: "Ann", age: 7 }, more: { hot: true }, extra: 1 };
    for (const tool of ["notes__plain", "notes__eve"]) {
      const model = scriptedModel([{ id: "c1", tool, input }], "ok");
      const { messages, tools } = await session.startTurn("hello");
      const { responseMessages } = await generateText({ model, messages, tools, stopWhen: isStepCount(5) });
      expect(model.doGenerateCalls[0]?.tools).toMatchObject([
        { name: "notes__plain", description },
        { name: "notes__eve", description },
      ]);
      for (const offered of model.doGenerateCalls[0]?.tools ?? []) {
        expect(Reflect.get(offered, "inputSchema")).toEqual(written);
      }
      await session.completeTurn({ responseMessages });
    }
    expect(saved).toEqual([input, input]);
    expect(inputSchema).toEqual(written);
  });

  it("takes the types as they are", () => {
    expectTypeOf<MemoryTurnHandle["tools"]>().toExtend<ToolSet>();
    expectTypeOf<MemoryTurnHandle["messages"]>().toExtend<
      NonNullable<Parameters<typeof generateText>[0]["messages"]>
    >();
    expectTypeOf<MemoryTurnHandle["messages"]>().toExtend<NonNullable<Parameters<typeof streamText>[0]["messages"]>>();
    expectTypeOf<Awaited<ReturnType<MemorySession["compact"]>>>().toExtend<
      NonNullable<Awaited<ReturnType<PrepareStepFunction<ToolSet>>>>
    >();
  });
});

/** A message in a few words: its text, or which calls and results it holds. */
function shortly({ content }: Pick<ModelMessage, "content">): string {
  if (typeof content === "string") return content;
  const words = content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "tool-call") return `call ${part.toolCallId}`;
    return part.type === "tool-result" ? `result ${part.toolCallId}` : part.type;
  });
  return words.join(", ");
}

function approvalRequests(messages: readonly ModelMessage[]) {
  return messages
    .flatMap(({ role, content }) => (role === "assistant" && typeof content !== "string" ? content : []))
    .filter((part) => part.type === "tool-approval-request");
}

/** A person's answer to the one request in these messages. */
function approvalResponse(messages: readonly ModelMessage[], approved: boolean): ModelMessage {
  const [request, ...others] = approvalRequests(messages);
  if (request === undefined || others.length > 0) throw new Error("Expected one request for approval.");
  return { role: "tool", content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved }] };
}
