/** The last words of a test run: what did not run and why, and one line of counts that a machine can read. */
import type { Reporter, TestCase, TestModule } from "vitest/node";

export default class TestSummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string): number => cases.filter((test) => test.result().state === state).length;
    // A file that could not be loaded has no tests to count, and still failed.
    const brokenFiles = modules.filter((module) => module.state() === "failed" && count("failed") === 0).length;
    for (const test of cases.filter((candidate) => candidate.result().state === "skipped")) {
      console.log(`Not run: ${test.fullName} (${skipReason(test)})`);
    }
    const failed = count("failed") + brokenFiles + unhandledErrors.length;
    console.log(`Tests: ${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`);
  }
}

function skipReason(test: TestCase): string {
  const result = test.result();
  return (result.state === "skipped" && result.note) || "no reason given";
}
