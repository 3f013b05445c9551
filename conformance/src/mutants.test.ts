/**
 * A mutant is caught by the checks that it names, for its reason, and by none that is about something else. Here the cheats
 * are tried; `pnpm kill-matrix --check` tries all.
 */
import { describe, expect, it } from "vitest";
import { certify } from "./certify.ts";
import { commonReasons } from "./check.ts";
import { allChecks, allClauses, allMutants, families, firstCheck } from "./families/index.ts";
import { remembering } from "./families/remembering.ts";
import { siblingModule } from "./process/rpc.ts";
import type { CheckResult } from "./result.ts";

const subject = siblingModule("reference/subject", import.meta.url);

async function resultsOf(query: string, only: readonly string[]): Promise<ReadonlyMap<string, CheckResult>> {
  const { results } = await certify(new URL(`?${query}`, subject), { profile: "strict", only, seed: 1 });
  return new Map(results.map((result) => [result.check, result]));
}

/** `KEEPSAKE_MUTANTS=replay` tries all of one family. */
const wanted = process.env.KEEPSAKE_MUTANTS;
const tried =
  wanted === undefined
    ? remembering.mutants
    : families.filter(({ name }) => name === wanted).flatMap(({ mutants }) => mutants);

if (tried.length === 0) throw new Error("KEEPSAKE_MUTANTS names no family that has mutants.");

describe.concurrent.each(tried)("$id ($flaw)", ({ id, kills, spares }) => {
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

  it("know every reason, and every clause has an id of its own and a proof", () => {
    const unknown = allMutants.flatMap(({ id, kills }) =>
      Object.entries(kills)
        .filter(([check, reason]) => {
          const reasons = allChecks.find((each) => each.id === check)?.reasons ?? {};
          return !(reason in reasons) && !(reason in commonReasons);
        })
        .map(([check, reason]) => [id, check, reason]),
    );
    expect(unknown).toEqual([]);
    expect(new Set(allClauses.map(({ id }) => id)).size).toBe(allClauses.length);
    expect(new Set(allChecks.map(({ id }) => id)).size).toBe(allChecks.length);
    const unproved = allClauses.filter(
      ({ id, excluded }) => (excluded === undefined) !== allChecks.some(({ clause }) => clause === id),
    );
    expect(unproved.map(({ id }) => id)).toEqual([]);
  });

  it("kill every check", () => {
    const killed = new Set(allMutants.flatMap(({ kills }) => Object.keys(kills)));
    expect(allChecks.map(({ id }) => id).filter((id) => !killed.has(id))).toEqual([]);
  });
});
