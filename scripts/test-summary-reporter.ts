/** The last words of a test run: what did not run and why, and one line of counts that a machine can read. */
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

export default class TestSummaryReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const cases = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string): TestCase[] => cases.filter((test) => test.result().state === state);
    const filter = this.#vitest?.getGlobalTestNamePattern();
    const isLeftOut = (test: TestCase): boolean => filter !== undefined && test.fullName.search(filter) < 0;
    const { leftOut = [], notRun = [] } = Object.groupBy(inState("skipped"), (test) =>
      isLeftOut(test) ? "leftOut" : "notRun",
    );
    for (const line of notRunLines(notRun)) console.log(line);
    if (leftOut.length > 0) console.log(`${leftOut.length} left out by the filter`);
    // A file that could not be loaded has no tests to count, and still failed.
    const brokenFiles = modules.filter((module) => module.state() === "failed" && !hasFailedTest(module));
    const failed = inState("failed").length + brokenFiles.length + unhandledErrors.length;
    const skipped = notRun.length + leftOut.length;
    console.log(`Tests: ${inState("passed").length} passed, ${failed} failed, ${skipped} skipped`);
  }
}

/** One line for each reason in each suite: checks that do not apply come by the dozen. */
function notRunLines(tests: readonly TestCase[]): readonly string[] {
  const alike = Object.groupBy(tests, (test) => `${suiteName(test)}\n${skipReason(test)}`);
  return Object.values(alike).flatMap((group = []) => {
    const [first] = group;
    if (first === undefined) return [];
    const what = group.length === 1 ? first.fullName : `${group.length} tests of ${suiteName(first)}`;
    return [`Not run: ${what} (${skipReason(first)})`];
  });
}

function suiteName({ parent, module }: TestCase): string {
  return parent.type === "suite" ? parent.fullName : module.relativeModuleId;
}

function hasFailedTest(module: TestModule): boolean {
  return [...module.children.allTests("failed")].length > 0;
}

function skipReason(test: TestCase): string {
  const result = test.result();
  return (result.state === "skipped" && result.note) || "no reason given";
}
