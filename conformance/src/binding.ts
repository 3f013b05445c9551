/** What vitest and node:test have in common: one test for each check, fed by one run. */
import { type CertifyOptions, certify, checkOptions } from "./certify.ts";
import { explain, headline, summarize } from "./explain.ts";
import { plannedChecks } from "./plan.ts";
import type { Certificate, CheckResult } from "./result.ts";

export interface TestRunner {
  describe(name: string, body: () => void): void;
  /** `skip` ends the test as not run, with the reason shown; `say` tells something beside the result. */
  it(name: string, run: (skip: (reason: string) => void, say: (text: string) => void) => Promise<void>): void;
}

export type ConformanceOptions = Omit<CertifyOptions, "onResult">;

/** Registers the checks of the profile as tests. The subject is judged once, when the first of them runs. */
export function registerConformance(
  module: URL | string,
  options: ConformanceOptions,
  { describe, it }: TestRunner,
): void {
  checkOptions(options);
  const { profile = "base", only } = options;
  const checks = plannedChecks({ profile, only });
  const results = new Map(checks.map(({ id }) => [id, Promise.withResolvers<CheckResult>()]));
  let run: Promise<Certificate> | undefined;
  const judged = (): Promise<Certificate> => {
    if (run !== undefined) return run;
    run = certify(module, { ...options, onResult: (result) => results.get(result.check)?.resolve(result) });
    // A run that breaks off fails every test that still waits.
    run.catch((error: unknown) => {
      for (const [index, { promise, reject }] of [...results.values()].entries()) {
        promise.catch(() => {});
        reject(index === 0 ? error : plain("The subject could not be judged: the first test says why."));
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
        throw plain(explain(result));
      });
    }
    it("is as declared, all in all", async (skip, say) => {
      const certificate = await judged();
      say(headline(certificate));
      if (only !== undefined) return skip("A run of some checks never certifies.");
      if (!certificate.asDeclared) throw plain(summarize(certificate));
    });
  });
}

/** An error about the provider: where in the kit it was made is of no interest. */
function plain(message: string): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}`;
  return error;
}
