import { defineMemory } from "@keepsake/core";
import * as eve from "eve/memory";
import { describe, expect, it } from "vitest";
import { createMemoryHost } from "./index.ts";
import { parseSlots } from "./slots.ts";

const provider = { recall: { "turn.started": () => null } };
const slot = defineMemory({ provider, scope: "s" });

describe("slots", () => {
  it("come in a person's alphabetical order", () => {
    const names = ["zeta", "Beta", "alpha", "ab", "a1", "a-b", "a_b"];
    const parsed = parseSlots(Object.fromEntries(names.map((name) => [name, slot])));
    expect(parsed.map(({ name }) => name)).toEqual(["a_b", "a-b", "a1", "ab", "alpha", "Beta", "zeta"]);
  });

  it.each(["1st", "_x", "a b", "a.b", "", "é", "x".repeat(65)])("cannot be named %j", (name) => {
    expect(() => createMemoryHost({ slots: { [name]: slot } })).toThrow(
      expect.objectContaining({ code: "invalid_definition" }),
    );
  });

  it("are made with defineMemory, ours or eve's", () => {
    const bare = { provider, scope: "s" };
    expect(() => createMemoryHost({ slots: { notes: bare } })).toThrow(/"notes" must be made with defineMemory/);
    expect(() => createMemoryHost({ slots: { notes: slot, theirs: eve.defineMemory(bare) } })).not.toThrow();
  });
});
