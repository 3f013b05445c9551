/**
 * Secrets deep within a text: who looks at the first kilobyte, so as to be quick, or at the first part of a message, lets
 * pass the key at the end of a pasted log.
 */
import { isUserMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { someSecret } from "../drive/secret-samples.ts";
import { blameOtherCauses, keepsHarmless, otherCauses, traceAfter, traceOf } from "../drive/secret-traces.ts";
import { defineFamily, type Family } from "../family.ts";
import { prefilteredOnce } from "./secret-mutants.ts";

const depths = [1_500, 1_000, 500];

const deep = defineCheck({
  id: "secrets/deep",
  clause: "MEM-SEC-08",
  title: "A secret is found behind 1,500 harmless characters, and in the second part of a message",
  reasons: {
    "beginning-only": "Only so many characters of a text are looked at, and more of it is stored.",
    "first-part-only": "Of a message in parts only the first is looked at, and the others are stored with it.",
    "neighbour-lost": "A harmless text is not kept.",
    ...otherCauses,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const written = depths.map((depth, index) => {
        const { text, core } = someSecret(index);
        return { what: String(depth), core, form: `${harmlessWords(depth)} The key is ${text}` };
      });
      const trace = await traceAfter(bench, bench.someone(handle), path, written);
      if (trace !== undefined) {
        await blameOtherCauses(bench, handle, path, trace, fail);
        fail("beginning-only", `By ${path}, a secret behind ${trace.what} harmless characters got through.`);
      }
      if (!(await keepsHarmless(bench, handle, path)))
        fail("neighbour-lost", `By ${path}, a harmless text was not kept.`);
    }
    if (!bench.writePaths.includes("capture")) return;
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const { text, core } = someSecret(depths.length);
    const parts = [memory.text, `The key is ${text}`].map((each) => ({ type: "text" as const, text: each }));
    await bench.outcome(() => ann.capture(ann.begin([{ role: "user", content: parts }])));
    if ((await traceOf(bench, ann, core, memory.query)) !== undefined)
      fail("first-part-only", "A secret in the second part of a captured message got through.");
  },
});

export const secretsInDepth: Family = defineFamily({
  name: "secrets in depth",
  clauses: [
    {
      id: "MEM-SEC-08",
      level: "MUST",
      profile: "strict",
      sentence: "A secret is found however much stands before it, in every part of what is stored.",
      source: "C10",
    },
  ],
  checks: [deep],
  mutants: [
    {
      id: "secrets/first-kilobyte",
      flaw: "Looks at the first 1,024 characters of a text.",
      kills: { "secrets/deep": "beginning-only" },
      spares: ["secrets/write-paths", "secrets/in-words", "secrets/no-off-switch"],
      parts: ({ secretsIn }) => ({ secretsIn: (text) => secretsIn(text.slice(0, 1_024)) }),
    },
    {
      id: "secrets/first-part",
      flaw: "Looks at the first part of a message, and stores all of them.",
      kills: { "secrets/deep": "first-part-only" },
      spares: ["secrets/write-paths", "secrets/capture-keeps-rest", "secrets/in-words"],
      parts: ({ secretsIn, textOf }) => ({
        textOf: (message) =>
          isUserMessage(message) && typeof message.content !== "string"
            ? message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n\n")
            : textOf(message),
        secretsIn: (text) => secretsIn(text.split("\n\n")[0] ?? ""),
      }),
    },
    prefilteredOnce,
  ],
});

function harmlessWords(length: number): string {
  return "The garden was quiet and the tea was warm. ".repeat(length).slice(0, length);
}
