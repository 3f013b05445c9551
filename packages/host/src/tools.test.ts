import { defineTool, type MemoryToolContext, type MemoryToolSet } from "@keepsake/core";
import { defineTool as eveDefineTool } from "eve/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, type MemoryHostOptions } from "./index.ts";
import { recorder, slotRecalling } from "./test-support/slots.ts";

const tool = (execute: (input: { text: string }, context: MemoryToolContext) => unknown = ({ text }) => text) =>
  defineTool({ description: "Does it.", inputSchema: z.strictObject({ text: z.string() }), execute });

async function turnWith(
  tools: MemoryToolSet | null,
  options: Partial<MemoryHostOptions> & { description?: string } = {},
) {
  const { description, ...rest } = options;
  const { events, onEvent } = recorder();
  const notes = slotRecalling(() => ({ messages: [{ content: "still recalled" }] }), {
    tools: async () => tools,
    ...(description === undefined ? {} : { description }),
  });
  const turn = await createMemoryHost({ slots: { notes }, onEvent, ...rest })
    .session()
    .startTurn("hello");
  return { ...turn, failed: events.filter(({ code }) => code === "tools_failed") };
}

describe("a slot's tools", () => {
  it("are offered under qualified names, with the slot's description before their own", async () => {
    const { tools } = await turnWith({ save: tool() }, { description: "What to keep." });
    expect(Object.keys(tools)).toEqual(["notes__save"]);
    expect(tools.notes__save?.description).toBe("What to keep.\n\nDoes it.");
    expect((await turnWith({ save: tool() })).tools.notes__save?.description).toBe("Does it.");
    expect((await turnWith(null)).tools).toEqual({});
  });

  it("check their input, whoever calls them", async () => {
    const ran: unknown[] = [];
    const { tools } = await turnWith({ save: tool((input) => void ran.push(input)) });
    await expect(tools.notes__save?.execute({ text: 1 })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(tools.notes__save?.execute({ text: "a", scope: "other" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    expect(ran).toEqual([]);
    expect(await tools.notes__save?.execute({ text: "a" })).toBeNull();
    expect(ran).toEqual([{ text: "a" }]);
  });

  it("check JSON Schema input too, and run tools made for eve", async () => {
    const inputSchema = {
      type: "object",
      properties: { n: { type: "number" } },
      required: ["n"],
      additionalProperties: false,
    };
    const theirs = eveDefineTool({ description: "Adds.", inputSchema, execute: ({ n }) => Number(n) + 1 });
    const { tools } = await turnWith({ add: theirs });
    expect(await tools.notes__add?.execute({ n: 1 })).toBe(2);
    await expect(tools.notes__add?.execute({ n: "x" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(tools.notes__add?.inputSchema["~standard"].jsonSchema.input({ target: "draft-07" })).toMatchObject({
      required: ["n"],
    });
  });

  it.each([
    [{ properties: { a: { type: "string" } }, required: ["a"] }, {}, { a: "x" }],
    [{ type: "object", properties: {}, required: ["x"] }, {}, { x: 1 }],
    [{ type: "object", anyOf: [{ required: ["z"] }, { required: ["y"] }] }, {}, { y: 1 }],
    [{ type: "object", properties: { a: { minLength: 3 } } }, { a: "x" }, { a: "xyz" }],
    [{ type: "object", properties: { a: { const: { b: 1 } } } }, { a: { b: 2 } }, { a: { b: 1 } }],
    [{ type: "object", properties: { a: { pattern: "^\\p{L}+$" } } }, { a: "1" }, { a: "é" }],
    [{ type: "object", properties: { a: { $ref: "#/$defs/n" } }, $defs: { n: { minimum: 2 } } }, { a: 1 }, { a: 2 }],
  ])("hold JSON Schema %j against all that it says", async (inputSchema, wrong, right) => {
    const { tools } = await turnWith({
      go: eveDefineTool({ description: "Goes.", inputSchema, execute: () => "went" }) as never,
    });
    await expect(tools.notes__go?.execute(wrong)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(tools.notes__go?.execute(undefined)).rejects.toMatchObject({ code: "invalid_input" });
    expect(await tools.notes__go?.execute(right)).toBe("went");
  });

  it.each([
    ["a reference to nothing", { properties: { a: { $ref: "#/$defs/none" } } }],
    ["a reference to elsewhere", { $ref: "https://schemas.test/a.json" }],
    ["a broken pattern", { properties: { a: { pattern: "(" } } }],
    ["an unknown type", { type: "strin" }],
    ["no map of members", { properties: null }],
  ])("whose JSON Schema has %s are left out from the start", async (_, inputSchema) => {
    const go = eveDefineTool({
      description: "Goes.",
      inputSchema: inputSchema as never,
      execute: () => "went",
    }) as never;
    const { tools, failed } = await turnWith({ go });
    expect(tools).toEqual({});
    expect(failed).toMatchObject([{ error: { code: "invalid_tools" } }]);
  });

  it("are held to the JSON Schema of the turn, and nobody can change it for others", async () => {
    const inputSchema = { type: "object", properties: { pattern: { type: "string" }, a: { enum: ["x"] } } };
    const go = () => eveDefineTool({ description: "Goes.", inputSchema, execute: () => "went" }) as never;
    const first = await turnWith({ go: go() });
    inputSchema.properties.a.enum.push("y");
    const second = await turnWith({ go: go() });
    await expect(first.tools.notes__go?.execute({ a: "y" })).rejects.toMatchObject({ code: "invalid_input" });
    expect(await second.tools.notes__go?.execute({ a: "y", pattern: undefined })).toBe("went");
    const shown = second.tools.notes__go?.inputSchema["~standard"].jsonSchema.input({ target: "draft-07" });
    expect(() => Object.assign(Object(shown), { type: "string" })).toThrow(TypeError);
    await expect(second.tools.notes__go?.execute({ a: "z" })).rejects.toThrow(/schema: a\.$/);
  });

  it("know their call, their turn and their scope", async () => {
    const seen: MemoryToolContext[] = [];
    const { tools } = await turnWith(
      { save: tool((_, context) => void seen.push(context)) },
      { randomId: () => "made" },
    );
    await tools.notes__save?.execute({ text: "a" }, { toolCallId: "c1" });
    await tools.notes__save?.execute({ text: "a" });
    expect(seen.map(({ callId, toolName, session }) => [callId, toolName, session.turn.id])).toEqual([
      ["c1", "notes__save", "turn_0"],
      ["made", "notes__save", "turn_0"],
    ]);
    await expect(seen[0]?.getSandbox()).rejects.toMatchObject({ code: "unsupported" });
    expect(() => seen[0]?.requireAuth({} as never)).toThrow(expect.objectContaining({ code: "unsupported" }));
  });

  it("use what only this host can give, when it is given", async () => {
    const { tools } = await turnWith(
      { save: tool((_, context) => context.getSandbox()) },
      { getSandbox: async () => "box" },
    );
    expect(await tools.notes__save?.execute({ text: "a" })).toBe("box");
  });

  it("answer JSON or fail", async () => {
    const answers: Record<string, unknown> = {
      date: new Date(0),
      cycle: {},
      big: 1n,
      stream: (async function* () {})(),
    };
    (answers.cycle as { self: unknown }).self = answers.cycle;
    const { tools } = await turnWith({ get: tool(({ text }) => answers[text]) });
    expect(await tools.notes__get?.execute({ text: "date" })).toBe("1970-01-01T00:00:00.000Z");
    expect(await tools.notes__get?.execute({ text: "nothing" })).toBeNull();
    for (const text of ["cycle", "big", "stream"]) {
      await expect(tools.notes__get?.execute({ text })).rejects.toMatchObject({ code: "invalid_tools" });
    }
  });

  it("do not run after an abort", async () => {
    let ran = 0;
    const { tools } = await turnWith({
      save: tool(() => {
        ran += 1;
      }),
    });
    await expect(tools.notes__save?.execute({ text: "a" }, { abortSignal: AbortSignal.abort("no") })).rejects.toBe(
      "no",
    );
    expect(ran).toBe(0);
    await tools.notes__save?.execute({ text: "a" });
    expect(ran).toBe(1);
  });

  it("pass on what the model is shown and when a person must agree", async () => {
    const careful = {
      ...tool(),
      toModelOutput: () => ({ type: "text" as const, value: "shown" }),
      approval: () => "user-approval" as const,
    };
    const { tools } = await turnWith({ careful, open: { ...tool(), approval: () => "approved" as const } });
    expect(await tools.notes__careful?.toModelOutput?.({ output: "raw" })).toEqual({ type: "text", value: "shown" });
    expect(await tools.notes__careful?.needsApproval?.({ text: "a" }, { toolCallId: "c" })).toBe(true);
    expect(await tools.notes__open?.needsApproval?.({ text: "a" }, { toolCallId: "c" })).toBe(false);
  });

  it.each([
    [
      "cannot show their input as JSON Schema",
      {
        blind: defineTool({
          description: "d",
          inputSchema: { "~standard": { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } },
          execute: () => 1,
        }),
      },
    ],
    ["are not a map", [] as never],
    ["are undefined", undefined as never],
    [
      "hold one that defineTool did not make",
      { ok: tool(), bad: { description: "d", inputSchema: {}, execute: () => 1 } },
    ],
    ["hold a name that is too long", { ok: tool(), [`x${"y".repeat(60)}`]: tool() }],
    ["hold a name with a dot", { ok: tool(), "a.b": tool() }],
  ])("that %s are left out for the turn, which goes on", async (_, tools) => {
    const turn = await turnWith(tools);
    expect(turn.tools).toEqual({});
    expect(turn.failed).toMatchObject([{ slot: "notes", error: { code: "invalid_tools" } }]);
    expect(turn.messages[0]?.content).toBe("still recalled");
  });

  it("of a later slot give way when names meet", async () => {
    const { events, onEvent } = recorder();
    const offering = (key: string) => slotRecalling(() => null, { tools: async () => ({ [key]: tool() }) });
    const slots = { a: offering("b__c"), a__b: offering("c"), z: offering("d") };
    const { tools } = await createMemoryHost({ slots, onEvent }).session().startTurn("hello");
    expect(Object.keys(tools)).toEqual(["a__b__c", "z__d"]);
    expect(events.filter(({ code }) => code === "tools_failed")).toHaveLength(1);
  });

  it("act on the scope they were made for, also when another caller's were made later", async () => {
    const notes = slotRecalling(() => null, {
      scope: ({ session }) => session.auth.current?.principalId ?? null,
      tools: async ({ memory }) => ({ whose: tool(() => memory.scope.value) }),
    });
    const session = createMemoryHost({ slots: { notes } }).session();
    const as = (principalId: string) => ({
      auth: { principalType: "user", authenticator: "t", principalId, attributes: {} },
    });
    const ann = await session.startTurn("1", as("ann"));
    await session.completeTurn({ responseMessages: [{ role: "assistant", content: "ok" }] });
    const ben = await session.startTurn("2", as("ben"));
    expect(await ann.tools.notes__whose?.execute({ text: "" })).toBe("ann");
    expect(await ben.tools.notes__whose?.execute({ text: "" })).toBe("ben");
  });
});
