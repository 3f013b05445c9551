import { describe, it } from "vitest";
import { type ConformanceOptions, registerConformance } from "./binding.ts";

/** A test waits for its turn in the run. */
const longestMs = 900_000;

/**
 * Certifies a provider in vitest: one test for each check.
 * @param module The subject's module, such as `new URL("./subject.ts", import.meta.url)`.
 */
export function describeConformance(module: URL | string, options: ConformanceOptions = {}): void {
  registerConformance(module, options, {
    describe: (name, body) => void describe(name, body),
    it: (name, run) => it(name, ({ skip }) => run(skip, (text) => console.info(text)), longestMs),
  });
}
