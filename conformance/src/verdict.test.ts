import { describe, expect, it } from "vitest";
import type { CheckResult } from "./result.ts";
import type { Deviation } from "./subject/define.ts";
import { verdict } from "./verdict.ts";

const result = (check: string, state: CheckResult["state"], level: CheckResult["level"] = "MUST"): CheckResult => ({
  check,
  clause: "MEM-REM-01",
  level,
  sentence: "It remembers.",
  state,
  durationMs: 1,
});
const first = result("remembering/first", "pass");
const deviation: Deviation = { check: "a/b", reason: "known", link: "https://a.example", expires: "2030-01-02" };
const of = (
  results: readonly CheckResult[],
  { deviations = [] as Deviation[], complete = true, today = "2030-01-01" } = {},
) => verdict({ results, deviations, complete, today });

describe("a verdict", () => {
  it("certifies what passed, whatever does not apply and whatever is only advice", () => {
    const results = [first, result("a/b", "not-applicable"), result("a/c", "advisory", "SHOULD")];
    expect(of(results)).toMatchObject({ certified: true, asDeclared: true, because: [] });
  });

  it.each(["fail", "untestable", "blocked", "harness-error"] as const)("certifies nothing with %s", (state) => {
    expect(of([first, result("a/b", state)])).toMatchObject({ certified: false, asDeclared: false });
  });

  it("certifies nothing where nothing that must be shown was shown", () => {
    expect(of([result("a/b", "not-applicable")])).toMatchObject({ certified: false, asDeclared: false });
    expect(of([])).toMatchObject({ certified: false, asDeclared: false });
    expect(of([result("a/b", "pass", "SHOULD")])).toMatchObject({ certified: false });
  });

  it("certifies no filtered run", () => {
    expect(of([first], { complete: false })).toMatchObject({ certified: false });
  });

  it("takes a known deviation as declared, and does not certify it", () => {
    const { results, ...rest } = of([first, result("a/b", "fail")], { deviations: [deviation] });
    expect(rest).toMatchObject({ certified: false, asDeclared: true });
    expect(results[1]).toMatchObject({ deviation: { reason: "known" } });
  });

  it("forgets a deviation on the day it expires", () => {
    const run = { deviations: [deviation], today: "2030-01-02" };
    const { asDeclared, surprises } = of([first, result("a/b", "fail")], run);
    expect(asDeclared).toBe(false);
    expect(surprises.join()).toContain("expired on 2030-01-02");
  });

  it("says once how many checks wait for the first", () => {
    const blocked = ["a/b", "a/c"].map((check) => ({ ...result(check, "blocked"), blockedBy: "remembering/first" }));
    const { because } = of([result("remembering/first", "fail"), ...blocked]);
    expect(because).toContain("2 checks wait for remembering/first.");
  });

  it("fails a deviation that passes", () => {
    expect(of([first, result("a/b", "pass")], { deviations: [deviation] })).toMatchObject({ asDeclared: false });
  });
});
