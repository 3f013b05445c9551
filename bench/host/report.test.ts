import { describe, expect, it } from "vitest";
import type { Result } from "./measure.ts";
import { toReport, toTable } from "./report.ts";

const result = (system: Result["system"], microseconds: number, kilobytesPerTurn: number): Result => ({
  system,
  microsecondsPerTurn: microseconds,
  fastestRound: microseconds - 1,
  slowestRound: microseconds + 1,
  elapsedMicrosecondsPerTurn: microseconds,
  kilobytesPerTurn,
});
const results = [result("keepsake", 100, 30), result("by-hand", 50, 10), result("eve", 400, 120)];
const report = toReport(results, { rounds: 25, round: { sessions: 20, texts: [] } });

describe("the report", () => {
  it("says what Keepsake takes of what the others take", () => {
    expect(report.keepsakeTo).toEqual({ eve: { time: 0.25, memory: 0.25 }, "by-hand": { time: 2, memory: 3 } });
    expect(report).toMatchObject({ results, turnsPerRound: 400, turnsPerSession: 20 });
  });

  it("is a table for people", () => {
    expect(toTable(report).split("\n").slice(2, 6)).toEqual([
      "system    µs/turn       rounds  to eve  to hand  KB/turn  to eve  to hand",
      "keepsake    100.0   99.0-101.0  0.25 x   2.00 x     30.0  0.25 x   3.00 x",
      "by-hand      50.0    49.0-51.0  0.13 x   1.00 x     10.0  0.08 x   1.00 x",
      "eve         400.0  399.0-401.0  1.00 x   8.00 x    120.0  1.00 x  12.00 x",
    ]);
  });
});
