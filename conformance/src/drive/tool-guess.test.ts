import { defineTool, type MemoryToolSet } from "@keepsake/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { guessTools } from "./tool-guess.ts";

const tool = (inputSchema: unknown): MemoryToolSet[string] => ({
  description: "A tool.",
  inputSchema,
  execute: () => null,
});
const target = {
  text: "About tea: oolong was chosen.",
  word: "oolong",
  saved: undefined,
  recalled: "",
  found: undefined,
};

describe("tools of a stranger", () => {
  it("are known by their names", () => {
    const tools = {
      delete_fact: tool(z.object({ factId: z.string() })),
      add_fact: tool(z.object({ fact: z.string() })),
      find_facts: tool(z.object({ q: z.string() })),
      ping: tool(z.object({})),
    };
    const { save, search, forget, guesses } = guessTools(tools);
    expect([save?.name, search?.name, forget?.name]).toEqual(["add_fact", "find_facts", "delete_fact"]);
    expect(save?.input("tea")).toEqual({ fact: "tea" });
    expect(search?.input("tea?")).toEqual({ q: "tea?" });
    expect(guesses).toHaveLength(4);
    expect(guesses[3]).toContain('"ping" is not used');
  });

  it("are given what else they need, of the kinds that their schemas ask for", () => {
    const schema = z.object({
      category: z.enum(["food", "work"]),
      importance: z.number().min(3),
      content: z.string(),
      tags: z.array(z.string()),
      pinned: z.boolean(),
      note: z.string().optional(),
    });
    const { save } = guessTools({ remember: tool(schema) });
    const input = save?.input("tea");
    expect(input).toEqual({ category: "food", importance: 3, content: "tea", tags: [], pinned: false });
    expect(schema.safeParse(input).success).toBe(true);
  });

  it("may take JSON Schema, the AI SDK's wrapping of it, or a list of texts", () => {
    const properties = { memories: { type: "array", items: { type: "string" } } };
    const json = { type: "object", properties, required: ["memories"] };
    expect(guessTools({ store: tool(json) }).save?.input("tea")).toEqual({ memories: ["tea"] });
    expect(guessTools({ store: tool({ jsonSchema: json }) }).save?.input("tea")).toEqual({ memories: ["tea"] });
  });

  it("are what the subject says they are, and then nothing is guessed", () => {
    const tools = { upsert: tool(z.object({ a: z.string() })), nix: tool(z.object({})) };
    const told = { save: { name: "upsert", input: (text: string) => ({ a: `!${text}` }) }, forget: "nix" };
    const { save, forget, guesses } = guessTools(tools, told);
    expect(save?.input("tea")).toEqual({ a: "!tea" });
    expect(forget?.inputs(target)).toEqual([{ how: "without input", input: {} }]);
    expect(guesses).toEqual([]);
  });
});

describe("what a subject says of tools", () => {
  const tools = { keep: tool(z.object({ text: z.string() })), oust: tool(z.object({ id: z.string() })) };

  it("is told where it names one that is not there", () => {
    expect(guessTools(tools, { forget: "ousts" }).unknown).toEqual(["tools.forget"]);
    expect(guessTools(tools, { forget: "oust" }).unknown).toEqual([]);
  });

  it("may be that there is none", () => {
    expect(guessTools({ ...tools, drop: tools.oust }, { forget: "none" })).not.toHaveProperty("forget");
    expect(guessTools(tools)).toMatchObject({ unused: ["oust"] });
  });

  it("is to blame where its input throws", () => {
    const input = (): never => {
      throw new TypeError("no");
    };
    const { save } = guessTools(tools, { save: { name: "keep", input } });
    expect(() => save?.input("tea")).toThrow(/of the subject threw TypeError/);
  });
});

describe("naming a memory to the tool that forgets", () => {
  const inputs = (field: unknown, known: object): readonly unknown[] => {
    const { forget } = guessTools({ forget: defineToolWith(field) });
    return (forget?.inputs({ ...target, ...known }) ?? []).map(({ input }) => input);
  };
  const defineToolWith = (schema: unknown) =>
    defineTool({ description: "Forgets.", inputSchema: schema as z.ZodType, execute: () => null });

  it("goes by what the save tool answered", () => {
    expect(inputs(z.object({ id: z.string() }), { saved: { memory: { id: "m7" } } })[0]).toEqual({ id: "m7" });
    expect(inputs(z.object({ memoryId: z.string() }), { saved: '{"id":"m7"}' })[0]).toEqual({ memoryId: "m7" });
  });

  it("goes by the search result that holds the word, and not by its neighbour", () => {
    const found = {
      results: [
        { id: "a", text: "milk" },
        { id: "b", text: "oolong" },
      ],
    };
    expect(inputs(z.object({ id: z.string() }), { found })[0]).toEqual({ id: "b" });
  });

  it("goes by the number in front of the recalled line", () => {
    const recalled = "# Notes\n0: milk\n3: About tea: oolong was chosen.";
    expect(inputs(z.object({ index: z.int() }), { recalled })[0]).toEqual({ index: 3 });
  });

  it("goes by the text at last", () => {
    expect(inputs(z.object({ text: z.string() }), {})).toContainEqual({ text: target.text });
  });
});
