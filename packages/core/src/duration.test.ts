import { describe, expect, it } from "vitest";
import { type Duration, isExpired, parseDuration } from "./duration.ts";
import { memoryErrorOf } from "./test-support/outcome.ts";

describe("parseDuration", () => {
  it.each<[Duration, number]>([
    ["250ms", 250],
    ["10s", 10_000],
    ["5m", 300_000],
    ["12h", 43_200_000],
    ["30d", 2_592_000_000],
    ["007s", 7_000],
    [1, 1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])("%s is %d ms", (duration, milliseconds) => {
    expect(parseDuration(duration)).toBe(milliseconds);
  });

  it.each<[string, unknown]>([
    ["zero", 0],
    ["zero with a unit", "0s"],
    ["less than zero", -1],
    ["less than zero with a unit", "-1s"],
    ["a fraction", 1.5],
    ["a fraction with a unit", "1.5h"],
    ["no number", Number.NaN],
    ["for ever", Number.POSITIVE_INFINITY],
    ["no unit", "10"],
    ["no number before the unit", "s"],
    ["an unknown unit", "1w"],
    ["an upper-case unit", "1H"],
    ["a space between", "1 h"],
    ["spaces around", " 1h "],
    ["a line break after", "1h\n"],
    ["an exponent", "1e3s"],
    ["digits of another script", "\u0661h"],
    ["two of them", "1h30m"],
    ["more than a number can hold exactly", "9007199254740992ms"],
    ["so many days that milliseconds overflow", "9999999999d"],
    ["nothing", ""],
    ["null", null],
    ["a list of one", ["1h"]],
    ["a bigint", 5n],
  ])("refuses %s, and names the option", async (_, duration) => {
    const error = await memoryErrorOf(() => parseDuration(duration as Duration, "ttl"));
    expect(error.code).toBe("invalid_options");
    expect(error.message).toMatch(/^ttl must be/);
  });
});

describe("isExpired", () => {
  it("is true from the very millisecond on", () => {
    expect([isExpired(1_000, 999), isExpired(1_000, 1_000), isExpired(1_000, 1_001)]).toEqual([false, true, true]);
  });

  it("compares numbers, not text: 9 is before 10", () => {
    expect(isExpired(10, 9)).toBe(false);
  });
});
