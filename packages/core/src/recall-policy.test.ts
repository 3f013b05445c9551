import { describe, expect, it } from "vitest";
import type { MemoryProvider, MemoryRecallResult, MemoryTurnContext } from "./contract.ts";
import { declareProvider, describeProvider } from "./declaration.ts";
import { defineMemory } from "./define.ts";
import type { MemoryEvent } from "./events.ts";
import type { ModelMessage } from "./model-message.ts";
import { type RecallPolicyOptions, withRecallPolicy } from "./recall-policy.ts";
import { turnContext } from "./test-support/contexts.ts";
import { eveAccepts } from "./test-support/eve-internals.ts";
import { manualClock } from "./test-support/manual-clock.ts";
import { codeOf, memoryErrorOf, settle } from "./test-support/outcome.ts";
import { isRecallFrame } from "./text.ts";

type Recall = (context: MemoryTurnContext) => MemoryRecallResult | Promise<MemoryRecallResult>;

const tea = { messages: [{ id: "tea", content: "Likes tea." }] };
const providing = (recall: Recall): MemoryProvider => ({ recall: { "turn.started": recall } });
const failing = providing(() => Promise.reject(new TypeError("pin 4711")));
const hanging = providing(() => new Promise(() => {}));
const compaction = { compaction: { modelId: "model" } };

function policed(provider: MemoryProvider, options: Partial<RecallPolicyOptions> = {}) {
  const clock = manualClock();
  const events: MemoryEvent[] = [];
  const onEvent = (event: MemoryEvent): void => void events.push(event);
  const wrapped = withRecallPolicy(provider, { onFailure: "skip", clock, onEvent, ...options });
  const recall = async (changes: Partial<MemoryTurnContext> = {}) =>
    wrapped.recall["turn.started"](turnContext(changes));
  return { clock, events, recall, wrapped };
}

/** What a host keeps of a recall, as the provider sees it at the next turn. */
function loaded(result: MemoryRecallResult): readonly ModelMessage[] {
  return (result?.messages ?? []).map(({ content }) => ({ role: "user", content, kind: "memory.load" }));
}

describe("a recall that succeeds", () => {
  it("is what the provider answered", async () => {
    const { events, recall, clock } = policed(providing(() => tea));
    expect(await recall()).toBe(tea);
    expect(await policed(providing(() => null)).recall()).toBeNull();
    expect([events, clock.waiting]).toEqual([[], []]);
  });

  it("gets the host's context, but for a signal that ends with the budget", async () => {
    const context = turnContext();
    const { recall, clock } = policed(
      providing(({ abortSignal, ...rest }) => {
        expect({ ...rest, abortSignal: context.abortSignal }).toEqual(context);
        return new Promise((resolve) => abortSignal.addEventListener("abort", () => resolve(null)));
      }),
      { budgetMs: 100, onFailure: "throw" },
    );
    const code = codeOf(() => recall(context));
    await settle();
    clock.advance(100);
    expect(await code).toBe("timeout");
  });
});

describe("a recall that fails", () => {
  it("is the host's to deal with, under throw", async () => {
    const { events, recall } = policed(failing, { onFailure: "throw" });
    await expect(recall()).rejects.toThrow(TypeError);
    expect(events).toEqual([]);
    await expect(policed(providing(thrower("pin 4711")), { onFailure: "throw" }).recall()).rejects.toBe("pin 4711");
  });

  it.each<[string, MemoryProvider, object]>([
    ["rejects", failing, { name: "TypeError" }],
    ["throws at once", providing(thrower(new RangeError("pin 4711"))), { name: "RangeError" }],
    ["throws a text", providing(thrower("pin 4711")), { name: "string" }],
    ["gives up by itself", providing(thrower(new DOMException("pin 4711", "AbortError"))), { name: "AbortError" }],
  ])("lets the turn go on under skip, and says so, when it %s", async (_, provider, error) => {
    const { events, recall } = policed(provider);
    const result = await recall();
    expect(result?.messages).toEqual([
      { id: "keepsake-recall-status", content: expect.stringContaining("Memory could not be read this time.") },
    ]);
    expect(isRecallFrame(result?.messages[0]?.content ?? "", "notes")).toBe(true);
    expect(events).toMatchObject([{ code: "recall_skipped", slot: "notes", error }]);
    expect(JSON.stringify([result, events])).not.toContain("4711");
  });

  it("never settles: it ends exactly with the budget", async () => {
    const skipping = policed(hanging, { budgetMs: 100 });
    const throwing = policed(hanging, { budgetMs: 100, onFailure: "throw" });
    let settled = 0;
    const skipped = skipping.recall().finally(() => {
      settled += 1;
    });
    const thrown = memoryErrorOf(throwing.recall).finally(() => {
      settled += 1;
    });
    await settle();
    for (const { clock } of [skipping, throwing]) clock.advance(99);
    await settle();
    expect(settled).toBe(0);
    for (const { clock } of [skipping, throwing]) clock.advance(1);
    expect((await skipped)?.messages).toHaveLength(1);
    expect(await thrown).toMatchObject({ code: "timeout", retryable: true });
    expect(skipping.events).toMatchObject([
      { code: "recall_skipped", error: { name: "MemoryError", code: "timeout" } },
    ]);
  });

  it.each(["skip", "throw"] as const)(
    "is a cancellation when the host gives up, never skipped (%s)",
    async (onFailure) => {
      const { events, recall, clock } = policed(hanging, { onFailure, budgetMs: 100 });
      const controller = new AbortController();
      const outcome = recall({ abortSignal: controller.signal });
      await settle();
      controller.abort("stopped");
      await expect(outcome).rejects.toBe("stopped");
      expect([events, clock.waiting]).toEqual([[], []]);
      let asked = 0;
      const counting = policed(
        providing(() => {
          asked += 1;
          return null;
        }),
        { onFailure },
      );
      await expect(counting.recall({ abortSignal: AbortSignal.abort("before") })).rejects.toBe("before");
      expect(asked).toBe(0);
      await counting.recall();
      expect(asked).toBe(1);
    },
  );
});

describe("the status message", () => {
  it("is taken back once by the next success, and not repeated after that", async () => {
    const down = await policed(failing).recall();
    const { recall } = policed(providing(() => tea)); // a new process knows only the history
    const up = await recall({ messages: loaded(down) });
    expect(up?.messages).toEqual([
      ...tea.messages,
      { id: "keepsake-recall-status", content: expect.stringContaining("Memory can be read again.") },
    ]);
    expect(await recall({ messages: [...loaded(down), ...loaded(up)] })).toBe(tea);
    const again = await policed(failing).recall({ messages: [...loaded(down), ...loaded(up)] });
    expect(again).toEqual(down);
    expect((await recall({ messages: [...loaded(down), ...loaded(up), ...loaded(again)] }))?.messages).toHaveLength(2);
  });

  it("is taken back where the provider has nothing to say", async () => {
    const messages = loaded(await policed(failing).recall());
    expect((await policed(providing(() => null)).recall({ messages }))?.messages).toHaveLength(1);
  });

  it("counts only as recalled memory of this slot, not where a person quotes it", async () => {
    const down = loaded(await policed(failing).recall());
    const quoted = down.map((message) => ({ ...message, kind: "user" }));
    const memory = { ...turnContext().memory, slot: "profile" };
    const { recall } = policed(providing(() => tea));
    expect(await recall({ messages: quoted })).toBe(tea);
    expect(await recall({ messages: down, memory })).toBe(tea);
    expect(await recall({ messages: down })).not.toBe(tea);
  });

  it("stands once where a policy is put around a policy", async () => {
    const inner = policed(failing).wrapped;
    const down = await policed(inner).recall();
    expect(down?.messages).toHaveLength(1);
    expect(await policed(inner).recall({ messages: loaded(down) })).toEqual(down);
    const up = await policed(policed(providing(() => tea)).wrapped).recall({ messages: loaded(down) });
    expect(up?.messages.map(({ id }) => id)).toEqual(["tea", "keepsake-recall-status"]);
  });
});

describe("the provider with a policy", () => {
  it("still declares, captures and offers tools as before", async () => {
    const capture = { "turn.completed": () => {} };
    const provider = declareProvider(
      { ...failing, capture, tools: async () => ({}) },
      { capabilities: { durable: true } },
    );
    const { wrapped } = policed(provider);
    expect(describeProvider(wrapped)?.capabilities).toEqual({ durable: true });
    expect(wrapped.capture).toBe(capture);
    expect(await wrapped.tools?.({ ...turnContext(), model: null, channel: {} })).toEqual({});
    expect(eveAccepts(defineMemory({ provider: wrapped, scope: "a" }))).toBe(true);
  });

  it("bounds the recall after a compaction too, where there is one", async () => {
    const recall = { "turn.started": () => null, "compaction.completed": () => Promise.reject(new Error("down")) };
    const { wrapped } = policed({ recall });
    const context = { ...turnContext(), ...compaction };
    expect((await wrapped.recall["compaction.completed"]?.(context))?.messages).toHaveLength(1);
    expect(Object.keys(policed(failing).wrapped.recall)).toEqual(["turn.started"]);
  });

  it("is called as hosts call handlers, without a receiver, and calls on as they do", async () => {
    class Handlers {
      readonly #memories = tea;
      "turn.started"(): MemoryRecallResult {
        return this.#memories;
      }
    }
    const { wrapped } = policed({ recall: new Handlers() });
    const { "turn.started": started } = wrapped.recall;
    expect(await started(turnContext())).toBe(tea);
  });

  it.each([
    ["no decision", { onFailure: undefined }],
    ["an unknown decision", { onFailure: "retry" }],
    ["a budget of nothing", { onFailure: "skip", budgetMs: 0 }],
    ["a budget that is no number", { onFailure: "skip", budgetMs: Number.NaN }],
    ["a budget as text", { onFailure: "skip", budgetMs: "5" }],
  ])("is refused with %s", async (_, options) => {
    expect(await codeOf(() => withRecallPolicy(failing, options as never))).toBe("invalid_options");
  });
});

function thrower(value: unknown): Recall {
  return () => {
    throw value;
  };
}
