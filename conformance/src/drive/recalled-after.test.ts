import { escapeText } from "@keepsake/core";
import { expect, it } from "vitest";
import { allChecks } from "../families/index.ts";
import { createJudge } from "../judge.ts";
import { correctParts } from "../reference/parts.ts";
import { processRecordStore } from "../reference/process-store.ts";
import { referenceProvider } from "../reference/provider.ts";
import { defineSubject } from "../subject/define.ts";
import { createKitClock } from "../time/kit-clock.ts";

/** What the checks of the frame make of a provider that shows its memories as these lines. */
async function judged(line: typeof correctParts.line): Promise<Record<string, string>> {
  const subject = defineSubject({
    backend: "none",
    time: "injected",
    create: ({ clock }) => referenceProvider({ store: processRecordStore(clock), clock }, { ...correctParts, line }),
  });
  const judge = await createJudge(subject, { moduleUrl: "", time: createKitClock("injected"), seed: 1 });
  const states: Record<string, string> = {};
  for (const check of allChecks.filter(({ id }) => /^framing\/(closing-tags|every-entry)$/.test(id)))
    states[check.id] = (await judge.try(check)).state;
  return states;
}

it("takes ids in brackets, which differ from person to person, for no part of the frame", async () => {
  const letters = (id: string): string =>
    id
      .replace(/[^a-z]/gi, "")
      .slice(0, 12)
      .toUpperCase();
  expect(await judged(({ id, text }) => `[${letters(id)}] ${escapeText(text)}`)).toEqual({
    "framing/closing-tags": "pass",
    "framing/every-entry": "pass",
  });
});

it("takes a label in brackets that everybody's memories have for a part of the frame", async () => {
  expect(await judged(({ id, text }) => `[MEMORY] ${id}: ${escapeText(text)}`)).toEqual({
    "framing/closing-tags": "fail",
    "framing/every-entry": "fail",
  });
});
