import * as eve from "eve/memory";
import { describe, expect, it } from "vitest";
import designed from "../../../design/capabilities.json" with { type: "json" };
import type { MemoryProvider, MemoryToolSet } from "./contract.ts";
import { declareProvider, describeProvider, extendProvider, type MemoryCapabilities } from "./declaration.ts";
import { checkMemoryDefinition, defineMemory, defineMemoryProvider } from "./define.ts";
import { turnContext } from "./test-support/contexts.ts";
import { eveAccepts } from "./test-support/eve-internals.ts";
import { codeOf, memoryErrorOf } from "./test-support/outcome.ts";

const symbol = Symbol.for("keepsake:provider");
const silent = (): MemoryProvider => ({ recall: { "turn.started": () => null } });
const declared = (capabilities: MemoryCapabilities = { durable: true, ttl: "native" }): MemoryProvider =>
  declareProvider(silent(), { capabilities });
const toolsContext = () => ({ ...turnContext(), model: null, channel: {} });

describe("a declaration", () => {
  it("is read by describeProvider, and seen by nobody else", () => {
    const provider = declared();
    expect(describeProvider(provider)).toEqual({ version: 1, capabilities: { durable: true, ttl: "native" } });
    expect(Object.getOwnPropertyDescriptor(provider, symbol)).toMatchObject({ enumerable: false, writable: false });
    expect(Reflect.ownKeys(provider)).toContain(symbol);
    expect(Object.keys(provider)).toEqual(["recall"]);
  });

  it("does not travel with a plain spread", () => {
    const provider = declared();
    expect(describeProvider({ ...provider })).toBeNull();
    expect(describeProvider(provider)).not.toBeNull();
    expect(describeProvider(silent())).toBeNull();
  });

  it("cannot be changed afterwards", () => {
    const capabilities = { durable: false };
    const provider = declareProvider(silent(), { capabilities });
    capabilities.durable = true;
    expect(describeProvider(provider)?.capabilities).toEqual({ durable: false });
    expect(Object.isFrozen(describeProvider(provider))).toBe(true);
    expect(Object.isFrozen(describeProvider(provider)?.capabilities)).toBe(true);
  });

  it("passes eve's check and ours", () => {
    const theirs = eve.defineMemory({ provider: declared(), scope: "a" });
    expect(() => checkMemoryDefinition(theirs)).not.toThrow();
    expect(eveAccepts(theirs)).toBe(true);
    expect(eveAccepts(defineMemory({ provider: declared(), scope: "a" }))).toBe(true);
  });

  it.each([
    ["an unknown capability", { fast: true }, "fast"],
    ["a name that every object has", { constructor: true }, "constructor"],
    ["an unknown value", { ttl: "sometimes" }, "ttl"],
    ["a value of another kind", { durable: "true" }, "durable"],
    ["a value left undefined", { erase: undefined }, "erase"],
  ])("with %s is refused", async (_, capabilities, named) => {
    const error = await memoryErrorOf(() => declareProvider(silent(), { capabilities: capabilities as never }));
    expect(error.code).toBe("invalid_definition");
    expect(error.message).toContain(`"${named}"`);
  });

  it("of a newer version is refused, rather than half understood", async () => {
    const newer = Object.defineProperty(silent(), symbol, { value: { version: 2, capabilities: {} } });
    expect(await codeOf(() => describeProvider(newer))).toBe("unsupported_version");
    expect(await codeOf(() => extendProvider(newer, {}))).toBe("unsupported_version");
  });

  it("is made once: a second one, or one on a frozen provider, is refused", async () => {
    const provider = declared({ durable: true });
    expect(await codeOf(() => declareProvider(provider, { capabilities: {} }))).toBe("invalid_definition");
    expect(describeProvider(provider)?.capabilities).toEqual({ durable: true });
    expect(await codeOf(() => declareProvider(Object.freeze(silent()), { capabilities: {} }))).toBe(
      "invalid_definition",
    );
  });
});

describe("extendProvider", () => {
  it("keeps what was declared, and merges what changes", async () => {
    let closed = 0;
    const close = async () => {
      closed += 1;
    };
    const first = declareProvider(silent(), { capabilities: { durable: true, ttl: "native" }, close });
    const extended = extendProvider(first, { declaration: { capabilities: { ttl: "none" } } });
    expect(describeProvider(extended)).toMatchObject({ version: 1, capabilities: { durable: true, ttl: "none" } });
    await describeProvider(extended)?.close?.();
    expect(closed).toBe(1);
    expect(describeProvider(first)?.capabilities).toEqual({ durable: true, ttl: "native" });
  });

  it("declares nothing for a provider that did not, unless told to", () => {
    expect(describeProvider(extendProvider(silent(), {}))).toBeNull();
    const told = extendProvider(silent(), { declaration: { capabilities: { durable: false } } });
    expect(describeProvider(told)?.capabilities).toEqual({ durable: false });
  });

  it("replaces members and keeps the others", async () => {
    const recall = { "turn.started": () => ({ messages: [{ content: "other" }] }) };
    const capture = { "turn.completed": () => {} };
    const extended = extendProvider({ ...silent(), capture }, { recall });
    expect(extended.recall).toBe(recall);
    expect(extended.capture).toBe(capture);
    expect(Object.keys(extendProvider(silent(), {}))).toEqual(["recall"]);
  });

  it("reaches what a class's instance inherits and keeps private", async () => {
    class Notes implements MemoryProvider {
      readonly #notes = ["tea"];
      get recall() {
        const notes = this.#notes;
        return { "turn.started": () => ({ messages: notes.map((content) => ({ content })) }) };
      }
      async tools(): Promise<MemoryToolSet> {
        const [description = ""] = this.#notes;
        return { note: { description, inputSchema: {}, execute: () => null } };
      }
    }
    const extended = extendProvider(new Notes(), { capture: {} });
    expect(await extended.recall["turn.started"](turnContext())).toEqual({ messages: [{ content: "tea" }] });
    const tools = extended.tools;
    expect(await tools?.(toolsContext())).toMatchObject({ note: { description: "tea" } });
    expect(eveAccepts(defineMemory({ provider: extended, scope: "a" }))).toBe(true);
  });
});

describe("a declaration", () => {
  const provider = () => ({ recall: { "turn.started": () => null } });

  it.each([{}, { capabilities: null }, { capabilities: {}, close: 5 }, { capabilities: {}, maintenance: 5 }, null])(
    "of %j is refused",
    (declaration) => {
      expect(() => defineMemoryProvider(provider(), declaration as never)).toThrow(
        expect.objectContaining({ code: "invalid_definition" }),
      );
    },
  );

  it("is of this version, whatever it says of itself", () => {
    const declared = defineMemoryProvider(provider(), { capabilities: { durable: true }, version: 2 } as never);
    expect(describeProvider(declared)).toMatchObject({ version: 1, capabilities: { durable: true } });
    expect(describeProvider(null as never)).toBeNull();
  });
});

describe("design/capabilities.json", () => {
  const values: Record<string, readonly unknown[]> = Object.fromEntries(
    Object.entries(designed.capabilities).map(([key, capability]) => [key, capability.values]),
  );

  it("lists only what can be declared", () => {
    for (const [key, allowed] of Object.entries(values)) {
      for (const value of allowed) {
        expect(describeProvider(declared({ [key]: value }))?.capabilities).toEqual({ [key]: value });
      }
    }
  });

  it("lists all that can be declared", () => {
    // Every key, with every value, once: the type check fails when a union grows and this list does not.
    const all = {
      partition: { scope: true, shared: true },
      capture: { none: true, user: true, all: true },
      ttl: { none: true, checked: true, native: true },
      durable: { true: true, false: true },
      replay: { none: true, process: true, durable: true },
      freshness: { current: true, "previous-turn": true },
      erase: { none: true, immediate: true, requested: true },
    } satisfies { [K in keyof Required<MemoryCapabilities>]: Record<`${Required<MemoryCapabilities>[K]}`, true> };
    const listed = Object.entries(values).map(([key, allowed]) => [key, allowed.map(String).toSorted()]);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(Object.entries(all).map(([key, allowed]) => [key, Object.keys(allowed).toSorted()])),
    );
  });
});
