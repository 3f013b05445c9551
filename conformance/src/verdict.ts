/** What a run amounts to. */
import type { Certificate, CheckResult } from "./result.ts";
import type { Deviation } from "./subject/define.ts";

interface Run {
  readonly results: readonly CheckResult[];
  readonly complete: boolean;
  readonly deviations: readonly Deviation[];
  /** `YYYY-MM-DD` */
  readonly today: string;
}

const breaking = ["fail", "untestable", "blocked", "harness-error"];

/** The results with known deviations marked, and whether the provider is certified and is as the subject says. */
export function verdict(
  run: Run,
): Pick<Certificate, "results" | "complete" | "certified" | "asDeclared" | "because" | "surprises"> {
  const { complete, today } = run;
  const valid = run.deviations.filter(({ expires }) => today < expires);
  const results = run.results.map((result) => {
    const known = valid.find(({ check }) => check === result.check);
    if (known === undefined || result.state !== "fail") return result;
    return { ...result, deviation: { reason: known.reason, link: known.link } };
  });
  const failing = results.filter(({ state }) => breaking.includes(state));
  const passedMusts = results.filter(({ state, level }) => state === "pass" && level === "MUST");
  const stale = run.deviations.filter(({ check }) =>
    results.some((result) => result.check === check && result.state === "pass"),
  );
  const blocked = failing.filter(({ state }) => state === "blocked");
  const always = [
    ...(blocked.length === 0 ? [] : [`${blocked.length} checks wait for ${blocked[0]?.blockedBy}.`]),
    ...(passedMusts.length === 0 ? ["Nothing that must be shown was shown."] : []),
  ];
  const because = [
    ...failing
      .filter((result) => !blocked.includes(result))
      .map(({ check, state, clause }) => `${check} (${clause}): ${state}`),
    ...always,
    ...(complete ? [] : ["Not every check of the profile was run."]),
  ];
  const expired = run.deviations.filter((deviation) => !valid.includes(deviation));
  const surprises = [
    ...failing
      .filter(({ deviation, state }) => deviation === undefined && state !== "blocked")
      .map(({ check, state }) => `${check}: ${state}, and no deviation lists it.`),
    ...stale.map(({ check }) => `${check} is listed as a deviation, and passes.`),
    ...expired.map(({ check, expires }) => `The deviation for ${check} has expired on ${expires}.`),
    ...always,
  ];
  return {
    results,
    complete,
    certified: because.length === 0,
    asDeclared: surprises.length === 0,
    because,
    surprises,
  };
}
