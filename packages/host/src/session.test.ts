import { defineMemory, defineTool, type MemoryTurnContext, type ModelMessage } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, runTool } from "./index.ts";
import { answer, person, recorder, slotKnowing, slotRecalling } from "./test-support/slots.ts";

const contents = (messages: readonly ModelMessage[]): unknown[] => messages.map(({ content }) => content);
const failing = (error: unknown) => () => {
  throw error;
};

describe("a turn", () => {
  it("shows history, then what was recalled, then the input, each as a user or assistant message", async () => {
    const session = createMemoryHost({ slots: { notes: slotKnowing(() => "likes tea") } }).session();
    const first = await session.startTurn("hello");
    expect(first.messages).toEqual([
      { role: "user", content: "likes tea" },
      { role: "user", content: "hello" },
    ]);
    await session.completeTurn(answer);
    const second = await session.startTurn("again");
    expect(contents(second.messages)).toEqual(["likes tea", "hello", "ok", "again"]);
  });

  it("gives providers the input, the history with kinds, and an id for the operation", async () => {
    const seen: MemoryTurnContext[] = [];
    const slots = { notes: slotRecalling((context) => void seen.push(context)) };
    const session = createMemoryHost({ slots, randomId: () => "S" }).session({ auth: person("ann") });
    await session.startTurn("hello");
    await session.completeTurn(answer);
    await session.startTurn("again");
    expect(seen.map(({ operationId }) => operationId)).toEqual([
      "eve-memory-operation-v1:S:0:turn_0:turn.started:notes",
      "eve-memory-operation-v1:S:1:turn_1:turn.started:notes",
    ]);
    expect(seen[1]?.turn.input).toEqual([{ role: "user", kind: "user", content: "again" }]);
    expect(seen[1]?.messages).toEqual([
      { role: "user", kind: "user", content: "hello" },
      { role: "assistant", content: "ok" },
    ]);
    expect(Object.isFrozen(seen[0]?.memory.scope)).toBe(true);
    expect(seen[0]?.session.auth.current?.principalId).toBe("ann");
  });

  it("is one at a time", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await session.startTurn("one");
    await expect(session.startTurn("two")).rejects.toMatchObject({ code: "invalid_state" });
    await session.completeTurn(answer);
    await expect(session.startTurn("two")).resolves.toMatchObject({ id: "turn_1" });
  });

  it("needs an input", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await expect(session.startTurn("")).rejects.toMatchObject({ code: "invalid_input" });
    await expect(session.startTurn([])).rejects.toMatchObject({ code: "invalid_input" });
    await expect(session.startTurn([{ text: "x" }] as never)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(session.startTurn([{ type: "text", text: "parts too" }])).resolves.toMatchObject({ sequence: 0 });
  });
});

describe("scopes", () => {
  it("are settled for every slot before any provider is called", async () => {
    const calls: string[] = [];
    const slots = {
      a: slotRecalling(() => void calls.push("a")),
      b: slotRecalling(() => void calls.push("b"), { scope: failing(new Error("no directory")) }),
    };
    const session = createMemoryHost({ slots }).session();
    await expect(session.startTurn("hello")).rejects.toMatchObject({ code: "scope_failed", slot: "b" });
    expect(calls).toEqual([]);
  });

  it("of null turn the slot off: no call, no tools, earlier records hidden, one event without a value", async () => {
    const { events, onEvent } = recorder();
    let recalls = 0;
    const notes = slotRecalling(
      () => {
        recalls += 1;
        return { messages: [{ id: "n", content: "Ann's note" }] };
      },
      {
        scope: byPrincipal,
        tools: async () => ({
          ping: defineTool({ description: "Ping.", inputSchema: z.strictObject({}), execute: () => "pong" }),
        }),
      },
    );
    const session = createMemoryHost({ slots: { notes }, onEvent }).session({ auth: person("ann") });
    const first = await session.startTurn("hello");
    expect(Object.keys(first.tools)).toEqual(["notes__ping"]);
    await session.completeTurn(answer);
    const anonymous = await session.startTurn("who am I?", { auth: null });
    expect(recalls).toBe(1);
    expect(anonymous.tools).toEqual({});
    expect(contents(anonymous.messages)).toEqual(["hello", "ok", "who am I?"]);
    expect(events.filter(({ code }) => code === "slot_disabled")).toEqual([
      { code: "slot_disabled", slot: "notes", resolver: "scope" },
    ]);
  });

  it("keep people apart within one session, and bring each one's records back", async () => {
    const notes = slotRecalling(
      ({ memory }) => ({
        messages: [{ id: "n", content: `note of ${String(memory.scope.value).includes("ann") ? "ann" : "ben"}` }],
      }),
      { scope: byPrincipal },
    );
    const session = createMemoryHost({ slots: { notes } }).session({ auth: person("ann") });
    expect(contents((await session.startTurn("1")).messages)).toEqual(["note of ann", "1"]);
    await session.completeTurn(answer);
    expect(contents((await session.startTurn("2", { auth: person("ben") })).messages)).toEqual([
      "1",
      "ok",
      "note of ben",
      "2",
    ]);
    await session.completeTurn(answer);
    expect(contents((await session.startTurn("3")).messages)).toEqual(["note of ann", "1", "ok", "2", "ok", "3"]);
  });

  it("of earlier callers stay visible where the slot shows the whole session", async () => {
    const notes = slotRecalling(
      ({ session }) => ({ messages: [{ id: "n", content: String(session.auth.current?.principalId) }] }),
      {
        scope: byPrincipal,
        visibility: "session",
      },
    );
    const session = createMemoryHost({ slots: { notes } }).session({ auth: person("ann") });
    await session.startTurn("1");
    await session.completeTurn(answer);
    const { messages } = await session.startTurn("2", { auth: person("ben") });
    expect(contents(messages)).toEqual(["ann", "1", "ok", "ben", "2"]);
  });

  it("come from a caller of the right shape only", async () => {
    const host = createMemoryHost({ slots: {} });
    const wrong = [
      {},
      "ann",
      7,
      { current: person("ann"), initiator: null },
      { ...person("ann"), attributes: null },
      { ...person("ann"), attributes: { n: 3 } },
    ];
    for (const auth of wrong) {
      expect(() => host.session({ auth: auth as never })).toThrow(expect.objectContaining({ code: "invalid_input" }));
      const session = host.session({ auth: person("ann") });
      await expect(session.startTurn("x", { auth: auth as never })).rejects.toMatchObject({ code: "invalid_input" });
      await expect(session.startTurn("x", { auth: null })).resolves.toMatchObject({ id: "turn_0" });
    }
  });

  it("that two slots share are refused, unless that is meant", async () => {
    const shared = { scope: "team", namespace: "app" };
    const slots = { a: slotKnowing(() => "a", shared), b: slotKnowing(() => "b", shared) };
    await expect(createMemoryHost({ slots }).session().startTurn("hello")).rejects.toMatchObject({
      code: "partition_shared",
      slot: "b",
    });
    const meant = createMemoryHost({ slots, allowSharedPartitions: true });
    expect(contents((await meant.session().startTurn("hello")).messages)).toEqual(["a", "b", "hello"]);
  });

  it("never appear in errors or events", async () => {
    const { events, onEvent } = recorder();
    const slots = {
      notes: slotRecalling(failing(new Error("secret value")), {
        scope: () => ["tenant-4711", ""],
      }),
    };
    const error = await createMemoryHost({ slots, onEvent })
      .session()
      .startTurn("hello")
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "invalid_scope", slot: "notes" });
    expect(`${String(error)}${JSON.stringify(events)}`).not.toContain("4711");
  });
});

describe("a failing recall", () => {
  it("fails the turn before the model runs, keeps nothing, and leaves the session usable", async () => {
    const { events, onEvent } = recorder();
    let broken = true;
    const slots = {
      a: slotKnowing(() => "from a"),
      b: slotRecalling(() => (broken ? failing(Object.assign(new Error("pin 4711"), { code: "ECONNRESET" }))() : null)),
    };
    const session = createMemoryHost({ slots, onEvent }).session();
    const before = session.state.history;
    const error = await session.startTurn("hello").catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "recall_failed", slot: "b", cause: { name: "Error", code: "ECONNRESET" } });
    expect(`${String(error)}${JSON.stringify(error)}${JSON.stringify(events)}`).not.toContain("4711");
    expect(session.state.history).toEqual(before);
    const codes = events.map(({ code }) => code);
    expect(codes.toSorted()).toEqual(["recall_completed", "recall_failed", "turn_failed", "turn_started"]);
    expect(codes.at(-1)).toBe("turn_failed");
    broken = false;
    const next = await session.startTurn("again");
    expect(contents(next.messages)).toEqual(["from a", "again"]);
  });

  it("is a typed error also when a string is thrown or the answer is not a recall", async () => {
    const attempt = (recall: () => never) =>
      createMemoryHost({ slots: { s: slotRecalling(recall) } })
        .session()
        .startTurn("x");
    await expect(attempt(failing("a string"))).rejects.toMatchObject({
      code: "recall_failed",
      cause: { name: "string" },
    });
    await expect(attempt((() => ({ messages: [{ content: " " }] })) as never)).rejects.toMatchObject({
      code: "invalid_recall",
      slot: "s",
    });
  });

  it("reports the first slot in order, whichever fails first", async () => {
    let failA: (error: Error) => void = () => {};
    const slots = {
      a: slotRecalling(
        () =>
          new Promise((_, reject) => {
            failA = reject;
          }),
      ),
      b: slotRecalling(async () => {
        queueMicrotask(() => failA(new Error("late")));
        throw new Error("early");
      }),
    };
    await expect(createMemoryHost({ slots }).session().startTurn("x")).rejects.toMatchObject({ slot: "a" });
  });

  it("with an AbortError of its own is a failure, not a cancellation", async () => {
    const { events, onEvent } = recorder();
    const slots = { s: slotRecalling(failing(new DOMException("gone", "AbortError"))) };
    await expect(createMemoryHost({ slots, onEvent }).session().startTurn("x")).rejects.toMatchObject({
      code: "recall_failed",
    });
    expect(events.at(-1)?.code).toBe("turn_failed");
  });
});

describe("an abort", () => {
  it("ends a turn whose provider never answers, with the signal's reason, and the session goes on", async () => {
    const { events, onEvent } = recorder();
    const controller = new AbortController();
    let hangs = true;
    const slots = {
      s: slotRecalling(() => {
        if (!hangs) return null;
        queueMicrotask(() => controller.abort("user left"));
        return new Promise(() => {});
      }),
    };
    const session = createMemoryHost({ slots, onEvent }).session();
    await expect(session.startTurn("hello", { abortSignal: controller.signal })).rejects.toBe("user left");
    expect(events.at(-1)?.code).toBe("turn_cancelled");
    expect(events.some(({ code }) => code === "recall_failed" || code === "turn_failed")).toBe(false);
    hangs = false;
    expect(contents((await session.startTurn("back")).messages)).toEqual(["hello", "back"]);
  });

  it("keeps nothing of a recall that succeeded after it", async () => {
    const controller = new AbortController();
    const slots = {
      s: slotRecalling(() => {
        controller.abort();
        return { messages: [{ content: "too late" }] };
      }),
    };
    const session = createMemoryHost({ slots }).session();
    await expect(session.startTurn("hello", { abortSignal: controller.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect(JSON.stringify(session.state)).not.toContain("too late");
    expect(JSON.stringify(session.state)).toContain("hello");
  });

  it("before the start starts nothing", async () => {
    let recalls = 0;
    const session = createMemoryHost({
      slots: {
        s: slotRecalling(() => {
          recalls += 1;
        }),
      },
    }).session();
    await expect(session.startTurn("hello", { abortSignal: AbortSignal.abort("no") })).rejects.toBe("no");
    expect(recalls).toBe(0);
    await expect(session.startTurn("hello")).resolves.toMatchObject({ id: "turn_0" });
    expect(recalls).toBe(1);
  });

  it("by cancelTurn ends a turn that is starting, and one that has started", async () => {
    let captures = 0;
    let hangs = true;
    const slots = {
      s: slotRecalling(() => (hangs ? new Promise(() => {}) : null), {
        capture: {
          "turn.completed": () => {
            captures += 1;
          },
        },
      }),
    };
    const session = createMemoryHost({ slots }).session();
    const starting = session.startTurn("one");
    session.cancelTurn();
    await expect(starting).rejects.toMatchObject({ name: "AbortError" });
    hangs = false;
    await session.startTurn("two");
    session.cancelTurn();
    await expect(session.completeTurn(answer)).rejects.toMatchObject({ code: "invalid_state" });
    expect(captures).toBe(0);
    session.cancelTurn(); // none is open: nothing happens
    expect(contents((await session.startTurn("three")).messages)).toEqual(["one", "two", "three"]);
    await session.completeTurn(answer);
    expect(captures).toBe(1);
  });
});

describe("completing a turn", () => {
  it("captures once per turn, with the settled messages", async () => {
    const captured: MemoryTurnContext[] = [];
    const slots = {
      s: slotRecalling(() => ({ messages: [{ content: "known" }] }), {
        capture: { "turn.completed": (context) => void captured.push(context) },
      }),
    };
    const session = createMemoryHost({ slots, randomId: () => "S" }).session();
    for (const text of ["one", "two"]) {
      await session.startTurn(text);
      await session.completeTurn(answer);
    }
    expect(captured.map(({ operationId }) => operationId)).toEqual([
      "eve-memory-operation-v1:S:0:turn_0:turn.completed:s",
      "eve-memory-operation-v1:S:1:turn_1:turn.completed:s",
    ]);
    expect(captured[0]?.messages).toEqual([
      { role: "user", kind: "memory.load", content: "known" },
      { role: "user", kind: "user", content: "one" },
      { role: "assistant", content: "ok" },
    ]);
    expect(captured[0]?.turn.input).toEqual([{ role: "user", kind: "user", content: "one" }]);
  });

  it("without messages, or with messages that no model wrote, is refused and leaves the turn open", async () => {
    let captures = 0;
    const slots = {
      s: slotRecalling(() => null, {
        capture: {
          "turn.completed": () => {
            captures += 1;
          },
        },
      }),
    };
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("one");
    await expect(session.completeTurn({ responseMessages: [] })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(session.completeTurn({} as never)).rejects.toMatchObject({ code: "invalid_input" });
    const foreign = { responseMessages: [{ role: "user" as const, content: "me again" }] };
    await expect(session.completeTurn(foreign)).rejects.toMatchObject({ code: "invalid_input" });
    for (const content of [null, undefined, 5, [null], [{ text: "x" }]]) {
      const wrong = { responseMessages: [{ role: "assistant", content }] } as never;
      await expect(session.completeTurn(wrong)).rejects.toMatchObject({ code: "invalid_input" });
    }
    expect(captures).toBe(0);
    await session.completeTurn(answer);
    expect(captures).toBe(1);
  });

  it("stays completed when a capture fails, and tells of it", async () => {
    const { events, onEvent } = recorder();
    const captured: string[] = [];
    const slots = {
      a: slotRecalling(() => null, { capture: { "turn.completed": failing(new Error("pin 4711")) } }),
      b: slotRecalling(() => null, { capture: { "turn.completed": () => void captured.push("b") } }),
    };
    const session = createMemoryHost({ slots, onEvent }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    expect(captured).toEqual(["b"]);
    expect(events.map(({ code, slot }) => [code, slot])).toContainEqual(["capture_failed", "a"]);
    expect(events.at(-1)?.code).toBe("turn_completed");
    expect(JSON.stringify(events)).not.toContain("4711");
    expect(session.state.nextSequence).toBe(1);
  });

  it("does not wait for a capture once it is given up, and a late failure of it disturbs nobody", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const late = Promise.withResolvers<void>();
    const { events, onEvent } = recorder();
    const captured: string[] = [];
    const slots = {
      a: slotRecalling(() => null, { capture: { "turn.completed": () => late.promise } }),
      b: slotRecalling(() => null, { capture: { "turn.completed": () => void captured.push("b") }, scope: "b" }),
    };
    const session = createMemoryHost({ slots, onEvent }).session();
    await session.startTurn("one");
    const completing = session.completeTurn(answer);
    await new Promise(setImmediate); // the other slot has captured
    session.cancelTurn();
    await completing;
    expect(captured).toEqual(["b"]);
    expect(events.slice(-3)).toMatchObject([
      { code: "capture_completed", slot: "b" },
      { code: "capture_failed", slot: "a", error: { name: "AbortError" } },
      { code: "turn_completed" },
    ]);
    const told = events.length;
    late.reject(new Error("too late"));
    await new Promise(setImmediate); // Node reports unhandled rejections before the next round of its loop
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
    expect(events).toHaveLength(told);
    expect(contents((await session.startTurn("two")).messages)).toEqual(["one", "ok", "two"]);
  });

  it("calls handlers without a receiver, and lets a listener throw", async () => {
    const receivers: unknown[] = [];
    const provider = {
      recall: { "turn.started": () => null },
      capture: {
        "turn.completed"(this: unknown) {
          receivers.push(this);
        },
      },
    };
    const onEvent = failing(new Error("listener"));
    const session = createMemoryHost({ slots: { s: defineMemory({ scope: "x", provider }) }, onEvent }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    expect(receivers).toEqual([undefined]);
  });
});

describe("session state", () => {
  it("is plain JSON, and goes on in another host", async () => {
    let text = "likes tea";
    const options = { slots: { notes: slotKnowing(() => text) }, appRoot: "/app" };
    const session = createMemoryHost(options).session();
    await session.startTurn("hello");
    await session.completeTurn(answer);
    const state = JSON.parse(JSON.stringify(session.state));
    expect(state).toEqual(session.state);
    text = "likes coffee";
    const resumed = createMemoryHost(options).session({ state });
    expect(resumed.id).toBe(session.id);
    expect(contents((await resumed.startTurn("again")).messages)).toEqual(["hello", "ok", "likes coffee", "again"]);
  });

  it("of an unknown version or shape is refused", () => {
    const host = createMemoryHost({ slots: {} });
    const { state } = host.session();
    expect(() => host.session({ state: { ...state, version: 2 } as never })).toThrow(
      expect.objectContaining({ code: "unsupported_version" }),
    );
    expect(() => host.session({ state: { version: 1 } as never })).toThrow(
      expect.objectContaining({ code: "invalid_state" }),
    );
    expect(host.session({ state }).id).toBe(state.sessionId);
  });
});

describe("runTool", () => {
  const shout = defineTool({
    description: "Shout.",
    inputSchema: z.strictObject({ text: z.string() }),
    execute: ({ text }) => text.toUpperCase(),
  });

  it("answers a call with a message, and a failed one with an error the model can read", async () => {
    const slots = { s: slotRecalling(() => null, { tools: async () => ({ shout }) }) };
    const { tools } = await createMemoryHost({ slots }).session().startTurn("x");
    const call = { toolCallId: "1", toolName: "s__shout", input: { text: "tea" } };
    expect(await runTool(tools, call)).toEqual({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "1", toolName: "s__shout", output: { type: "json", value: "TEA" } }],
    });
    const failed = await runTool(tools, { ...call, input: { text: "tea", user: "ben" } });
    expect(failed.content[0]).toMatchObject({ output: { type: "error-text" } });
    const unknown = await runTool(tools, { ...call, toolName: "constructor" });
    expect(unknown.content[0]).toMatchObject({ output: { type: "error-text" } });
  });
});
