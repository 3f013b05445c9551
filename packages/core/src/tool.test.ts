import { defineTool as eveDefineTool } from "eve/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toolContext } from "./test-support/contexts.ts";
import { codeOf, memoryErrorOf } from "./test-support/outcome.ts";
import { defineTool, isDefinedTool, isStandardSchema, parseToolInput, type StandardSchema } from "./tool.ts";

const brand = Symbol.for("eve:tool-brand");
const pin = "4711";

function saveTool() {
  const saved: unknown[] = [];
  const tool = defineTool({
    description: "Save a memory.",
    inputSchema: z.strictObject({ text: z.string(), tags: z.array(z.enum(["home", "work"])).optional() }),
    execute({ text }, { callId }) {
      saved.push(text);
      return { saved: text, callId };
    },
  });
  return { saved, execute: (input: unknown) => tool.execute(input as never, toolContext()), tool };
}

describe("a tool", () => {
  it("runs with input that fits, and is told whose call it is", async () => {
    const { execute, saved } = saveTool();
    expect(await execute({ text: "tea" })).toEqual({ saved: "tea", callId: "call" });
    expect(saved).toEqual(["tea"]);
  });

  it.each([
    ["a wrong kind", { text: 4711 }, "text"],
    ["a missing argument", {}, "text"],
    ["a wrong element", { text: "tea", tags: ["home", pin] }, "tags"],
    ["an extra argument", { text: "tea", userId: pin }, "a field is missing, unknown or of the wrong kind"],
    [
      "an extra argument with a telling name",
      { text: "tea", [pin]: 1 },
      "a field is missing, unknown or of the wrong kind",
    ],
    ["no object", pin, "a field is missing, unknown or of the wrong kind"],
  ])("refuses %s, names the field and never a value, and does not run", async (_, input, field) => {
    const { execute, saved } = saveTool();
    const error = await memoryErrorOf(() => execute(input));
    expect(error).toMatchObject({
      code: "invalid_input",
      message: `The tool's input does not fit its schema: ${field}.`,
    });
    expect(JSON.stringify(error) + error.message).not.toContain(pin);
    expect(saved).toEqual([]);
  });

  it("gets what the schema makes of the input", async () => {
    const inputSchema = z.strictObject({ limit: z.coerce.number().default(3) });
    const tool = defineTool({ description: "List.", inputSchema, execute: ({ limit }) => limit + 1 });
    expect(await tool.execute({} as never, toolContext())).toBe(4);
    expect(await tool.execute({ limit: "7" } as never, toolContext())).toBe(8);
  });

  it("waits for a schema that checks asynchronously", async () => {
    const inputSchema = z.string().refine(async (text) => text !== pin);
    expect(await parseToolInput(inputSchema, "tea")).toBe("tea");
    expect(await codeOf(() => parseToolInput(inputSchema, pin))).toBe("invalid_input");
  });

  it("says nothing of what a schema that throws has said", async () => {
    const inputSchema = z.string().refine((text) => JSON.parse(text) !== null);
    const error = await memoryErrorOf(() => parseToolInput(inputSchema, `pin ${pin}`));
    expect(error).toMatchObject({ code: "invalid_input", cause: { name: "SyntaxError" } });
    expect(JSON.stringify(error) + error.message + error.stack).not.toContain(pin);
    expect(await parseToolInput(inputSchema, "1")).toBe("1");
  });

  it("passes on what its execute throws", async () => {
    const failing = defineTool({
      description: "Fail.",
      inputSchema: z.unknown(),
      execute() {
        throw new RangeError("full");
      },
    });
    await expect(async () => failing.execute({} as never, toolContext())).rejects.toThrow(RangeError);
  });

  it("carries the brand where a spread takes it along", () => {
    const { tool } = saveTool();
    expect(Object.getOwnPropertyDescriptor(tool, brand)).toMatchObject({ value: true, enumerable: true });
    expect(isDefinedTool({ ...tool })).toBe(true);
    expect(Object.keys({ ...tool })).toEqual(expect.arrayContaining(["description", "inputSchema", "execute"]));
  });

  it("is known as one, whoever made it", () => {
    const eves = eveDefineTool({ description: "x", inputSchema: z.object({}), execute: async () => null });
    expect(isDefinedTool(eves)).toBe(true);
    for (const other of [null, undefined, "tool", {}, { description: "x", inputSchema: {}, execute() {} }]) {
      expect(isDefinedTool(other)).toBe(false);
    }
  });
});

describe("a definition that cannot work is refused where it is written", () => {
  const definition = { description: "x", inputSchema: z.object({}), execute: () => null };

  it.each([
    ["no description", { description: undefined }, "description"],
    ["a blank description", { description: " " }, "description"],
    ["a JSON Schema, which checks nothing by itself", { inputSchema: { type: "object" } }, "inputSchema"],
    ["no schema", { inputSchema: undefined }, "inputSchema"],
    ["no execute", { execute: undefined }, "execute"],
  ])("%s", async (_, changes, named) => {
    const error = await memoryErrorOf(() => defineTool({ ...definition, ...changes } as never));
    expect(error.code).toBe("invalid_definition");
    expect(error.message).toContain(named);
    expect(isDefinedTool(defineTool(definition))).toBe(true);
  });
});

describe("schemas", () => {
  it("of any maker are recognised, functions included", () => {
    const standard = { version: 1, vendor: "own", validate: (value: unknown) => ({ value }) } as const;
    const callable: StandardSchema = Object.assign(() => {}, { "~standard": standard });
    expect([z.string(), { "~standard": standard }, callable].map(isStandardSchema)).toEqual([true, true, true]);
    expect([null, {}, { "~standard": null }, { "~standard": {} }, "x"].some(isStandardSchema)).toBe(false);
  });

  it("may give paths as keys or as segments; only fields that the schema declares are named", async () => {
    const jsonSchema = { input: () => ({ properties: { a: {} } }) };
    const failing = (path: readonly (PropertyKey | { readonly key: PropertyKey })[]): StandardSchema => ({
      "~standard": { version: 1, vendor: "own", jsonSchema, validate: () => ({ issues: [{ message: pin, path }] }) },
    });
    const messageOf = async (path: Parameters<typeof failing>[0]): Promise<string> =>
      (await memoryErrorOf(() => parseToolInput(failing(path), null))).message;
    expect(await messageOf(["a", { key: pin }, 0])).toContain(": a.");
    expect(await messageOf([{ key: "a" }])).toContain(": a.");
    for (const odd of [["pin 4711"], [Symbol(pin)], ["b"], []]) {
      expect(await messageOf(odd)).toContain(": a field is missing, unknown or of the wrong kind.");
    }
  });
});
