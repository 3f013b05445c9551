/** What vitest and node:test have in common: one test for each check, fed by one run. */
import { type CertifyOptions, certify } from "./certify.ts";
import { explain, summarize } from "./explain.ts";
import { plannedChecks } from "./judge.ts";
import type { Certificate, CheckResult } from "./result.ts";

export interface TestRunner {
  describe(name: string, body: () => void): void;
  /** `skip` ends the test as not run, with the reason shown. */
  it(name: string, run: (skip: (reason: string) => void) => Promise<void>): void;
}

export type ConformanceOptions = Omit<CertifyOptions, "onResult">;

/** Registers the checks of the profile as tests. The subject is judged once, when the first of them runs. */
export function registerConformance(
  module: URL | string,
  options: ConformanceOptions,
  { describe, it }: TestRunner,
): void {
  const { profile = "base", only } = options;
  const [quick, slow] = (["quick", "slow"] as const).map((part) => plannedChecks({ profile, only, part }));
  const checks = [...new Set([...(quick ?? []), ...(slow ?? [])])];
  const results = new Map(checks.map(({ id }) => [id, Promise.withResolvers<CheckResult>()]));
  let run: Promise<Certificate> | undefined;
  const judged = (): Promise<Certificate> => {
    if (run !== undefined) return run;
    run = certify(module, { ...options, onResult: (result) => results.get(result.check)?.resolve(result) });
    // A run that breaks off fails every test that still waits.
    run.catch((error: unknown) => {
      for (const { promise, reject } of results.values()) {
        promise.catch(() => {});
        reject(error);
      }
    });
    return run;
  };
  describe(`conformance (${profile}) of ${String(module).split("/").at(-1)}`, () => {
    for (const { id, title } of checks) {
      it(`${id}: ${title}`, async (skip) => {
        judged().catch(() => {});
        const result = await results.get(id)?.promise;
        if (result === undefined || result.state === "pass") return;
        if (result.state === "not-applicable") return skip(result.saw ?? "It does not apply.");
        if (result.state === "advisory") return skip(`Advice, which decides nothing. ${explain(result)}`);
        if ((await judged()).results.some(({ check, deviation }) => check === id && deviation !== undefined)) {
          return skip(`A known deviation. ${explain(result)}`);
        }
        throw new Error(explain(result));
      });
    }
    it("is as declared, all in all", async (skip) => {
      const certificate = await judged();
      if (only !== undefined) return skip("A run of some checks never certifies.");
      if (!certificate.asDeclared) throw new Error(summarize(certificate));
    });
  });
}
