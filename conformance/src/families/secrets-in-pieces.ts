/**
 * Secrets that are put together only after somebody looked for them: control characters are dropped and full-width letters
 * made plain on the way to the store or to the model, and what was no key when it was looked at is one when it arrives.
 */
import { messageText } from "@keepsake/core";
import { inspect, redactSecrets } from "@keepsake/core/secrets";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { someSecret } from "../drive/secret-samples.ts";
import {
  blameOtherCauses,
  keepsHarmless,
  otherCauses,
  type Trace,
  traceAfter,
  traceOf,
  type WithSecret,
} from "../drive/secret-traces.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";
import { lookingAt } from "../reference/standing-before.ts";

/** What one or another program takes out of a text: first one of each kind, then more, which one way to write meets. */
const removable: Readonly<Record<string, string>> = {
  NUL: "\u0000",
  "a soft hyphen": "\u00ad",
  "a zero-width space": "\u200b",
  "a tag character": "\u{e0061}",
  "a carriage return": "\r",
  "a right-to-left override": "\u202e",
  "an escape character": "\u001b",
  "a delete character": "\u007f",
  "a C1 control character": "\u0090",
  "a combining grapheme joiner": "\u034f",
  "a zero-width joiner": "\u200d",
  "a left-to-right mark": "\u200e",
  "a line separator": "\u2028",
  "a variation selector": "\ufe0f",
  "a byte order mark": "\ufeff",
};
const oneOfEachKind = 4;

/** Other spellings of the same letters, which compatibility normalisation makes plain. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  "full-width letters": (text) =>
    text.replace(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
  "mathematical letters": (text) =>
    text.replace(/[A-Za-z]/g, (letter) => String.fromCodePoint(monospace(letter.charCodeAt(0)))),
};

const pieces = defineCheck({
  id: "secrets/in-pieces",
  clause: "MEM-SEC-10",
  title: "No secret comes about when characters between its letters are dropped, letters normalised, or parts joined",
  reasons: {
    removed:
      "Characters are dropped after secrets were looked for: look at the text as it is stored and shown, besides the one that came.",
    normalised:
      "Letters are normalised after secrets were looked for: look at the text as it is stored and shown, besides the one that came.",
    asked: "A question is cleared of secrets first, and of characters or other spellings afterwards, and then sent.",
    joined: "The parts of a message are looked at one by one, and joined without anything between them.",
    "neighbour-lost": "A harmless text is not kept.",
    ...otherCauses,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const removed = Object.entries(removable)
        .slice(0, path === bench.writePaths[0] ? undefined : oneOfEachKind)
        .map(([what, between], index) => secretAs(what, index, (text) => [...text].join(between)));
      const normalised = Object.entries(spellings).map(([what, spell], index) => secretAs(what, 30 + index, spell));
      for (const [reason, written] of [["removed", removed] as const, ["normalised", normalised] as const]) {
        const trace = await traceAfter(bench, bench.someone(handle), path, written);
        if (trace === undefined) continue;
        await blameOtherCauses(bench, handle, path, trace, fail);
        const how = reason === "removed" ? `with ${trace.what} between its letters` : `in ${trace.what}`;
        fail(reason, `By ${path}, a secret was written ${how}; ${whole(trace)}.`);
      }
      if (!(await keepsHarmless(bench, handle, path)))
        fail("neighbour-lost", `By ${path}, a harmless text was not kept.`);
    }
    const sent = await sentInQuestion(bench);
    if (sent !== undefined) fail("asked", `The backend was sent a secret whole that was asked about: ${sent}.`);
    if (!bench.writePaths.includes("capture")) return;
    const where = await traceOfParts(bench);
    if (where !== undefined) fail("joined", `Of a secret in two parts of a captured message, ${whole({ where })}.`);
  },
});

export const secretsInPieces: Family = defineFamily({
  name: "secrets in pieces",
  clauses: [
    {
      id: "MEM-SEC-10",
      level: "MUST",
      profile: "strict",
      sentence:
        "No secret is stored, sent or shown that comes about when characters of a text or a question are dropped, normalised or joined.",
      source: "C10, C12",
    },
  ],
  checks: [pieces],
  mutants: [
    {
      id: "secrets/looks-before-dropping",
      flaw: "Looks for secrets in a text as it came, and drops control and invisible characters afterwards.",
      kills: { "secrets/in-pieces": "removed" },
      spares: ["secrets/write-paths", "secrets/in-words", "secrets/harmless"],
      parts: ({ secretsIn }) => ({ secretsIn: (text) => secretsIn(text.replace(unseen, " ")) }),
      store: (store) => storing(store, (text) => text.replace(unseen, "")),
    },
    {
      id: "secrets/looks-before-normalising",
      flaw: "Looks for secrets in a text as it came, and normalises it afterwards (NFKC).",
      kills: { "secrets/in-pieces": "normalised" },
      spares: ["secrets/write-paths", "secrets/in-words", "secrets/harmless"],
      store: (store) => storing(store, (text) => text.normalize("NFKC")),
    },
    {
      id: "secrets/looks-before-joining",
      flaw: "Looks for secrets in each line, and joins the lines without anything between them.",
      kills: { "secrets/in-pieces": "joined" },
      spares: ["secrets/in-words", "secrets/harmless", "secrets/capture-keeps-rest"],
      store: (store) => storing(store, (text) => text.replaceAll("\n", "")),
    },
    {
      id: "secrets/normalises-the-question",
      flaw: "Redacts the question, normalises it afterwards (NFKC), and sends it.",
      kills: { "secrets/in-pieces": "asked" },
      spares: ["secrets/query", "secrets/write-paths"],
      provider: (provider, { store }) =>
        lookingAt(provider, ({ memory, turn, abortSignal, messages }) => {
          const asked = redactSecrets((turn?.input ?? []).map(messageText).join("\n")).text.normalize("NFKC");
          const isRecall = messages.at(-1)?.role !== "assistant";
          return isRecall ? store.pin(memory.scope.key, `question ${asked}`, [], abortSignal) : undefined;
        }),
    },
    {
      id: "secrets/every-other",
      flaw: "Looks for secrets in every other text, such as where a flag is switched back and forth.",
      kills: { "secrets/in-pieces": "depends-on-earlier-calls" },
      spares: ["secrets/harmless"],
      parts: () => {
        let looks = false;
        return {
          secretsIn: (text) => {
            looks = !looks;
            return looks ? inspect(text).map(({ ruleId }) => ruleId) : [];
          },
        };
      },
    },
  ],
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is dropped
const unseen = /[\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000e-\u001f\u007f-\u009f]+/gu;

/** How the secret of a question was written that the backend was sent, if there is one. */
async function sentInQuestion(bench: Bench): Promise<string | undefined> {
  if (bench.facts.backend === "none") return undefined;
  const ann = bench.someone(await bench.open());
  await ann.write(bench.canary().text);
  const spelt = [
    { what: "with NUL between its letters", spell: (text: string) => [...text].join("\u0000") },
    { what: "with soft hyphens between its letters", spell: (text: string) => [...text].join("\u00ad") },
    ...Object.entries(spellings).map(([letters, spell]) => ({ what: `in ${letters}`, spell })),
  ];
  for (const [index, { what, spell }] of spelt.entries()) {
    const { core, form } = secretAs(what, 70 + index, spell);
    const question = `${form}, is it not?`;
    await bench.outcome(() => ann.again().recall(question));
    if (bench.facts.searchTool !== undefined) await bench.outcome(() => ann.search(question));
    if (bench.wasSent(core)) return what;
  }
  return undefined;
}

function storing(store: RecordStore, change: (text: string) => string): RecordStore {
  return {
    ...store,
    put: (scope, record, signal) => store.put(scope, { ...record, text: change(record.text) }, signal),
  };
}

function secretAs(what: string, number: number, spell: (text: string) => string): WithSecret {
  const { text, core } = someSecret(number);
  return { what, core, form: `The key is ${spell(text)}` };
}

async function traceOfParts(bench: Bench): Promise<string | undefined> {
  const [ann, memory] = [bench.someone(await bench.open()), bench.canary()];
  const { text, core } = someSecret(50);
  const half = text.length / 2;
  const parts = [`${memory.text} The key is ${text.slice(0, half)}`, text.slice(half)];
  const content = parts.map((each) => ({ type: "text" as const, text: each }));
  await bench.outcome(() => ann.capture(ann.begin([{ role: "user", content }])));
  return traceOf(bench, ann, core, memory.query);
}

function whole({ where }: Pick<Trace, "where">): string {
  return where === "sent" ? "the backend was sent it whole" : `${where} held it whole`;
}

function monospace(code: number): number {
  return code < 97 ? 0x1d670 + code - 65 : 0x1d68a + code - 97;
}
