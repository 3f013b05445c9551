import type { MemoryCompactionRequestedContext, ModelMessage } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { describe, expect, it } from "vitest";
import { createMemoryHost, type MemoryHostOptions } from "./index.ts";
import { answer, person, recorder, slotKnowing, slotRecalling } from "./test-support/slots.ts";

const contents = (messages: readonly ModelMessage[]): unknown[] => messages.map(({ content }) => content);
const summarize = (messages: readonly ModelMessage[]): string => `said: ${contents(messages).join(", ")}`;
const summary = "Summary of the conversation so far:";

function sessionOf(slots: MemoryHostOptions["slots"], options: Partial<MemoryHostOptions> = {}) {
  return createMemoryHost({ slots, randomId: () => "S", ...options }).session({ auth: person("ann"), modelId: "gpt" });
}

async function talk(session: ReturnType<typeof sessionOf>, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    await session.startTurn(text);
    await session.completeTurn(answer);
  }
}

describe("between turns", () => {
  it("sums up what was said but for the last messages, and keeps what was recalled, first", async () => {
    const session = sessionOf({ notes: slotKnowing(() => "likes tea") });
    await talk(session, "one", "two");
    const { compacted, messages } = await session.compact({ summarize, keepMessages: 1 });
    expect(compacted).toBe(true);
    expect(messages).toEqual([
      { role: "user", content: "likes tea" },
      { role: "user", content: summary },
      { role: "assistant", content: "said: one, ok, two" },
      { role: "assistant", content: "ok" },
    ]);
    expect(contents((await session.startTurn("three")).messages).at(-1)).toBe("three");
  });

  it("does nothing, and asks nobody, where there are no more messages than are to be kept", async () => {
    const session = sessionOf({});
    await talk(session, "one");
    const never = () => {
      throw new Error("was asked");
    };
    for (const keepMessages of [2, 10, undefined]) {
      const options = keepMessages === undefined ? {} : { keepMessages };
      expect(await session.compact({ summarize: never, ...options })).toMatchObject({ compacted: false });
    }
    expect(contents((await session.compact({ summarize, keepMessages: 1 })).messages)).toEqual([
      summary,
      "said: one",
      "ok",
    ]);
  });

  it("sums up an earlier summary with what came after it, whole, and never alone", async () => {
    const { events, onEvent } = recorder();
    const session = sessionOf({}, { onEvent });
    await talk(session, "one", "two");
    await session.compact({ summarize, keepMessages: 2 });
    const compact = async (keepMessages: number) =>
      contents((await session.compact({ summarize, keepMessages })).messages);
    const first = [summary, "said: one, ok", "two", "ok"];
    for (const keepMessages of [4, 3, 2]) expect(await compact(keepMessages)).toEqual(first);
    expect(await compact(1)).toEqual([summary, `said: ${summary}, said: one, ok, two`, "ok"]);
    expect(events.filter(({ code }) => code === "compaction_completed").map(({ counts }) => counts)).toEqual([
      { messages: 2 },
      { messages: 3 },
    ]);
  });

  it("keeps no tool's answer without its call", async () => {
    const session = sessionOf({});
    const call = { toolCallId: "1", toolName: "x__y" };
    await session.startTurn("one");
    await session.completeTurn({
      responseMessages: [
        { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
        { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "y" } }] },
        { role: "assistant", content: "ok" },
      ],
    });
    const { messages } = await session.compact({ summarize: () => "short", keepMessages: 2 });
    expect(contents(messages)).toEqual([summary, "short", "ok"]);
  });

  it("does nothing to an empty history, and asks nobody", async () => {
    let asked = 0;
    const session = sessionOf({
      notes: slotRecalling(() => null, { capture: { "compaction.requested": () => void asked++ } }),
    });
    expect(await session.compact({ summarize, keepMessages: 1 })).toEqual({ compacted: false, messages: [] });
    await talk(session, "one");
    session.clear();
    expect(await session.compact({ summarize, keepMessages: 1 })).toEqual({ compacted: false, messages: [] });
    expect(asked).toBe(0);
    await talk(session, "two");
    await session.compact({ summarize, keepMessages: 1 });
    expect(asked).toBe(1);
  });

  it("lets every slot capture before and recall after, each time under ids of its own", async () => {
    const calls: unknown[] = [];
    const notes = slotRecalling(() => ({ messages: [{ id: "k", content: "before" }] }), {
      capture: {
        "compaction.requested": ({ operationId, turn, compaction }: MemoryCompactionRequestedContext) =>
          void calls.push([operationId, turn?.id, compaction]),
      },
      after: ({ operationId, turn, compaction, messages }) => {
        calls.push([operationId, turn?.id, compaction, contents(messages)]);
        return { messages: [{ id: "k", content: `after ${calls.length}` }] };
      },
    });
    const session = sessionOf({ notes });
    await talk(session, "one");
    await session.compact({ summarize: () => "S1", keepMessages: 1, usageInputTokens: 900 });
    await session.compact({ summarize: () => "S2", keepMessages: 0 });
    expect(calls).toEqual([
      [
        "eve-memory-operation-v1:S:1:turn_0:0:compaction.requested:notes",
        "turn_0",
        { modelId: "gpt", usageInputTokens: 900 },
      ],
      [
        "eve-memory-operation-v1:S:1:turn_0:0:compaction.completed:notes",
        "turn_0",
        { modelId: "gpt" },
        ["before", summary, "S1", "ok"],
      ],
      [
        "eve-memory-operation-v1:S:1:turn_0:1:compaction.requested:notes",
        "turn_0",
        { modelId: "gpt", usageInputTokens: null },
      ],
      [
        "eve-memory-operation-v1:S:1:turn_0:1:compaction.completed:notes",
        "turn_0",
        { modelId: "gpt" },
        ["after 2", summary, "S2"],
      ],
    ]);
    expect(contents((await session.startTurn("two")).messages)).toEqual([summary, "S2", "before", "two"]);
  });

  it("works on the scopes of the latest turn in another process too", async () => {
    const seen: unknown[] = [];
    const notes = slotRecalling(() => null, {
      scope: byPrincipal,
      capture: { "compaction.requested": ({ memory, session }) => void seen.push([memory.scope.value, session.auth]) },
    });
    const session = sessionOf({ notes });
    await session.startTurn("one", { auth: person("ben") });
    await session.completeTurn(answer);
    const state = JSON.parse(JSON.stringify(session.state));
    const resumed = createMemoryHost({ slots: { notes } }).session({ auth: person("cleo"), state });
    await resumed.compact({ summarize, keepMessages: 1 });
    expect(seen).toEqual([['["user","test",null,"ben"]', { current: person("ben"), initiator: person("ann") }]]);
  });
});

describe("within a turn", () => {
  const asked: ModelMessage = { role: "assistant", content: [{ type: "text", text: "let me see" }] };
  const done: ModelMessage = { role: "assistant", content: [{ type: "text", text: "done" }] };

  it("keeps what was asked, and takes the answer so far into the history once", async () => {
    const captured: unknown[] = [];
    const notes = slotRecalling(() => ({ messages: [{ id: "k", content: "memory" }] }), {
      capture: { "turn.completed": ({ messages }) => void captured.push(contents(messages)) },
      after: () => ({ messages: [{ content: "more memory" }] }),
    });
    const session = sessionOf({ notes });
    await talk(session, "one");
    await session.startTurn("two");
    const { messages } = await session.compact({
      summarize: (said) => `said: ${said.length}`,
      keepMessages: 0,
      responseMessages: [asked],
    });
    expect(contents(messages)).toEqual(["memory", summary, "said: 3", "more memory", "two"]);
    await session.completeTurn({ responseMessages: [asked, done] });
    expect(captured.at(-1)).toEqual(["memory", summary, "said: 3", "more memory", "two", done.content]);
  });

  it("is told when the answer that it is completed with is another", async () => {
    const session = sessionOf({});
    await talk(session, "one");
    await session.startTurn("two");
    await session.compact({ summarize, keepMessages: 1, responseMessages: [asked] });
    for (const responseMessages of [[done], [done, asked]]) {
      await expect(session.completeTurn({ responseMessages })).rejects.toMatchObject({ code: "invalid_input" });
    }
    await session.completeTurn({ responseMessages: [asked, done] });
    expect(session.state.history.filter(({ message }) => message.role === "assistant")).toHaveLength(3);
  });

  it("goes on after a restart, with the answer that was taken", async () => {
    const slots = { notes: slotKnowing(() => "memory") };
    const session = sessionOf(slots);
    await talk(session, "one");
    await session.startTurn("two");
    await session.compact({ summarize: () => "short", keepMessages: 0, responseMessages: [asked] });
    const state = JSON.parse(JSON.stringify(session.state));
    const resumed = createMemoryHost({ slots }).session({ auth: person("ann"), state });
    const { messages } = await resumed.resumeTurn();
    expect(contents(messages)).toEqual(["memory", summary, "short", "two"]);
    await resumed.completeTurn({ responseMessages: [asked, done] });
    expect(resumed.state.history.at(-1)?.message).toEqual(done);
  });
});

describe("a compaction that fails", () => {
  const down = () => {
    throw Object.assign(new Error("pin 4711"), { code: "ECONNRESET" });
  };

  it.each([
    ["a capture", { capture: { "compaction.requested": down } }, {}, { code: "compaction_failed", slot: "notes" }],
    ["a recall", { after: down }, {}, { code: "compaction_failed", cause: { code: "ECONNRESET" } }],
    ["an answer that is no recall", { after: () => "x" as never }, {}, { code: "invalid_recall" }],
    ["a blank summary", {}, { summarize: () => " " }, { code: "compaction_failed" }],
    ["the summary", {}, { summarize: down }, { message: "pin 4711" }],
  ])(
    "for %s leaves the history as it was, and the same operation can be tried again",
    async (_, more, options, failure) => {
      const { events, onEvent } = recorder();
      const session = sessionOf(
        { notes: slotRecalling(() => ({ messages: [{ id: "k", content: "memory" }] }), more) },
        { onEvent },
      );
      await talk(session, "one", "two");
      const before = session.state;
      await expect(session.compact({ summarize, keepMessages: 1, ...options })).rejects.toMatchObject(failure);
      expect(session.state).toEqual(before);
      expect(events.at(-1)?.code).toBe("compaction_failed");
      expect(JSON.stringify(events)).not.toContain("4711");
      await session.startTurn("three");
      await expect(session.compact({ summarize, keepMessages: 1, ...options })).rejects.toMatchObject(failure);
      await session.completeTurn(answer);
      expect(session.state.nextSequence).toBe(3);
    },
  );

  it("is cancelled and not failed where its signal aborts, and a turn that is open goes on", async () => {
    const { events, onEvent } = recorder();
    const session = sessionOf({}, { onEvent });
    await talk(session, "one");
    await session.startTurn("two");
    const controller = new AbortController();
    const hangs = () => {
      queueMicrotask(() => controller.abort("enough"));
      return new Promise<string>(() => {});
    };
    await expect(session.compact({ summarize: hangs, keepMessages: 1, abortSignal: controller.signal })).rejects.toBe(
      "enough",
    );
    expect(events.at(-1)?.code).toBe("compaction_cancelled");
    await session.completeTurn(answer);
    expect(events.at(-1)?.code).toBe("turn_completed");
  });

  it("ends with the turn that it is part of", async () => {
    const { events, onEvent } = recorder();
    const session = sessionOf({}, { onEvent });
    await talk(session, "one");
    await session.startTurn("two");
    const compacting = session.compact({ summarize: () => new Promise<string>(() => {}), keepMessages: 1 });
    session.cancelTurn();
    await expect(compacting).rejects.toMatchObject({ name: "AbortError" });
    expect(events.slice(-2).map(({ code }) => code)).toEqual(["compaction_cancelled", "turn_cancelled"]);
    expect(contents((await session.startTurn("three")).messages)).toEqual(["one", "ok", "two", "three"]);
  });

  it("for what it is given says so, and changes nothing", async () => {
    const session = sessionOf({});
    await talk(session, "one");
    const wrong = [
      {},
      { summarize: "x" },
      { summarize, keepMessages: -1 },
      { summarize, keepMessages: 1.5 },
      { summarize, usageInputTokens: "many" },
      { summarize, responseMessages: [{ role: "assistant", content: "x" }] },
      { summarize, keep: 1 },
    ];
    for (const options of wrong) {
      await expect(session.compact(options as never)).rejects.toMatchObject({ code: "invalid_options" });
    }
    await session.startTurn("two");
    for (const responseMessages of ["x", [{ role: "user", content: "x" }], [{ role: "assistant" }]]) {
      await expect(session.compact({ summarize, responseMessages } as never)).rejects.toMatchObject({
        code: "invalid_input",
      });
    }
    expect(session.state.history).toHaveLength(3);
  });

  it("is one call at a time", async () => {
    const session = sessionOf({});
    await talk(session, "one");
    const { promise, resolve } = Promise.withResolvers<string>();
    const compacting = session.compact({ summarize: () => promise, keepMessages: 1 });
    const refused = { code: "invalid_state" };
    await expect(session.compact({ summarize, keepMessages: 1 })).rejects.toMatchObject(refused);
    await expect(session.startTurn("two")).rejects.toMatchObject(refused);
    await expect(session.resumeTurn()).rejects.toMatchObject(refused);
    expect(() => session.clear()).toThrow(expect.objectContaining(refused));
    resolve("short");
    await compacting;
    await expect(session.startTurn("two")).resolves.toMatchObject({ id: "turn_1" });
    expect(() => session.clear()).toThrow(expect.objectContaining(refused));
  });
});

describe("clear", () => {
  it("empties the history and goes on with a recall and ids of its own", async () => {
    const { events, onEvent } = recorder();
    const ids: string[] = [];
    const notes = slotRecalling(({ operationId }) => {
      ids.push(operationId);
      return { messages: [{ id: "k", content: "memory" }] };
    });
    const session = sessionOf({ notes }, { onEvent });
    await talk(session, "one");
    session.clear();
    expect(session.state).toMatchObject({ sessionId: "S", nextSequence: 1, history: [], turn: null });
    expect(events.at(-1)).toEqual({ code: "history_cleared" });
    expect(contents((await session.startTurn("two")).messages)).toEqual(["memory", "two"]);
    expect(new Set(ids).size).toBe(2);
  });
});
