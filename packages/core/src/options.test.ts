import { describe, expect, it } from "vitest";
import { checkOptions, optionIs } from "./options.ts";

const checks = { name: optionIs.text, limit: optionIs.positive, clock: optionIs.clock, store: optionIs.having("read") };
const check = (options: unknown) => () => checkOptions("remember()", options, checks);

describe("options", () => {
  it("that are known and usable pass, and so do those left out", () => {
    expect(check({})).not.toThrow();
    expect(check({ name: undefined, limit: 1 })).not.toThrow();
    expect(check({ clock: { now: () => 0 }, store: { read: () => {} } })).not.toThrow();
  });

  it.each([
    [null, /takes an object/],
    ["name", /takes an object/],
    [[], /takes an object/],
    [{ nmae: "x" }, /nmae.*It knows name, limit/],
    [{ constructor: "x" }, /constructor/],
    [{ name: " " }, /: name\./],
    [{ limit: 0 }, /: limit\./],
    [{ limit: Number.NaN }, /: limit\./],
    [{ clock: { now: 5 } }, /: clock\./],
    [{ clock: { now: () => 0, setTimer: 5 } }, /: clock\./],
    [{ store: {} }, /: store\./],
    [Object.create({ limit: -5 }), /: limit\./],
  ])("%j are refused with their names", (options, message) => {
    expect(check(options)).toThrow(expect.objectContaining({ code: "invalid_options" }));
    expect(check(options)).toThrow(message);
  });

  it("never show their values", () => {
    expect(check({ name: 4711, token: "4711" })).toThrow(/name, token/);
    expect(check({ name: 4711, token: "4711" })).not.toThrow(/4711/);
  });
});
