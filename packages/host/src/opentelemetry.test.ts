/** What OpenTelemetry is told of memory, seen by its real SDK: all that happened, and by default none of what was said. */
import { defineMemory, defineTool, MemoryError, type MemoryToolSet } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { context, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, type MemoryHostOptions } from "./index.ts";
import { type OpenTelemetryTracerOptions, openTelemetryTracer } from "./opentelemetry.ts";
import { answer, person, recorder, slotRecalling } from "./test-support/slots.ts";

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const otel = provider.getTracer("test");

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterEach(() => exporter.reset());
afterAll(() => context.disable());

function hostWith(
  slots: MemoryHostOptions["slots"],
  options: Omit<OpenTelemetryTracerOptions, "tracer"> = {},
): ReturnType<typeof createMemoryHost> {
  return createMemoryHost({ slots, randomId: () => "S", tracer: openTelemetryTracer({ tracer: otel, ...options }) });
}

/** Spans that have ended, by name; spans of one name in the order of slots. */
async function spans(): Promise<ReadableSpan[]> {
  await provider.forceFlush();
  const key = ({ name, attributes }: ReadableSpan): string => `${name} ${attributes["keepsake.slot"]}`;
  return exporter.getFinishedSpans().toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

async function spanNamed(name: string): Promise<ReadableSpan> {
  const found = (await spans()).filter((span) => span.name === name);
  if (found[0] === undefined || found.length > 1) throw new Error(`${found.length} spans are named ${name}.`);
  return found[0];
}

/** Everything that a span tells of a call, as text to search in. */
function told({ name, attributes, events, links, status }: ReadableSpan): string {
  return JSON.stringify({ name, attributes, events, links, status });
}

/** How a span ended, and all that it says of an error. */
function ending({ status, events, attributes }: ReadableSpan) {
  return { status, events, outcome: attributes["keepsake.outcome"], errorType: attributes["error.type"] };
}
const completed = {
  status: { code: SpanStatusCode.UNSET },
  events: [],
  outcome: "completed",
  errorType: undefined,
};
const cancelled = { ...completed, outcome: "cancelled" };
const failed = (errorType: string) => ({
  status: { code: SpanStatusCode.ERROR },
  events: [],
  outcome: "failed",
  errorType,
});

/** A provider's call that never ends, and a promise of its beginning. */
function hanging(): { readonly begun: Promise<void>; readonly call: () => Promise<never> } {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const call = (): Promise<never> => {
    resolve();
    return new Promise(() => {});
  };
  return { begun, call };
}

const throwing = (error: unknown) => (): never => {
  throw error;
};

const toolsOf = (execute: (input: { text: string }) => unknown): MemoryToolSet => ({
  save: defineTool({ description: "Saves it.", inputSchema: z.strictObject({ text: z.string() }), execute }),
});

describe("a turn's spans", () => {
  it("are one for each recall, each capture and each call of a tool", async () => {
    const slot = slotRecalling(() => null, {
      tools: async () => toolsOf(() => "saved"),
      capture: { "turn.completed": () => {} },
    });
    const session = hostWith({ notes: slot, profile: slot }).session();
    const { tools } = await session.startTurn("hello");
    await tools.profile__save?.execute({ text: "a" }, { toolCallId: "c1" });
    await tools.profile__save?.execute({ text: "b" }, { toolCallId: "c2" });
    await session.completeTurn(answer);
    expect((await spans()).map(({ name, attributes }) => [name, attributes["keepsake.slot"]])).toEqual([
      ["execute_tool profile__save", "profile"],
      ["execute_tool profile__save", "profile"],
      ["search_memory", "notes"],
      ["search_memory", "profile"],
      ["upsert_memory", "notes"],
      ["upsert_memory", "profile"],
    ]);
    expect((await spans()).map(ending)).toEqual(Array(6).fill(completed));
  });

  it("are not there for what a slot does not do", async () => {
    const captures = slotRecalling(() => null, { capture: { "turn.completed": () => {} } });
    const session = hostWith({ recallsOnly: slotRecalling(() => null), both: captures }).session();
    await session.startTurn("hello");
    await session.completeTurn(answer);
    expect((await spans()).map(({ name, attributes }) => `${name} ${attributes["keepsake.slot"]}`)).toEqual([
      "search_memory both",
      "search_memory recallsOnly",
      "upsert_memory both",
    ]);
  });

  it("say which slot, partition, turn and operation, how much, and how it ended", async () => {
    let scopeKey = "";
    const messages = [{ content: "tea" }, { content: "日本 😀" }];
    const notes = slotRecalling(
      ({ memory }) => {
        scopeKey = memory.scope.key;
        return { messages };
      },
      {
        description: "What to keep.",
        tools: async () => toolsOf(({ text }) => ({ saved: text })),
        capture: { "turn.completed": () => {} },
      },
    );
    const session = hostWith({ notes }).session();
    const { tools } = await session.startTurn("hello");
    await tools.notes__save?.execute({ text: "a" }, { toolCallId: "c1" });
    await session.completeTurn(answer);

    const common = {
      "gen_ai.conversation.id": "S",
      "gen_ai.memory.store.id": scopeKey,
      "keepsake.slot": "notes",
      "keepsake.turn.id": "turn_0",
      "keepsake.outcome": "completed",
    };
    const recall = await spanNamed("search_memory");
    expect(recall.kind).toBe(SpanKind.CLIENT);
    expect(recall.attributes).toEqual({
      ...common,
      "gen_ai.operation.name": "search_memory",
      "keepsake.phase": "turn.started",
      "keepsake.operation.id": "eve-memory-operation-v1:S:0:turn_0:turn.started:notes",
      "gen_ai.memory.record.count": 2,
      "keepsake.recall.characters": 8, // in UTF-16 units
    });
    const capture = await spanNamed("upsert_memory");
    expect(capture.kind).toBe(SpanKind.CLIENT);
    expect(capture.attributes).toEqual({
      ...common,
      "gen_ai.operation.name": "upsert_memory",
      "keepsake.phase": "turn.completed",
      "keepsake.operation.id": "eve-memory-operation-v1:S:0:turn_0:turn.completed:notes",
    });
    const tool = await spanNamed("execute_tool notes__save");
    expect(tool.kind).toBe(SpanKind.INTERNAL);
    expect(tool.attributes).toEqual({
      ...common,
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "notes__save",
      "gen_ai.tool.description": "Saves it.",
      "gen_ai.tool.call.id": "c1",
      "gen_ai.tool.type": "function",
      "keepsake.tool.result.characters": 13, // {"saved":"a"}
    });
  });

  it("count nothing where nothing was recalled or answered", async () => {
    const notes = slotRecalling(() => null, { tools: async () => toolsOf(() => undefined) });
    const { tools } = await hostWith({ notes }).session().startTurn("hello");
    await tools.notes__save?.execute({ text: "a" });
    expect((await spanNamed("search_memory")).attributes).toMatchObject({
      "gen_ai.memory.record.count": 0,
      "keepsake.recall.characters": 0,
    });
    const tool = await spanNamed("execute_tool notes__save");
    expect(tool.attributes["keepsake.tool.result.characters"]).toBe(4); // null
  });

  it("name the phases of a compaction", async () => {
    const notes = defineMemory({
      scope: "everyone",
      provider: {
        recall: {
          "turn.started": () => null,
          "compaction.completed": () => ({ messages: [{ content: "likes tea" }] }),
        },
        capture: { "compaction.requested": () => {} },
      },
    });
    const session = hostWith({ notes }).session();
    await session.startTurn("hello");
    await session.completeTurn(answer);
    exporter.reset();
    await session.compact({ summarize: () => "They said hello.", keepMessages: 0 });
    expect((await spanNamed("upsert_memory")).attributes).toMatchObject({
      "keepsake.phase": "compaction.requested",
      "keepsake.slot": "notes",
      "keepsake.outcome": "completed",
    });
    expect((await spanNamed("search_memory")).attributes).toMatchObject({
      "keepsake.phase": "compaction.completed",
      "gen_ai.memory.record.count": 1,
      "keepsake.recall.characters": 9,
    });
  });
});

describe("content", () => {
  const said = {
    question: "canary-question",
    memory: "canary-memory",
    input: "canary-input",
    output: "canary-output",
    answer: "canary-answer",
  };

  /** Spans of a turn in which each kind of content occurs. */
  async function spansOfTurn(options: Omit<OpenTelemetryTracerOptions, "tracer">): Promise<ReadableSpan[]> {
    const notes = slotRecalling(() => ({ messages: [{ content: said.memory, id: "canary-id" }] }), {
      tools: async () => toolsOf(() => ({ output: said.output })),
      capture: { "turn.completed": () => {} },
    });
    const session = hostWith({ notes }, options).session();
    const { tools } = await session.startTurn(said.question);
    await tools.notes__save?.execute({ text: said.input });
    await session.completeTurn({ responseMessages: [{ role: "assistant", content: said.answer }] });
    return spans();
  }

  it("is not recorded by default", async () => {
    const recorded = await spansOfTurn({});
    expect(recorded).toHaveLength(3);
    expect(recorded.map(told).join()).not.toContain("canary");
    exporter.reset();
    expect((await spansOfTurn({ recordContent: false })).map(told).join()).not.toContain("canary");
  });

  it("is recorded when that is asked for, each where the conventions put it", async () => {
    const [tool, recall, capture] = await spansOfTurn({ recordContent: true });
    const parsed = (value: unknown): unknown => JSON.parse(String(value));
    expect(parsed(recall?.attributes["gen_ai.memory.query.text"])).toEqual([
      { role: "user", kind: "user", content: said.question },
    ]);
    expect(parsed(recall?.attributes["gen_ai.memory.records"])).toEqual([{ content: said.memory, id: "canary-id" }]);
    expect(parsed(tool?.attributes["gen_ai.tool.call.arguments"])).toEqual({ text: said.input });
    expect(parsed(tool?.attributes["gen_ai.tool.call.result"])).toEqual({ output: said.output });
    expect(parsed(capture?.attributes["gen_ai.memory.records"])).toEqual([
      { role: "user", kind: "memory.load", content: said.memory },
      { role: "user", kind: "user", content: said.question },
      { role: "assistant", content: said.answer },
    ]);
  });

  it("of a call that fails is recorded too, as far as it went in", async () => {
    const tools = async () => toolsOf(throwing(new Error("canary-error")));
    const session = hostWith({ notes: slotRecalling(() => null, { tools }) }, { recordContent: true }).session();
    const turn = await session.startTurn("hello");
    await expect(turn.tools.notes__save?.execute({ text: said.input })).rejects.toThrow("canary-error");
    const span = await spanNamed("execute_tool notes__save");
    expect(told(span)).toContain(said.input);
    expect(told(span)).not.toContain("canary-error");
    expect(ending(span)).toEqual(failed("Error"));
  });

  it("that is no JSON is left out, and the call goes on", async () => {
    const inputSchema = z.strictObject({ n: z.bigint() });
    const double = defineTool({ description: "Doubles.", inputSchema, execute: ({ n }) => Number(n) * 2 });
    const notes = slotRecalling(() => null, { tools: async () => ({ double }) });
    const { tools } = await hostWith({ notes }, { recordContent: true }).session().startTurn("hello");
    expect(await tools.notes__double?.execute({ n: 4n })).toBe(8);
    const { attributes } = await spanNamed("execute_tool notes__double");
    expect(attributes).not.toHaveProperty("gen_ai.tool.call.arguments");
    expect(attributes).toMatchObject({ "gen_ai.tool.call.result": "8", "keepsake.outcome": "completed" });
  });

  it.each([false, true])(
    "is never who somebody is or what a scope holds (recordContent: %s)",
    async (recordContent) => {
      const seen: unknown[] = [];
      const notes = slotRecalling(({ memory, session }) => void seen.push(memory.scope, session.auth.current), {
        namespace: "canary-namespace",
        scope: byPrincipal,
        tools: async () => toolsOf(() => "saved"),
        capture: { "turn.completed": () => {} },
      });
      const ann = { ...person("canary-ann"), attributes: { team: "canary-team" } };
      const session = hostWith({ notes }, { recordContent }).session({
        auth: ann,
        channel: { kind: "http", metadata: { address: "canary-address" } },
      });
      const { tools } = await session.startTurn("hello", { conversation: { id: "canary-conversation" } });
      await tools.notes__save?.execute({ text: "a" });
      await session.completeTurn(answer);
      for (const canary of ["canary-namespace", "canary-ann", "canary-team"]) {
        expect(JSON.stringify(seen)).toContain(canary);
      }
      const recorded = (await spans()).map(told).join();
      expect(recorded).toContain(Reflect.get(Object(seen[0]), "key"));
      expect(recorded).not.toContain("canary");
    },
  );

  it.each([false, true])("is never an error's words (recordContent: %s)", async (recordContent) => {
    const error = Object.assign(new Error("canary-message", { cause: new Error("canary-cause") }), {
      response: { body: "canary-body" },
    });
    const failing = slotRecalling(() => null, {
      tools: async () => toolsOf(throwing(error)),
      capture: { "turn.completed": throwing(error) },
    });
    const session = hostWith({ failing }, { recordContent }).session();
    const { tools } = await session.startTurn("hello");
    await expect(tools.failing__save?.execute({ text: "a" })).rejects.toBe(error);
    await session.completeTurn(answer);
    await expect(
      hostWith({ failing: slotRecalling(throwing(error)) }, { recordContent })
        .session()
        .startTurn("hello"),
    ).rejects.toMatchObject({ code: "recall_failed" });
    const recorded = await spans();
    expect(recorded.map(({ attributes }) => attributes["keepsake.outcome"]).sort()).toEqual([
      "completed",
      "failed",
      "failed",
      "failed",
    ]);
    expect(recorded.map(told).join()).not.toContain("canary");
  });
});

describe("a failure", () => {
  it("of a recall is an error of its span, and not of its neighbour's", async () => {
    const slots = { a: slotRecalling(throwing(new TypeError("no"))), b: slotRecalling(() => null) };
    await expect(hostWith(slots).session().startTurn("hello")).rejects.toMatchObject({ code: "recall_failed" });
    expect((await spans()).map(ending)).toEqual([failed("TypeError"), completed]);
  });

  it("of a span itself fails no recall, no capture and no tool", async () => {
    const broken = throwing(new Error("no span"));
    let calls = 0;
    const span = { setAttribute: broken, setAttributes: broken, setStatus: broken, end: broken };
    const startActiveSpan = (...args: unknown[]): unknown => {
      calls += 1;
      return (args.at(-1) as (span: unknown) => unknown)(span);
    };
    const slot = slotRecalling(() => ({ messages: [{ content: "known" }] }), {
      tools: async () => toolsOf(() => "done"),
      capture: { "turn.completed": () => {} },
    });
    const { events, onEvent } = recorder();
    const tracer = openTelemetryTracer({ tracer: { startActiveSpan } as never, recordContent: true });
    const session = createMemoryHost({ slots: { notes: slot }, tracer, onEvent }).session();
    const { tools, messages } = await session.startTurn("hello");
    expect(messages).toHaveLength(2);
    expect(await tools.notes__save?.execute({ text: "a" })).toBe("done");
    await session.completeTurn(answer);
    expect(events.map(({ code }) => code)).toContain("capture_completed");
    expect(calls).toBe(3);
  });

  it("of what was recalled is an error too", async () => {
    const slots = { a: slotRecalling(() => ({ messages: [{ content: " " }] })) };
    await expect(hostWith(slots).session().startTurn("hello")).rejects.toMatchObject({ code: "invalid_recall" });
    expect((await spans()).map(ending)).toEqual([failed("invalid_recall")]);
  });

  it("of a capture is known by its error's code, or else by its name", async () => {
    const failing = (error: unknown) => slotRecalling(() => null, { capture: { "turn.completed": throwing(error) } });
    const slots = {
      code: failing(Object.assign(new Error("no"), { code: "ECONNRESET" })),
      name: failing(new TypeError("no")),
      ours: failing(new MemoryError("backend_failed", "no")),
      text: failing("no"),
    };
    const session = hostWith(slots).session();
    await session.startTurn("hello");
    await session.completeTurn(answer);
    const captures = (await spans()).filter(({ name }) => name === "upsert_memory");
    expect(captures.map(ending)).toEqual(["ECONNRESET", "TypeError", "backend_failed", "string"].map(failed));
  });

  it("of a tool is an error, be it the tool's or its input's", async () => {
    const notes = slotRecalling(() => null, { tools: async () => toolsOf(throwing(new RangeError("no"))) });
    const { tools } = await hostWith({ notes }).session().startTurn("hello");
    await expect(tools.notes__save?.execute({ text: "a" })).rejects.toThrow(RangeError);
    await expect(tools.notes__save?.execute({ text: 1 })).rejects.toMatchObject({ code: "invalid_input" });
    const calls = (await spans()).filter(({ name }) => name === "execute_tool notes__save");
    expect(calls.map(ending)).toEqual([failed("RangeError"), failed("invalid_input")]);
  });

  it("named like an abort, of a turn that nobody gave up, is still one", async () => {
    const slots = { a: slotRecalling(throwing(new DOMException("no", "AbortError"))) };
    await expect(hostWith(slots).session().startTurn("hello")).rejects.toMatchObject({ code: "recall_failed" });
    expect((await spans()).map(ending)).toEqual([failed("AbortError")]);
  });
});

describe("a turn that is given up", () => {
  it("while it recalls ends the spans of providers that never answer, and is no failure", async () => {
    const { begun, call } = hanging();
    const session = hostWith({ stuck: slotRecalling(call), ready: slotRecalling(() => null) }).session();
    const abort = new AbortController();
    const starting = session.startTurn("hello", { abortSignal: abort.signal });
    await begun;
    expect((await spans()).map(({ attributes }) => attributes["keepsake.slot"])).not.toContain("stuck");
    abort.abort(new Error("canary-reason"));
    await expect(starting).rejects.toThrow("canary-reason");
    expect((await spans()).map(ending)).toEqual([completed, cancelled]);
    expect((await spans()).map(told).join()).not.toContain("canary");
  });

  it("while a tool runs ends the tool's span", async () => {
    const { begun, call } = hanging();
    const session = hostWith({ notes: slotRecalling(() => null, { tools: async () => toolsOf(call) }) }).session();
    const { tools } = await session.startTurn("hello");
    const calling = tools.notes__save?.execute({ text: "a" });
    const outcome = expect(calling).rejects.toThrow();
    await begun;
    session.cancelTurn();
    await outcome;
    expect(ending(await spanNamed("execute_tool notes__save"))).toEqual(cancelled);
  });

  it("while it captures ends the capture's span", async () => {
    const { begun, call } = hanging();
    const session = hostWith({ notes: slotRecalling(() => null, { capture: { "turn.completed": call } }) }).session();
    await session.startTurn("hello");
    const completing = session.completeTurn(answer);
    await begun;
    session.cancelTurn();
    await completing;
    expect(ending(await spanNamed("upsert_memory"))).toEqual(cancelled);
  });

  it("is told from a single call that its caller gives up", async () => {
    const { begun, call } = hanging();
    const session = hostWith({ notes: slotRecalling(() => null, { tools: async () => toolsOf(call) }) }).session();
    const { tools } = await session.startTurn("hello");
    const abort = new AbortController();
    const outcome = expect(tools.notes__save?.execute({ text: "a" }, { abortSignal: abort.signal })).rejects.toThrow();
    await begun;
    abort.abort();
    await outcome;
    expect(ending(await spanNamed("execute_tool notes__save"))).toEqual(cancelled);
    await session.completeTurn(answer); // the turn itself goes on
  });
});

describe("nesting", () => {
  const inSpan = <T>(name: string, run: (span: Span) => Promise<T>): Promise<T> =>
    otel.startActiveSpan(name, (span) => run(span).finally(() => span.end()));
  const parentOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;

  it("puts memory's spans into the one that is active, and a provider's own into memory's", async () => {
    const working = (name: string) =>
      slotRecalling(() => inSpan(`query of ${name}`, async () => null), {
        tools: async () => toolsOf(() => inSpan(`save of ${name}`, async () => "saved")),
        capture: { "turn.completed": () => inSpan(`insert of ${name}`, async () => {}) },
      });
    const session = hostWith({ a: working("a"), b: working("b") }).session();
    const requestId = await inSpan("request", async (request) => {
      const { tools } = await session.startTurn("hello");
      await tools.a__save?.execute({ text: "x" });
      await session.completeTurn(answer);
      return request.spanContext().spanId;
    });
    const all = await spans();
    const idOf = (name: string, slot: string) =>
      all.find((span) => span.name === name && span.attributes["keepsake.slot"] === slot)?.spanContext().spanId;
    const memory = all.filter(({ attributes }) => attributes["keepsake.slot"] !== undefined);
    expect(memory.map(parentOf)).toEqual(Array(5).fill(requestId));
    const own = all.filter(({ name }) => name.includes(" of "));
    expect(own.map((span) => [span.name, parentOf(span)])).toEqual([
      ["insert of a", idOf("upsert_memory", "a")],
      ["insert of b", idOf("upsert_memory", "b")],
      ["query of a", idOf("search_memory", "a")],
      ["query of b", idOf("search_memory", "b")],
      ["save of a", idOf("execute_tool a__save", "a")],
    ]);
  });

  it("leaves spans without an active one at the root", async () => {
    await hostWith({ a: slotRecalling(() => null) })
      .session()
      .startTurn("hello");
    expect(parentOf(await spanNamed("search_memory"))).toBeUndefined();
  });
});

describe("without being asked", () => {
  it("nothing is recorded, wherever the application's spans go", async () => {
    trace.setGlobalTracerProvider(provider);
    try {
      const slots = { notes: slotRecalling(() => null) };
      await createMemoryHost({ slots }).session().startTurn("hello");
      expect(await spans()).toEqual([]);
      await createMemoryHost({ slots, tracer: openTelemetryTracer() }).session().startTurn("hello");
      expect((await spans()).map(({ name, instrumentationScope }) => [name, instrumentationScope.name])).toEqual([
        ["search_memory", "@keepsake/host"],
      ]);
    } finally {
      trace.disable();
    }
  });

  it("a host runs where no application has set OpenTelemetry up", async () => {
    const slots = { notes: slotRecalling(() => ({ messages: [{ content: "likes tea" }] })) };
    const turn = await createMemoryHost({ slots, tracer: openTelemetryTracer() }).session().startTurn("hello");
    expect(turn.messages[0]?.content).toBe("likes tea");
    expect(await spans()).toEqual([]);
  });

  it("the package's main entry does not load OpenTelemetry", async () => {
    expect(await importsOf("opentelemetry.ts")).toContain("@opentelemetry/api");
    const imports = await importsOf("index.ts");
    expect(imports).toContain("@keepsake/core");
    expect(imports.filter((name) => name.includes("opentelemetry"))).toEqual([]);
  });
});

it.each([{ recordContent: "no" }, { recordcontent: false }, { tracer: {} }])(
  "options that cannot be used are refused: %j",
  (options) => {
    const make = () => openTelemetryTracer(options as OpenTelemetryTracerOptions);
    expect(make).toThrow(expect.objectContaining({ code: "invalid_options" }));
  },
);

/** The packages that a source file needs, by itself and through what it imports, at once or later. */
async function importsOf(entry: string): Promise<string[]> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      lib: { entry: `${import.meta.dirname}/${entry}`, formats: ["es"] },
      rolldownOptions: { external: /^(?![./]|\0)/ },
    },
  });
  if (!Array.isArray(built)) throw new Error("Expected one build, not a watcher.");
  return built
    .flatMap(({ output }) => output)
    .flatMap((chunk) => (chunk.type === "chunk" ? [...chunk.imports, ...chunk.dynamicImports] : []));
}
