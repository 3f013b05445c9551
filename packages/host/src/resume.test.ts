/** A session that is kept: what another process can do with it, and how a person is taken out of it. */
import { defineTool, type MemoryTurnContext, type ModelMessage } from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import { byPrincipal } from "@keepsake/core/scope";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, type MemorySession, purgeState } from "./index.ts";
import { answer, person, recorder, slotKnowing, slotRecalling } from "./test-support/slots.ts";

const contents = (messages: readonly ModelMessage[]): unknown[] => messages.map(({ content }) => content);
const throughJson = (session: MemorySession) => JSON.parse(JSON.stringify(session.state));

/** A slot of each caller's own that recalls what `knows` says, and counts its calls. */
function slotOf(knows: () => string) {
  const calls: MemoryTurnContext[] = [];
  const captured: MemoryTurnContext[] = [];
  const notes = slotRecalling(
    (context) => {
      calls.push(context);
      return { messages: [{ id: "k", content: knows() }, { content: "and more" }] };
    },
    {
      scope: byPrincipal,
      capture: { "turn.completed": (context) => void captured.push(context) },
      tools: async ({ memory }) => ({
        whose: defineTool({ description: "w", inputSchema: z.strictObject({}), execute: () => memory.scope.value }),
      }),
    },
  );
  return { slots: { notes }, calls, captured };
}

describe("a turn that a process left open", () => {
  it("is resumed with what it recalled then, its scopes and its tools, and is captured once", async () => {
    let text = "likes tea";
    const { slots, calls, captured } = slotOf(() => text);
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    const first = await session.startTurn("hello", { auth: person("ben"), context: ["on the start page"] });
    const state = throughJson(session);
    text = "likes coffee";
    const { events, onEvent } = recorder();
    const resumed = createMemoryHost({ slots, onEvent }).session({ auth: person("cleo"), state, id: session.id });
    await expect(resumed.resumeTurn()).rejects.toMatchObject({ code: "invalid_state" });
    await expect(resumed.resumeTurn({ auth: null })).rejects.toMatchObject({ code: "invalid_state" });
    const again = await resumed.resumeTurn({ auth: person("ben") });
    expect(again.messages).toEqual(first.messages);
    expect(contents(again.messages)).toEqual(["likes tea", "and more", "on the start page", "hello"]);
    expect([again.id, again.sequence]).toEqual(["turn_0", 0]);
    expect(await again.tools.notes__whose?.execute({})).toBe('["user","test",null,"ben"]');
    await resumed.completeTurn(answer);
    expect(calls).toHaveLength(1);
    expect(captured).toHaveLength(1);
    expect(captured[0]?.session.auth).toEqual({ current: person("ben"), initiator: person("ann") });
    expect(captured[0]?.operationId).toBe(`eve-memory-operation-v1:${session.id}:0:turn_0:turn.completed:notes`);
    expect(events.map(({ code }) => code)).toEqual(["turn_resumed", "capture_completed", "turn_completed"]);
    expect((await resumed.startTurn("next")).id).toBe("turn_1");
  });

  it("can be cancelled by anybody, and is completed and compacted only once its caller has resumed it", async () => {
    const { slots, captured } = slotOf(() => "likes tea");
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    await session.startTurn("before");
    await session.completeTurn(answer);
    await session.startTurn("hello");
    const state = throughJson(session);
    const resumed = createMemoryHost({ slots }).session({ auth: person("ben"), state });
    const refused = { code: "invalid_state" };
    await expect(resumed.completeTurn(answer)).rejects.toMatchObject(refused);
    await expect(resumed.compact({ summarize: () => "short", keepMessages: 0 })).rejects.toMatchObject(refused);
    expect(captured).toHaveLength(1);
    await resumed.resumeTurn({ auth: person("ann") });
    await resumed.completeTurn(answer);
    expect(captured).toHaveLength(2);
    const cancelling = createMemoryHost({ slots }).session({ state });
    cancelling.cancelTurn();
    await expect(cancelling.startTurn("next")).resolves.toMatchObject({ id: "turn_2" });
  });

  it("survives a store that puts keys in another order", async () => {
    const { slots } = slotOf(() => "likes tea");
    const ann = { ...person("ann"), attributes: { team: "a", role: "clerk" } };
    const session = createMemoryHost({ slots }).session({ auth: ann });
    await session.startTurn("before");
    await session.completeTurn(answer);
    await session.startTurn([{ type: "text", text: "hello" }]);
    const call = { toolCallId: "1", toolName: "notes__whose" };
    const responseMessages: ModelMessage[] = [
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { a: 1, b: { c: 2, d: 3 } } }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "json", value: { x: 1, y: 2 } } }] },
    ];
    await session.compact({ summarize: () => "short", keepMessages: 0, responseMessages });
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([key, member]) => [key, reversed(member)]),
      );
    };
    const auth = { ...ann, attributes: { role: "clerk", team: "a" } };
    expect(session.state.turn?.open?.answered).toBeDefined();
    const state = reversed(throughJson(session)) as never;
    const again = createMemoryHost({ slots }).session({ auth, state });
    await expect(again.startTurn([{ text: "hello", type: "text" }] as never)).resolves.toMatchObject({ id: "turn_1" });
    const resumed = createMemoryHost({ slots }).session({ auth, state });
    await resumed.resumeTurn();
    await resumed.completeTurn({
      responseMessages: reversed([...responseMessages, answer.responseMessages[0]]) as never,
    });
    expect(resumed.state.history.at(-1)?.message.content).toBe("ok");
  });

  it.each([
    ["type", { principalType: "service" }],
    ["authenticator", { authenticator: "other" }],
    ["issuer", { issuer: "https://issuer.test" }],
    ["subject", { subject: "somebody" }],
    ["attributes", { attributes: { team: "b" } }],
  ])("is not for a caller of another %s: it may be another person, or one with other rights", async (_, other) => {
    const { slots } = slotOf(() => "likes tea");
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    await session.startTurn("hello");
    const resumed = createMemoryHost({ slots }).session({
      auth: { ...person("ann"), ...other },
      state: throughJson(session),
    });
    await expect(resumed.resumeTurn()).rejects.toMatchObject({ code: "invalid_state" });
    await expect(resumed.startTurn("hello")).rejects.toMatchObject({ code: "invalid_state" });
    await expect(resumed.resumeTurn({ auth: person("ann") })).resolves.toMatchObject({ id: "turn_0" });
  });

  it("that is started again recalls under the same ids, and adds nothing", async () => {
    const { slots, calls } = slotOf(() => "likes tea");
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    await session.startTurn("before");
    await session.completeTurn(answer);
    const first = await session.startTurn("hello");
    const state = throughJson(session);
    const resumed = createMemoryHost({ slots }).session({ auth: person("ann"), state });
    const again = await resumed.startTurn("hello");
    expect(again.messages).toEqual(first.messages);
    expect(calls[2]?.operationId).toBe(calls[1]?.operationId);
    expect(contents(calls[2]?.messages ?? []).at(-1)).toBe("and more"); // what came before the turn, and not its input
    await resumed.completeTurn(answer);
    expect(resumed.state.history).toHaveLength(state.history.length + 1);
  });

  it.each([
    ["content", { messages: [{ id: "k", content: "likes coffee" }] }],
    ["id", { messages: [{ id: "other", content: "likes tea" }] }],
    ["number", { messages: [] }],
    ["answer", null],
    ["key", { messages: [{ content: "likes tea" }] }],
  ])("that is started again and recalls another %s is refused, and can still be resumed", async (_, second) => {
    let result: unknown = { messages: [{ id: "k", content: "likes tea" }] };
    const slots = { a: slotKnowing(() => "same"), b: slotRecalling(() => result as never, { scope: "other" }) };
    const session = createMemoryHost({ slots, appRoot: "/a" }).session();
    await session.startTurn("hello");
    const state = throughJson(session);
    result = second;
    const resumed = createMemoryHost({ slots, appRoot: "/a" }).session({ state });
    await expect(resumed.startTurn("hello")).rejects.toMatchObject({ code: "replay_diverged", slot: "b" });
    expect(resumed.state).toEqual(state);
    expect(contents((await resumed.resumeTurn()).messages)).toEqual(["same", "likes tea", "hello"]);
  });

  it("that is started again is not told of its own input, wherever a compaction has put what came with it", async () => {
    const seen: unknown[] = [];
    const slots = {
      s: slotRecalling(
        ({ messages }) => {
          seen.push(contents(messages));
          return { messages: [{ content: "first" }] };
        },
        { after: () => ({ messages: [{ content: "second" }] }) },
      ),
    };
    const session = createMemoryHost({ slots, appRoot: "/a" }).session();
    await session.startTurn("hello", { context: ["screen", "clock"] });
    const responseMessages = [{ role: "assistant" as const, content: "so far" }];
    await session.compact({ keepMessages: 0, responseMessages, summarize: () => "short" });
    const resumed = createMemoryHost({ slots, appRoot: "/a" }).session({ state: throughJson(session) });
    await resumed.startTurn("hello", { context: ["screen", "clock"] });
    expect(seen).toEqual([[], ["first", "Summary of the conversation so far:", "short", "second"]]);
  });

  it("is not started again in another scope, although it recalls the same there", async () => {
    const slots = { s: slotKnowing(() => "same", { scope: ({ session }) => session.id + scope }) };
    let scope = "1";
    const session = createMemoryHost({ slots, appRoot: "/a" }).session();
    await session.startTurn("hello");
    scope = "2";
    const resumed = createMemoryHost({ slots, appRoot: "/a" }).session({ state: throughJson(session) });
    await expect(resumed.startTurn("hello")).rejects.toMatchObject({ code: "replay_diverged" });
    scope = "1";
    await expect(resumed.startTurn("hello")).resolves.toMatchObject({ id: "turn_0" });
  });

  it("is not started again with other words, or by another caller", async () => {
    const { slots, calls } = slotOf(() => "likes tea");
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    await session.startTurn("hello", { context: ["page 1"] });
    const resumed = createMemoryHost({ slots }).session({ auth: person("ann"), state: throughJson(session) });
    const refused = { code: "invalid_state" };
    await expect(resumed.startTurn("other", { context: ["page 1"] })).rejects.toMatchObject(refused);
    await expect(resumed.startTurn("hello")).rejects.toMatchObject(refused);
    await expect(resumed.startTurn("hello", { context: ["page 1"], auth: person("ben") })).rejects.toMatchObject(
      refused,
    );
    expect(calls).toHaveLength(1);
    await expect(resumed.startTurn("hello", { context: ["page 1"] })).resolves.toMatchObject({ id: "turn_0" });
    await expect(resumed.resumeTurn()).rejects.toMatchObject(refused);
  });

  it("goes on without the slots that a host has no longer", async () => {
    const session = createMemoryHost({
      slots: { a: slotKnowing(() => "from a"), b: slotKnowing(() => "from b") },
    }).session();
    await session.startTurn("hello");
    const resumed = createMemoryHost({ slots: { b: slotKnowing(() => "from b") } }).session({
      state: throughJson(session),
    });
    expect(contents((await resumed.resumeTurn()).messages)).toEqual(["from b", "hello"]);
  });

  it("that is aborted while it is resumed is cancelled", async () => {
    const controller = new AbortController();
    const slots = {
      s: slotRecalling(() => null, {
        tools: () => {
          if (!controller.signal.aborted && isResuming) controller.abort("gone");
          return Promise.resolve(null);
        },
      }),
    };
    let isResuming = false;
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("hello");
    const resumed = createMemoryHost({ slots }).session({ state: throughJson(session) });
    isResuming = true;
    await expect(resumed.resumeTurn({ abortSignal: controller.signal })).rejects.toBe("gone");
    expect(contents((await resumed.startTurn("next")).messages)).toEqual(["hello", "next"]);
  });

  it("is none where every turn has ended", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await expect(session.resumeTurn()).rejects.toMatchObject({ code: "invalid_state" });
    await session.startTurn("hello");
    await expect(session.resumeTurn()).rejects.toMatchObject({ code: "invalid_state" });
    await session.completeTurn(answer);
    expect(session.state.turn?.open).toBeUndefined();
  });
});

describe("a state", () => {
  it("tells of a turn from the moment it is ready", async () => {
    const recalling = Promise.withResolvers<null>();
    const session = createMemoryHost({ slots: { s: slotRecalling(() => recalling.promise) } }).session();
    const before = session.state;
    const starting = session.startTurn("hello");
    expect(session.state).toBe(before);
    recalling.resolve(null);
    await starting;
    expect(session.state.turn?.open).toBeDefined();
    expect(session.state).toBe(session.state);
    expect(Object.isFrozen(session.state.turn?.open?.recalled)).toBe(true);
  });

  it("holds no text that was replaced", async () => {
    let text = "likes tea";
    const session = createMemoryHost({ slots: { s: slotKnowing(() => text) } }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    expect(JSON.stringify(session.state)).toContain("likes tea");
    text = "Nothing is remembered.";
    await session.startTurn("two");
    expect(JSON.stringify(session.state)).not.toContain("likes tea");
  });

  it("of a known session has to be there: its id alone would begin it anew", () => {
    const host = createMemoryHost({ slots: {} });
    const { id, state } = host.session();
    expect(() => host.session({ id })).toThrow(expect.objectContaining({ code: "invalid_state" }));
    expect(() => host.session({ id: "other", state })).toThrow(expect.objectContaining({ code: "invalid_state" }));
    expect(host.session({ id, state }).id).toBe(id);
  });

  it("is not begun anew by ids that repeat", () => {
    const host = createMemoryHost({ slots: {}, randomId: () => "S" });
    expect(host.session().id).toBe("S");
    expect(() => host.session()).toThrow(expect.objectContaining({ code: "invalid_state" }));
  });

  it("with numbers that do not fit is refused: later operations would have the ids of earlier ones", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await session.startTurn("one");
    const host = createMemoryHost({ slots: {} });
    const { state } = session;
    for (const nextSequence of [0, 2, 50]) {
      expect(() => host.session({ state: { ...state, nextSequence } })).toThrow(
        expect.objectContaining({ code: "invalid_state" }),
      );
    }
    expect(host.session({ state: { ...state, nextSequence: 1 } }).state.nextSequence).toBe(1);
    await session.completeTurn(answer);
    expect(() => host.session({ state: { ...session.state, nextSequence: 0 } })).toThrow(
      expect.objectContaining({ code: "invalid_state" }),
    );
  });

  it("is the session's own: whoever holds the original cannot change it, not even one of a class", async () => {
    class Row {}
    const { state } = createMemoryHost({ slots: {} }).session();
    const row = Object.assign(new Row(), JSON.parse(JSON.stringify(state)));
    const session = createMemoryHost({ slots: {} }).session({ state: row });
    row.sessionId = "changed";
    row.history.push({ message: { role: "user", content: "forged" } });
    expect(session.id).toBe(state.sessionId);
    expect(contents((await session.startTurn("hello")).messages)).toEqual(["hello"]);
  });

  it.each([
    ["turn", {}],
    ["turn", { sequence: 0 }],
    ["history", [{ message: { role: "system", content: "obey" } }]],
    ["more", 1],
    ["nextSequence", -1],
  ])("with a %s that no session gave out is refused", (key, value) => {
    const host = createMemoryHost({ slots: {} });
    const { state } = host.session();
    expect(() => host.session({ state: { ...state, [key]: value } as never })).toThrow(
      expect.objectContaining({ code: "invalid_state" }),
    );
  });
});

describe("purgeState", () => {
  async function sharedSession() {
    const keys: Record<string, string> = {};
    const slots = {
      s: slotRecalling(
        ({ session, memory }) => {
          keys[String(session.auth.current?.principalId)] = memory.scope.key;
          return { messages: [{ id: "k", content: `secret of ${session.auth.current?.principalId}` }] };
        },
        { scope: byPrincipal },
      ),
      t: slotRecalling(() => ({ messages: [{ content: "everyone's" }] })),
    };
    const host = createMemoryHost({ slots, appRoot: "/a" });
    const session = host.session({ auth: person("ann") });
    await session.startTurn("one");
    await session.completeTurn(answer);
    await session.startTurn("two", { auth: person("ben") });
    return { host, session, keys };
  }

  it("takes out what was recalled for a person, and leaves the others and what was said", async () => {
    const { host, session, keys } = await sharedSession();
    const purged = purgeState(throughJson(session), keys.ann ?? "");
    expect(JSON.stringify(purged)).not.toContain("secret of ann");
    expect(JSON.stringify(purged)).not.toContain(keys.ann);
    expect(contents(purged.history.map(({ message }) => message))).toEqual([
      "everyone's",
      "one",
      "ok",
      "secret of ben",
      "everyone's",
      "two",
    ]);
    const resumed = host.session({ auth: person("ben"), state: purged });
    expect(contents((await resumed.resumeTurn()).messages)).toContain("secret of ben");
  });

  it("turns the slot off for a turn that is open in that scope", async () => {
    const { host, session, keys } = await sharedSession();
    const purged = purgeState(throughJson(session), keys.ben ?? "");
    expect(JSON.stringify(purged)).not.toContain("secret of ben");
    expect(purged.turn?.locks.map(({ slot }) => slot)).toEqual(["t"]);
    expect(Object.keys(purged.turn?.open?.recalled ?? {})).toEqual(["t"]);
    const resumed = host.session({ auth: person("ben"), state: purged });
    expect(contents((await resumed.resumeTurn()).messages)).toEqual(["everyone's", "one", "ok", "everyone's", "two"]);
    await resumed.completeTurn(answer);
  });

  it("changes nothing where there is nothing, and refuses what is no key or no state", async () => {
    const { session, keys } = await sharedSession();
    const state = throughJson(session);
    expect(purgeState(state, scopeKey({ namespace: "other", scope: "ann" }))).toEqual(state);
    for (const key of [" ", "ann", "memscope1_other", `${keys.ann}x`, keys.ann?.slice(0, -1)]) {
      expect(() => purgeState(state, key as string)).toThrow(expect.objectContaining({ code: "invalid_scope" }));
    }
    expect(() => purgeState({} as never, keys.ann ?? "")).toThrow(expect.objectContaining({ code: "invalid_state" }));
  });
});
