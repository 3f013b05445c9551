/** Every mutant is caught by the checks that name it, for the reason that it names, and by none that is about something else. */
import { describe, expect, it } from "vitest";
import { certify } from "./certify.ts";
import { allChecks, allMutants, firstCheck } from "./families/index.ts";
import { siblingModule } from "./process/rpc.ts";
import type { CheckResult } from "./result.ts";

const subject = siblingModule("reference/subject", import.meta.url);

async function resultsOf(query: string, only: readonly string[]): Promise<ReadonlyMap<string, CheckResult>> {
  const { results } = await certify(new URL(`?${query}`, subject), { profile: "strict", only, seed: 1 });
  return new Map(results.map((result) => [result.check, result]));
}

describe.concurrent.each([...allMutants])("$id ($flaw)", ({ id, kills, spares }) => {
  it("fails for its own reason and spares what it has nothing to do with", { timeout: 120_000 }, async () => {
    const results = await resultsOf(`mutant=${encodeURIComponent(id)}`, [...Object.keys(kills), ...spares]);
    const seen = Object.keys(kills).map((check) => {
      const { state, reason, saw } = results.get(check) ?? {};
      return { check, caught: state === "fail" || state === "advisory", reason, saw };
    });
    expect(seen).toMatchObject(Object.entries(kills).map(([check, reason]) => ({ check, caught: true, reason })));
    const others = [...spares, ...(firstCheck.id in kills ? [] : [firstCheck.id])];
    expect(others.map((check) => [check, results.get(check)])).toMatchObject(
      others.map((check) => [check, { state: "pass" }]),
    );
  });
});

describe("the mutants", () => {
  it("have ids of their own, and name checks that there are, with reasons that these have", () => {
    expect(new Set(allMutants.map(({ id }) => id)).size).toBe(allMutants.length);
    const wrong = allMutants.flatMap(({ id, kills, spares }) =>
      [...Object.keys(kills), ...spares]
        .filter((check) => !allChecks.some((each) => each.id === check))
        .map((check) => [id, check]),
    );
    expect(wrong).toEqual([]);
  });

  it("kill every check", () => {
    const killed = new Set(allMutants.flatMap(({ kills }) => Object.keys(kills)));
    expect(allChecks.map(({ id }) => id).filter((id) => !killed.has(id))).toEqual([]);
  });
});
