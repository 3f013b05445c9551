import { expect, it } from "vitest";
import { JudgeWorker } from "./judge-worker.ts";
import { headingOf, plannedChecks } from "./plan.ts";
import { siblingModule } from "./process/rpc.ts";
import { unknownFacts } from "./survey.ts";
import busy from "./test-support/busy-subject.ts";

it("fails a provider that never lets go of the process, and judges on in another one", {
  timeout: 60_000,
}, async () => {
  const only = ["remembering/first", "construction/invalid-options"];
  const checks = plannedChecks({ profile: "base", only }).map(headingOf);
  const facts = { ...unknownFacts(busy), captures: true, writePaths: ["capture" as const] };
  const moduleUrl = String(siblingModule("test-support/busy-subject", import.meta.url));
  const worker = new JudgeWorker(process.execArgv, 2_000);
  try {
    await worker.meet({ moduleUrl, timeMode: "injected", seed: 1, facts });
    const results = [];
    for (const check of checks) results.push(await worker.try(check));
    expect(results).toMatchObject([
      { check: "remembering/first", state: "fail", reason: "stuck", saw: expect.stringContaining("busy for 2 s") },
      { check: "construction/invalid-options", state: "pass" },
    ]);
  } finally {
    await worker.end();
  }
});
