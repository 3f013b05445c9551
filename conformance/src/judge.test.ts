import { expect, it } from "vitest";
import { allChecks, firstCheck } from "./families/index.ts";
import { createJudge } from "./judge.ts";
import { processRecordStore } from "./reference/process-store.ts";
import { referenceProvider } from "./reference/provider.ts";
import { defineSubject } from "./subject/define.ts";
import { createKitClock } from "./time/kit-clock.ts";

/** What a provider is told in the last of these checks, and under which keys. */
async function told(checks: readonly string[]): Promise<readonly string[]> {
  let heard: string[] = [];
  const subject = defineSubject({
    backend: "none",
    time: "injected",
    create: ({ clock }) => {
      const store = processRecordStore(clock);
      const put: typeof store.put = (scope, record, signal) => {
        heard.push(scope, record.text);
        return store.put(scope, record, signal);
      };
      return referenceProvider({ store: { ...store, put }, clock });
    },
  });
  const judge = await createJudge(subject, { moduleUrl: "", time: createKitClock("injected"), seed: 1 });
  for (const id of checks) {
    heard = [];
    const check = allChecks.find((each) => each.id === id);
    if (check !== undefined) expect(await judge.try(check)).toMatchObject({ state: "pass" });
  }
  return heard;
}

it("puts a provider through the same people and words, whatever it was put through before", async () => {
  const alone = await told(["isolation/matrix"]);
  expect(alone.length).toBeGreaterThan(10);
  expect(await told([firstCheck.id, "idempotency/capture-twice", "isolation/matrix"])).toEqual(alone);
  expect(await told([firstCheck.id])).not.toEqual(expect.arrayContaining(alone.slice(0, 1)));
});
