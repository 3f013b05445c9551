/** What a hostile or careless provider, application or machine could do, and must not. */
import { MemoryError, type ModelMessage } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { generateText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { describe, expect, it } from "vitest";
import { createMemoryHost } from "./index.ts";
import { answer, person, recorder, slotKnowing, slotRecalling } from "./test-support/slots.ts";

const contents = (messages: readonly ModelMessage[]): unknown[] => messages.map(({ content }) => content);
const call = { toolCallId: "1", toolName: "s__ask", input: {} };
const asks: ModelMessage = { role: "assistant", content: [{ type: "tool-call", ...call }] };
const result: ModelMessage = {
  role: "tool",
  content: [{ type: "tool-result", toolCallId: "1", toolName: "s__ask", output: { type: "text", value: "yes" } }],
};

describe("a compaction", () => {
  async function openTurn() {
    const session = createMemoryHost({ slots: {} }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    await session.startTurn("two");
    return session;
  }

  it("keeps a call that waits for its result, and what came with it", async () => {
    const session = await openTurn();
    const other = { ...call, toolCallId: "2" };
    const both: ModelMessage = {
      role: "assistant",
      content: [
        { type: "tool-call", ...call },
        { type: "tool-call", ...other },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "2" },
      ],
    };
    for (const keepMessages of [0, 1]) {
      const { messages } = await session.compact({
        summarize: () => "short",
        keepMessages,
        responseMessages: [both, result],
      });
      expect(messages.slice(-2)).toEqual([both, result]);
      expect(contents(messages)).toContain("two");
    }
  });

  it("keeps a call that waits although one of its id had a result, and one that a person was asked about", async () => {
    const session = await openTurn();
    const executed: ModelMessage = {
      role: "assistant",
      content: [
        { type: "tool-call", ...call, toolCallId: "9", providerExecuted: true },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "9" },
      ],
    };
    for (const waiting of [asks, executed]) {
      const options = { summarize: () => "short", keepMessages: 0, responseMessages: [asks, result, waiting] };
      const clone = createMemoryHost({ slots: {} }).session({ state: session.state });
      await clone.resumeTurn();
      expect((await clone.compact(options)).messages.at(-1)).toEqual(waiting);
    }
  });

  it("sums up a call that its own model's provider carries out, and one that an old turn left behind", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await session.startTurn("one");
    await session.completeTurn({ responseMessages: [asks] });
    await session.startTurn("two");
    const executed: ModelMessage = {
      role: "assistant",
      content: [{ type: "tool-call", ...call, toolCallId: "9", providerExecuted: true }],
    };
    const { messages } = await session.compact({
      summarize: () => "short",
      keepMessages: 0,
      responseMessages: [executed],
    });
    expect(contents(messages)).toEqual([expect.any(String), "short", "two"]);
  });

  it("after a start that was given up before its scopes were settled works in its caller's latest ones", async () => {
    const captured: unknown[] = [];
    let hang: Promise<string> | undefined;
    const notes = slotRecalling(() => ({ messages: [{ content: "memory" }] }), {
      scope: async () => hang ?? "mine",
      capture: { "compaction.requested": ({ memory }) => void captured.push(memory.scope.value) },
    });
    const session = createMemoryHost({ slots: { notes } }).session({ auth: person("ann") });
    await session.startTurn("one");
    await session.completeTurn(answer);
    hang = new Promise(() => {});
    for (const auth of [person("ann"), person("ben")]) {
      const starting = session.startTurn("two", { auth });
      session.cancelTurn();
      await expect(starting).rejects.toMatchObject({ name: "AbortError" });
      await session.compact({ summarize: () => "short", keepMessages: 1 });
    }
    expect(captured).toEqual(["mine"]);
  });

  it("sums up a call with its result", async () => {
    const session = await openTurn();
    const summed: unknown[] = [];
    await session.compact({
      summarize: (said) => {
        summed.push(...said);
        return "short";
      },
      keepMessages: 1,
      responseMessages: [asks, result],
    });
    expect(summed).toContainEqual(asks);
    expect(summed).toContainEqual(result);
  });

  it("leaves no call without a result behind when the turn is given up", async () => {
    const session = await openTurn();
    await session.compact({ summarize: () => "short", keepMessages: 3, responseMessages: [asks] });
    session.cancelTurn();
    const { messages } = await session.startTurn("three");
    expect(messages).not.toContainEqual(asks);
    const usage = {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    };
    const model = new MockLanguageModelV4({
      doGenerate: {
        content: [{ type: "text", text: "ok" }],
        finishReason: { unified: "stop", raw: undefined },
        usage,
        warnings: [],
      },
    });
    await expect(generateText({ model, messages })).resolves.toMatchObject({ text: "ok" });
  });

  it("takes no answer that is not JSON, and asks nobody before it says so", async () => {
    let asked = 0;
    const slots = { s: slotRecalling(() => null, { capture: { "compaction.requested": () => void asked++ } }) };
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("one");
    const responseMessages = [{ ...asks, content: [{ type: "tool-call", ...call, input: { n: 1n } }] }] as never;
    const compacting = session.compact({ summarize: () => "short", keepMessages: 0, responseMessages });
    await expect(compacting).rejects.toMatchObject({ code: "invalid_input" });
    expect(asked).toBe(0);
  });

  it("after a caller who was given up works in that caller's scope, and shows nothing of another's", async () => {
    const captured: unknown[] = [];
    const notes = slotRecalling(
      ({ session }) => hang ?? { messages: [{ content: `of ${session.auth.current?.principalId}` }] },
      {
        scope: byPrincipal,
        capture: { "compaction.requested": ({ memory }) => void captured.push(memory.scope.value) },
      },
    );
    let hang: Promise<null> | undefined;
    const session = createMemoryHost({ slots: { notes } }).session({ auth: person("ben") });
    await session.startTurn("one", { auth: person("ann") });
    await session.completeTurn(answer);
    hang = new Promise(() => {});
    const starting = session.startTurn("my pin", { auth: person("ben") });
    await new Promise(setImmediate); // it recalls
    session.cancelTurn();
    await expect(starting).rejects.toMatchObject({ name: "AbortError" });
    const { messages } = await session.compact({ summarize: () => "short", keepMessages: 1 });
    expect(captured).toEqual(['["user","test",null,"ben"]']);
    expect(contents(messages)).not.toContain("of ann");
    const again = createMemoryHost({ slots: { notes } }).session({ auth: person("ann"), state: session.state });
    hang = undefined;
    expect(contents((await again.startTurn("two")).messages)).toContain("of ann");
  });

  it("answers between turns what was recalled for the latest caller to nobody else", async () => {
    const slots = { notes: slotRecalling(() => ({ messages: [{ content: "of ann" }] }), { scope: byPrincipal }) };
    const session = createMemoryHost({ slots }).session({ auth: person("ann") });
    await session.startTurn("one");
    await session.completeTurn(answer);
    const options = { summarize: () => "short", keepMessages: 5 };
    expect(contents((await session.compact(options)).messages)).toContain("of ann");
    const bens = createMemoryHost({ slots }).session({ auth: person("ben"), state: session.state });
    expect(contents((await bens.compact(options)).messages)).toEqual(["one", "ok"]);
    expect(contents((await bens.compact({ ...options, keepMessages: 0 })).messages)).not.toContain("of ann");
  });
});

describe("a scope", () => {
  it("that is spelt like another's is not taken for it", async () => {
    const keys: string[] = [];
    class Tags extends Array<string> {
      toJSON(): string[] {
        return ["tags"];
      }
    }
    const lying = Object.assign(["ann"], {
      *[Symbol.iterator]() {
        yield "ben";
      },
    });
    const scopes: readonly unknown[] = [Tags.of("team-a"), Tags.of("team-b"), ["team-a"], lying, ["ann"], ["ben"]];
    const next = [...scopes];
    const notes = slotRecalling(({ memory }) => void keys.push(memory.scope.key), {
      scope: () => next.shift() as never,
    });
    const session = createMemoryHost({ slots: { notes }, appRoot: "/a" }).session();
    for (const _ of scopes) {
      await session.startTurn("x");
      session.cancelTurn();
    }
    expect(keys[0]).toBe(keys[2]);
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys[3]).toBe(keys[5]); // it is what it says when it is read
    expect(keys[4]).not.toBe(keys[5]);
  });
});

describe("scopes and namespaces", () => {
  it("that join to the same text are not the same, and what is no text is refused each time", async () => {
    const keys: string[] = [];
    const next: [string, unknown][] = [
      ["a", "bc"],
      ["ab", "c"],
      ["a", ["bc"]],
    ];
    const of = (index: 0 | 1) => () => next[0]?.[index] as never;
    const notes = slotRecalling(({ memory }) => void keys.push(memory.scope.key), { namespace: of(0), scope: of(1) });
    const session = createMemoryHost({ slots: { notes } }).session();
    for (; next.length > 0; next.shift()) {
      await session.startTurn("x");
      session.cancelTurn();
    }
    expect(new Set(keys).size).toBe(3);
    for (const wrong of [
      ["a", ["bc", 1]],
      ["a", [null]],
      [7, "bc"],
      [["a"], "bc"],
    ] as [never, unknown][]) {
      next.splice(0, 1, wrong);
      await expect(session.startTurn("x")).rejects.toMatchObject({ code: "invalid_scope" });
    }
  });
});

describe("what goes in", () => {
  it("is copied, bytes and addresses too", async () => {
    const bytes = Buffer.from("secret!!");
    const buffer = new Uint8Array([1, 2]).buffer;
    const url = new URL("https://example.test/a");
    const session = createMemoryHost({ slots: {} }).session();
    const { messages } = await session.startTurn([
      { type: "file", data: bytes, mediaType: "text/plain" },
      { type: "file", data: buffer, mediaType: "text/plain" },
      { type: "image", image: url },
    ]);
    bytes.fill(0x41);
    new Uint8Array(buffer).fill(9);
    url.pathname = "/changed";
    const parts = messages[0]?.content ?? [];
    const [first, second, third] = parts as never as [{ data: Uint8Array }, { data: ArrayBuffer }, { image: URL }];
    expect(Buffer.from(first.data).toString()).toBe("secret!!");
    expect([...new Uint8Array(second.data)]).toEqual([1, 2]);
    expect(third.image.href).toBe("https://example.test/a");
  });

  it("as an answer is copied, also where a message is of a class", async () => {
    class Message {
      role = "assistant" as const;
      content = "ok";
    }
    const message = new Message();
    const captured: unknown[] = [];
    const slots = {
      s: slotRecalling(() => null, { capture: { "turn.completed": (c) => void captured.push(c.messages.at(-1)) } }),
    };
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("one");
    await session.completeTurn({ responseMessages: [message] });
    message.content = "changed";
    expect(session.state.history.at(-1)?.message.content).toBe("ok");
    expect(captured).toMatchObject([{ content: "ok" }]);
  });

  it("as an answer has no kind: that is the host's to give", async () => {
    const session = createMemoryHost({ slots: {} }).session();
    await session.startTurn("one");
    const responseMessages = [{ role: "assistant", kind: "user", content: "ok" }] as never;
    await expect(session.completeTurn({ responseMessages })).rejects.toMatchObject({ code: "invalid_input" });
  });
});

describe("a turn", () => {
  it("ends also where an error cannot be read, and nothing is left unhandled", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const hostile = {
      [Symbol.for("keepsake:memory-error")]: true,
      get code(): string {
        throw new Error("unreadable");
      },
      get retryable(): boolean {
        throw new Error("unreadable");
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const revoked = createMemoryHost({ slots: { s: slotRecalling(() => Promise.reject(proxy)) } });
    await expect(revoked.session().startTurn("x")).rejects.toMatchObject({ code: "recall_failed" });
    const failing = async (): Promise<never> => {
      throw hostile;
    };
    const { events, onEvent } = recorder();
    const slots = { s: slotRecalling(failing, { capture: { "turn.completed": failing } }) };
    await expect(createMemoryHost({ slots, onEvent }).session().startTurn("x")).rejects.toMatchObject({
      code: "recall_failed",
    });
    expect(events.at(-1)?.code).toBe("turn_failed");
    let broken = false;
    const clock = {
      now: () => {
        if (broken) throw new Error("no time");
        return 0;
      },
    };
    const breaking = {
      s: slotRecalling(async () => {
        broken = true;
      }),
    };
    await expect(createMemoryHost({ slots: breaking, onEvent, clock }).session().startTurn("x")).rejects.toThrow();
    await new Promise(setImmediate); // Node reports unhandled rejections before the next round of its loop
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it("that is over cannot be ended by its signal, and no later one by it", async () => {
    let broken = true;
    const clock = {
      now: () => {
        if (broken) throw new Error("no time");
        return 0;
      },
    };
    const controller = new AbortController();
    const session = createMemoryHost({ slots: {}, clock }).session();
    await expect(session.startTurn("x", { abortSignal: controller.signal })).rejects.toThrow("no time");
    broken = false;
    for (let turn = 0; turn < 3; turn += 1) {
      await session.startTurn("x");
      await session.completeTurn(answer);
    }
    const { sequence } = await session.startTurn("open");
    controller.abort();
    await session.completeTurn(answer);
    expect(session.state.nextSequence).toBe(sequence + 1);
  });

  it("that is given up is cancelled once, and cannot be completed any more", async () => {
    const { events, onEvent } = recorder();
    const outcomes: unknown[] = [];
    const session = createMemoryHost({
      slots: {
        s: slotRecalling(({ abortSignal }) => {
          abortSignal.addEventListener("abort", () => {
            session.cancelTurn();
            void session.completeTurn(answer).catch((error: unknown) => outcomes.push(error));
          });
          return null;
        }),
      },
      onEvent,
    }).session();
    await session.startTurn("x");
    session.cancelTurn();
    await new Promise(setImmediate);
    expect(events.map(({ code }) => code).filter((code) => /turn_c/.test(code))).toEqual(["turn_cancelled"]);
    expect(outcomes).toMatchObject([{ code: "invalid_state" }]);
  });

  it("cannot be completed by whoever hears of its abort first", async () => {
    const outcomes: unknown[] = [];
    const controller = new AbortController();
    const session = createMemoryHost({
      slots: {
        s: slotRecalling(({ abortSignal }) => {
          abortSignal.addEventListener("abort", () => {
            void session.completeTurn(answer).catch((error: unknown) => outcomes.push(error));
          });
          return null;
        }),
      },
    }).session();
    await session.startTurn("x", { abortSignal: controller.signal });
    controller.abort();
    await new Promise(setImmediate);
    expect(outcomes).toMatchObject([{ code: "invalid_state" }]);
  });

  it("that is aborted in the very moment in which it begins does not begin", async () => {
    const controller = new AbortController();
    const clock = {
      now: () => {
        controller.abort("no");
        return 0;
      },
    };
    const session = createMemoryHost({ slots: {}, clock }).session();
    await expect(session.startTurn("x", { abortSignal: controller.signal })).rejects.toBe("no");
  });

  it("needs no working directory where every slot names a namespace", async () => {
    const cwd = process.cwd;
    process.cwd = () => {
      throw new Error("it is gone");
    };
    try {
      const slots = { s: slotKnowing(() => "known", { namespace: "app" }) };
      expect(contents((await createMemoryHost({ slots }).session().startTurn("x")).messages)).toEqual(["known", "x"]);
    } finally {
      process.cwd = cwd;
    }
  });
});

describe("an event", () => {
  it("names an error by a code only where it is one", async () => {
    const { events, onEvent } = recorder();
    const failing = () => {
      throw new MemoryError("pin 4711" as never, "pin 4711");
    };
    const session = createMemoryHost({
      slots: { s: slotRecalling(() => null, { capture: { "turn.completed": failing } }) },
      onEvent,
    }).session();
    await session.startTurn("x");
    await session.completeTurn(answer);
    expect(events).toContainEqual(expect.objectContaining({ code: "capture_failed", error: { name: "MemoryError" } }));
    expect(JSON.stringify(events)).not.toContain("4711");
  });
});
