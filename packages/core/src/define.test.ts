import * as eve from "eve/memory";
import { describe, expect, it } from "vitest";
import type { MemoryProvider } from "./contract.ts";
import { describeProvider } from "./declaration.ts";
import { checkMemoryDefinition, defineMemory, defineMemoryProvider, isDefinedMemory } from "./define.ts";
import { eveAccepts } from "./test-support/eve-internals.ts";
import { memoryErrorOf } from "./test-support/outcome.ts";

const brand = Symbol.for("eve:memory-definition");
const handlers = { "turn.started": () => null };
const provider: MemoryProvider = { recall: handlers };

class NotesProvider {
  readonly recall = handlers;
  readonly #notes: string[] = [];
  get size(): number {
    return this.#notes.length;
  }
  close(): void {}
}

describe("defineMemory and eve agree", () => {
  it.each<[string, object, string]>([
    ["an unknown key", { provider, scope: "a", tools: false }, "tools"],
    ["a blank description", { provider, scope: "a", description: " " }, '"description"'],
    ["a description that is not text", { provider, scope: "a", description: 1 }, '"description"'],
    ["a namespace of another kind", { provider, scope: "a", namespace: 4 }, '"namespace"'],
    ["no scope", { provider }, '"scope"'],
    ["a tuple as scope, which only a resolver may give", { provider, scope: ["a"] }, '"scope"'],
    ["no provider", { scope: "a" }, '"provider" must be an object'],
    ["a function as provider", { scope: "a", provider: () => {} }, '"provider" must be an object'],
    ["an unknown key of the provider", { scope: "a", provider: { ...provider, name: "x" } }, "name"],
    ["no recall", { scope: "a", provider: {} }, '"recall"'],
    ["a function as recall", { scope: "a", provider: { recall: () => null } }, '"recall"'],
    ["an unknown key of recall", { scope: "a", provider: { recall: { ...handlers, other: 1 } } }, "other"],
    ["no handler for turn.started", { scope: "a", provider: { recall: {} } }, 'recall["turn.started"]'],
    [
      "a handler of recall that is none",
      { scope: "a", provider: { recall: { ...handlers, "compaction.completed": 1 } } },
      'recall["compaction.completed"]',
    ],
    ["a capture that is none", { scope: "a", provider: { ...provider, capture: 1 } }, '"capture"'],
    ["an unknown key of capture", { scope: "a", provider: { ...provider, capture: { x: 1 } } }, "x"],
    [
      "a handler of capture that is none",
      { scope: "a", provider: { ...provider, capture: { "turn.completed": 1 } } },
      'capture["turn.completed"]',
    ],
    ["tools that are no function", { scope: "a", provider: { ...provider, tools: {} } }, '"tools"'],
    ["a visibility of another name", { scope: "a", provider, visibility: "all" }, '"scope" or "session"'],
  ])("to refuse %s", async (_, definition, named) => {
    expect(eveAccepts({ ...definition, [brand]: true })).toBe(false);
    const error = await memoryErrorOf(() => defineMemory(definition as never));
    expect(error).toMatchObject({ code: "invalid_definition", retryable: false });
    expect(error.message).toContain(named);
    const inSlot = await memoryErrorOf(() => checkMemoryDefinition(definition, "profile"));
    expect(inSlot.message).toContain(named);
    expect(inSlot.message).toContain('memory slot "profile"');
  });

  it.each<[string, Parameters<typeof defineMemory>[0]]>([
    ["the least there is", { scope: null, provider }],
    ["an empty scope, which fails when it is used", { scope: "", provider }],
    ["no namespace, on purpose", { scope: "a", provider, namespace: null }],
    ["resolvers", { scope: () => ["a"], namespace: async () => "n", provider }],
    ["all of it", { scope: "a", provider, namespace: "n", description: "Likes.", visibility: "session" }],
    ["an empty capture", { scope: "a", provider: { ...provider, capture: {} } }],
    ["an instance of a class", { scope: "a", provider: new NotesProvider() }],
    ["members behind symbols", { scope: "a", provider: Object.assign({ [Symbol("x")]: 1 }, provider) }],
    [
      "members that are inherited",
      { scope: "a", provider: Object.setPrototypeOf({ recall: handlers }, { close() {} }) },
    ],
    [
      "members that are not enumerable",
      { scope: "a", provider: Object.defineProperty({ ...provider }, "x", { value: 1 }) },
    ],
  ])("to take %s", (_, definition) => {
    const defined = defineMemory(definition);
    expect(defined.provider).toBe(definition.provider);
    expect(isDefinedMemory(defined)).toBe(true);
    expect(eveAccepts(defined)).toBe(true);
  });

  it("about the brand, either's on either's side", () => {
    const plain = { provider, scope: "a" };
    expect([isDefinedMemory(plain), eveAccepts(plain)]).toEqual([false, false]);
    const ours = defineMemory(plain);
    expect(Object.getOwnPropertyDescriptor(ours, brand)).toMatchObject({ value: true, enumerable: true });
    expect(Object.hasOwn(plain, brand)).toBe(false);
    const theirs = eve.defineMemory({ provider, scope: "a" });
    expect([isDefinedMemory(theirs), eveAccepts(ours)]).toEqual([true, true]);
    expect(() => checkMemoryDefinition(theirs)).not.toThrow();
  });
});

describe("what the checks say", () => {
  it("of something that is no definition at all", async () => {
    for (const value of [undefined, null, "memory", [], () => provider]) {
      expect((await memoryErrorOf(() => checkMemoryDefinition(value, "profile"))).message).toContain(
        "must be an object",
      );
      expect(isDefinedMemory(value)).toBe(false);
    }
  });

  it("names all unknown keys and all known ones", async () => {
    const error = await memoryErrorOf(() => checkMemoryDefinition({ provider, scope: "a", scpoe: "b", ttl: 1 }));
    expect(error.message).toContain("unknown keys: scpoe, ttl");
    expect(error.message).toContain("Known are description, namespace, provider, scope, visibility");
  });
});

describe("defineMemoryProvider", () => {
  it("answers the provider it was given, with what it declares", () => {
    const notes = new NotesProvider();
    expect(defineMemoryProvider(notes, { capabilities: { durable: true } })).toBe(notes);
    expect(describeProvider(notes)?.capabilities).toEqual({ durable: true });
    const silent = { recall: handlers };
    expect(defineMemoryProvider(silent)).toBe(silent);
    expect(describeProvider(silent)).toBeNull();
  });

  it("refuses a provider that no host would run", async () => {
    const close = { recall: handlers, close() {} };
    const error = await memoryErrorOf(() => defineMemoryProvider(close));
    expect(error).toMatchObject({ code: "invalid_definition" });
    expect(error.message).toContain("unknown keys: close");
  });
});
