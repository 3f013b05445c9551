/**
 * Secrets in memory: a key that somebody pastes is stored, indexed, sent to a service, and recalled for good. Providers look
 * in their tools and not in capture or import, obey a comment in the text, or drop a whole turn for one line of it.
 */
import { defineCheck } from "../check.ts";
import { userMessage } from "../drive/messages.ts";
import { harmlessTexts, secretSamples, someSecret } from "../drive/secret-samples.ts";
import {
  blameOtherCauses,
  isRefusedLater,
  keepsHarmless,
  otherCauses,
  traceAfter,
  traceOf,
} from "../drive/secret-traces.ts";
import { defineFamily, type Family } from "../family.ts";
import { secretMutants } from "./secret-mutants.ts";

const writePaths = defineCheck({
  id: "secrets/write-paths",
  clause: "MEM-SEC-01",
  title: "No way to write stores or sends a secret",
  reasons: {
    stored: "This way to write does not look for secrets, or looks after it has stored.",
    sent: "The text is sent to the backend before it is looked at.",
    "neighbour-lost": "A harmless text written in the same way is not kept.",
    "depends-on-earlier-calls": otherCauses["depends-on-earlier-calls"],
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const written = secretSamples.map(({ kind, text, core }) => ({ what: kind, core, form: `The key is ${text}` }));
      const trace = await traceAfter(bench, bench.someone(handle), path, written);
      if (trace !== undefined && (await isRefusedLater(bench, handle, path, trace)))
        fail("depends-on-earlier-calls", `By ${path}, ${trace.what} got through once, and was refused later.`);
      if (trace?.where === "sent")
        fail("sent", `The backend was sent ${trace.what} that was to be written by ${path}.`);
      if (trace !== undefined) fail("stored", `After ${trace.what} was written by ${path}, ${trace.where} held it.`);
      if (!(await keepsHarmless(bench, handle, path)))
        fail("neighbour-lost", `By ${path}, a harmless text was not kept.`);
    }
  },
});

const captureKeepsRest = defineCheck({
  id: "secrets/capture-keeps-rest",
  clause: "MEM-SEC-02",
  title: "Of a turn with a secret, the messages without it are kept",
  needs: ["capture"],
  reasons: {
    stored: "A message with a secret is captured.",
    "rest-lost": "One message with a secret makes capture give up the turn.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const secretFirst of [true, false]) {
      const [ann, kept] = [bench.someone(handle), bench.canary()];
      const { text, core } = someSecret(0);
      const messages = [userMessage(kept.text), userMessage(`The key is ${text}`)];
      const turn = ann.begin(secretFirst ? messages.toReversed() : messages);
      await bench.outcome(() => ann.capture(turn));
      if (!(await ann.knows(kept))) fail("rest-lost", "Of two messages, the one without a secret was not kept.");
      if ((await traceOf(bench, ann, core, kept.query)) !== undefined)
        fail("stored", "Of two messages, the one with a secret was kept.");
    }
  },
});

const query = defineCheck({
  id: "secrets/query",
  clause: "MEM-SEC-03",
  title: "A question with a secret finds what the rest of it asks for, and does not send the secret",
  needs: ["backend", "current"],
  reasons: {
    sent: "The question goes to the backend as it is: redact findings before it leaves the process.",
    "not-found": "A question with a secret is not asked at all: leave out the secret, and ask the rest.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const memory = bench.canary();
    await ann.write(memory.text);
    const { text, core } = someSecret(0);
    const question = `${memory.query} My key is ${text} by the way.`;
    if (!(await ann.recalls(question)).includes(memory.word))
      fail("not-found", "What the rest of the question asks for was not recalled.");
    if (bench.facts.searchTool !== undefined) await ann.search(question);
    if (bench.wasSent(core)) fail("sent", "The backend was sent the secret within a question.");
  },
});

const comments = [
  "gitleaks:allow",
  "secretlint-disable",
  "nosec",
  "pragma: allowlist secret",
  "trufflehog:ignore",
  "noqa: S105",
  "this is only an example",
];

const noOffSwitch = defineCheck({
  id: "secrets/no-off-switch",
  clause: "MEM-SEC-04",
  title: "No comment in a text switches detection off",
  reasons: {
    stored: "A detector for code is used as it is, and obeys its comments within the text.",
    "neighbour-lost": "A harmless text is not kept.",
    ...otherCauses,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const path = bench.writePaths[0] ?? "capture";
    const written = comments.flatMap((comment, index) => {
      const [one, other] = [someSecret(2 * index), someSecret(2 * index + 1)];
      return [
        { what: comment, core: one.core, form: `${one.text} # ${comment}` },
        { what: comment, core: other.core, form: `// ${comment}\n${other.text}` },
      ];
    });
    const trace = await traceAfter(bench, bench.someone(handle), path, written);
    if (trace !== undefined) {
      await blameOtherCauses(bench, handle, path, trace, fail);
      fail("stored", `With the comment "${trace.what}" a secret was stored.`);
    }
    if (!(await keepsHarmless(bench, handle, path))) fail("neighbour-lost", "A harmless text was not kept.");
  },
});

const surroundings: Readonly<Record<string, (secret: string) => string>> = {
  "in quotes": (secret) => `It is "${secret}", I think.`,
  "in single quotes": (secret) => `key='${secret}'`,
  "in backticks": (secret) => `Use \`${secret}\` for it.`,
  "in brackets": (secret) => `The key (${secret}) is new.`,
  "at the end of a sentence": (secret) => `The new key is ${secret}.`,
  "in a URL": (secret) => `https://api.internal-net.net/v1?token=${secret}&page=2`,
  "in JSON": (secret) => JSON.stringify({ token: secret }),
  "on a line of its own": (secret) => `Here it is:\n${secret}\nThanks.`,
};

const inWords = defineCheck({
  id: "secrets/in-words",
  clause: "MEM-SEC-05",
  title: "A secret is found in quotes, in brackets, and at the end of a sentence",
  reasons: {
    stored: "Secrets are found only between spaces.",
    "neighbour-lost": "A harmless text is not kept.",
    ...otherCauses,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const path = bench.writePaths[0] ?? "capture";
    const written = Object.entries(surroundings).map(([where, form], index) => {
      const { text, core } = someSecret(index);
      return { what: where, core, form: form(text) };
    });
    const trace = await traceAfter(bench, bench.someone(handle), path, written);
    if (trace !== undefined) {
      await blameOtherCauses(bench, handle, path, trace, fail);
      fail("stored", `A secret ${trace.what} was stored.`);
    }
    if (!(await keepsHarmless(bench, handle, path))) fail("neighbour-lost", "A harmless text was not kept.");
  },
});

const harmless = defineCheck({
  id: "secrets/harmless",
  clause: "MEM-SEC-06",
  title: "A commit, a UUID, a long name and a long address are no secrets",
  reasons: { refused: "Whatever is long and random is taken for a secret." },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      for (const [kind, text] of Object.entries(harmlessTexts)) {
        const [ann, memory] = [bench.someone(handle), bench.canary()];
        const { state } = await bench.outcome(() => ann.write(`${memory.text} See ${text} for more.`, { path }));
        if (state !== "fulfilled" || !(await ann.recalls(memory.query)).includes(memory.word))
          fail("refused", `A text with ${kind}, written by ${path}, was not kept.`);
      }
    }
  },
});

const must = { level: "MUST", profile: "strict", source: "C10" } as const;

export const secrets: Family = defineFamily({
  name: "secrets",
  clauses: [
    { ...must, id: "MEM-SEC-01", sentence: "A secret is refused on every write path before it is stored or sent." },
    {
      ...must,
      id: "MEM-SEC-02",
      sentence: "A capture drops the message that holds a secret, and keeps the others of the turn.",
    },
    {
      ...must,
      id: "MEM-SEC-03",
      sentence: "A secret in the query of a recall or search does not leave the process, and the rest is asked.",
    },
    { ...must, id: "MEM-SEC-04", sentence: "Nothing within a text switches the detection of secrets off." },
    { ...must, id: "MEM-SEC-05", sentence: "A secret is found whatever surrounds it." },
    {
      ...must,
      id: "MEM-SEC-06",
      sentence: "Commits, UUIDs, long names and addresses are stored: they are no secrets.",
      source: "C10, cases 30",
    },
    {
      ...must,
      id: "MEM-SEC-07",
      sentence: "What was refused once is not stored under the same operation by a later, looser policy.",
      excluded: "It takes two policies, and what sets one differs from provider to provider.",
    },
  ],
  checks: [writePaths, captureKeepsRest, query, noOffSwitch, inWords, harmless],
  mutants: secretMutants,
});
