import { readdirSync } from "node:fs";
import { defineConfig } from "vitest/config";

const folders = ["packages", "examples"].flatMap((parent) => readdirSync(parent).map((name) => `${parent}/${name}`));

export default defineConfig({
  test: {
    maxConcurrency: 2, // of tests that wait for processes
    globalSetup: `${import.meta.dirname}/scripts/test-setup.ts`,
    reporters: ["default", "./scripts/test-summary-reporter.ts"],
    projects: [...folders, "conformance", "bench", "scripts"].map((root) => ({
      extends: true,
      test: { name: root.split("/").at(-1) ?? root, root },
    })),
  },
});
