import { describe, it } from "node:test";
import { type ConformanceOptions, registerConformance } from "./binding.ts";

/**
 * Certifies a provider in node:test: one test for each check.
 * @param module The subject's module, such as `new URL("./subject.js", import.meta.url)`.
 */
export function describeConformance(module: URL | string, options: ConformanceOptions = {}): void {
  registerConformance(module, options, {
    describe: (name, body) => void describe(name, body),
    it: (name, run) =>
      void it(name, (test) =>
        run(
          (reason) => test.skip(reason),
          (text) => test.diagnostic(text),
        ),
      ),
  });
}
