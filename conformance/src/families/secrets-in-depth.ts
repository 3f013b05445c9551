/**
 * Secrets deep within a text: who looks at the first kilobyte, so as to be quick, or at the first part of a message, lets
 * pass the key at the end of a pasted log.
 */
import { isUserMessage, messageText } from "@keepsake/core";
import { inspect } from "@keepsake/core/secrets";
import { defineCheck } from "../check.ts";
import { secretSamples, someSecret } from "../drive/secret-samples.ts";
import { blameOtherCauses, keepsHarmless, otherCauses, traceAfter, traceOf } from "../drive/secret-traces.ts";
import { defineFamily, type Family } from "../family.ts";
import { withRecall } from "../reference/changed.ts";
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

const several = defineCheck({
  id: "secrets/several",
  clause: "MEM-SEC-09",
  title: "Of two secrets in one text, of one kind or of two, neither is stored or sent, nor of two in one question",
  reasons: {
    "first-only":
      "Only the first secret is taken out: a replace without the g flag, or a search that ends at one finding.",
    "query-first-only": "Only the first secret of a question is taken out before it is sent.",
    "neighbour-lost": "A harmless text is not kept.",
    ...otherCauses,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [github, second, third, aws] = [someSecret(20), someSecret(21), someSecret(22), secretSamples[1]];
    const pairs = [
      [github, second],
      [third, aws ?? second],
    ] as const;
    for (const path of bench.writePaths) {
      for (const [one, other] of pairs) {
        const form = `The old key was ${one.text} and the new one is ${other.text} since then.`;
        const written = [one, other].map(({ kind, core }) => ({ what: kind, core, form }));
        const trace = await traceAfter(bench, bench.someone(handle), path, written);
        if (trace === undefined) continue;
        await blameOtherCauses(bench, handle, path, trace, fail);
        fail("first-only", `By ${path}, one of two secrets in a text got through.`);
      }
      if (!(await keepsHarmless(bench, handle, path)))
        fail("neighbour-lost", `By ${path}, a harmless text was not kept.`);
    }
    if (bench.facts.backend === "none") return;
    const [ann, asked] = [bench.someone(handle), [someSecret(23), someSecret(24)]];
    const question = `Is it ${asked.map(({ text }) => text).join(" or ")} that I use?`;
    await ann.recalls(question);
    if (bench.facts.searchTool !== undefined) await ann.search(question);
    const sent = asked.map(({ core }) => bench.wasSent(core));
    // One that sends all of them looks for none, which another clause is about.
    if (sent.includes(true) && sent.includes(false))
      fail("query-first-only", "The backend was sent one of two secrets in a question.");
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
    {
      id: "MEM-SEC-09",
      level: "MUST",
      profile: "strict",
      sentence: "Every secret of a text is found, however many there are.",
      source: "C10",
    },
  ],
  checks: [deep, several],
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
    {
      id: "secrets/redacts-the-first",
      flaw: "Stores a text with its first secret replaced.",
      kills: { "secrets/several": "first-only" },
      spares: ["secrets/write-paths", "secrets/in-words", "secrets/no-off-switch"],
      parts: () => ({ secretsIn: () => [] }),
      store: (store) => ({
        ...store,
        put: (scope, record, signal) => store.put(scope, { ...record, text: withoutFirst(record.text) }, signal),
      }),
    },
    {
      id: "secrets/asks-with-the-second",
      flaw: "Sends a question with its first secret replaced.",
      kills: { "secrets/several": "query-first-only" },
      spares: ["secrets/query", "secrets/write-paths"],
      provider: (provider, { store }) =>
        withRecall(provider, async (recall, context) => {
          const question = (context.turn?.input ?? []).map((message) => messageText(message)).join("\n");
          await store.list(withoutFirst(question) || "nothing", context.abortSignal);
          return recall(context);
        }),
    },
    prefilteredOnce,
  ],
});

function withoutFirst(text: string): string {
  const [found] = inspect(text);
  return found === undefined ? text : `${text.slice(0, found.start)}[redacted]${text.slice(found.end)}`;
}

function harmlessWords(length: number): string {
  return "The garden was quiet and the tea was warm. ".repeat(length).slice(0, length);
}
