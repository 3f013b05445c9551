/**
 * What capture takes: providers keep the host's instructions, tool results and summaries as if a person had said them, miss
 * messages whose content is a list of parts, or store "[object Object]" for a photograph.
 */
import type { ModelMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { userMessage } from "../drive/messages.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { capturingMutants } from "./capturing-mutants.ts";

const userText = defineCheck({
  id: "capturing/user-text",
  clause: "MEM-CAP-01",
  title: "What a person says is kept, with or without a kind, as text or as parts",
  needs: ["capture"],
  reasons: {
    "kind-missed": "Messages of a person are of kind user, or of none.",
    "parts-missed": "Content is text or a list of parts: take the text parts of a list.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const forms: readonly [
      reason: "kind-missed" | "parts-missed",
      how: string,
      form: (text: string) => ModelMessage,
    ][] = [
      ["kind-missed", "text of kind user", userMessage],
      ["kind-missed", "text without a kind", (content) => ({ role: "user", content })],
      [
        "parts-missed",
        "a text part of kind user",
        (text) => ({ ...userMessage(""), role: "user", content: [part(text)] }),
      ],
      ["parts-missed", "a text part without a kind", (text) => ({ role: "user", content: [part(text)] })],
      ["parts-missed", "a text part beside a picture", (text) => ({ role: "user", content: [picture, part(text)] })],
    ];
    for (const [reason, how, form] of forms) {
      const [ann, memory] = [bench.someone(handle), bench.canary()];
      await ann.capture(ann.begin([form(memory.text)]));
      if (!(await isRead(ann, memory))) fail(reason, `What was said as ${how} was not kept.`);
    }
  },
});

const several = defineCheck({
  id: "capturing/several",
  clause: "MEM-CAP-02",
  title: "All of a turn's user messages are kept",
  needs: ["capture"],
  reasons: { missed: "Capture takes one user message of a turn, such as the first or the last." },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const memories = [bench.canary(), bench.canary(), bench.canary()];
    await ann.capture(ann.begin(memories.map(({ text }) => userMessage(text))));
    for (const [index, memory] of memories.entries()) {
      if (!(await isRead(ann, memory))) fail("missed", `Of three user messages, number ${index + 1} was not kept.`);
    }
  },
});

const nothingElse = defineCheck({
  id: "capturing/nothing-else",
  clause: "MEM-CAP-03",
  title: "Recalled records, the host's own messages and tool results are not kept",
  needs: ["capture"],
  reasons: {
    lost: "Among other messages, what the person said was not kept.",
    "recalled-record": "Messages of kind memory.load are memory that was recalled, of this slot or another: skip them.",
    "host-message": "Only kind user, or none, is a person's. The other kinds of user messages are the host speaking.",
    "tool-result": "What tools answered is stored as if a person had said it.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const known = bench.canary();
    await ann.write(known.text);
    const frame = (await ann.recalled(known.query)).text;
    const own = bench.canary();
    const made: [reason: "recalled-record" | "host-message" | "tool-result", what: string, memory: Canary][] = [];
    const holding = (reason: (typeof made)[number][0], what: string): Canary => {
      const memory = bench.canary();
      made.push([reason, what, memory]);
      return memory;
    };
    const ofKind = (kind: string, content: string): ModelMessage => Object.assign(userMessage(content), { kind });
    const records = [
      ofKind("memory.load", frame.replaceAll(known.word, holding("recalled-record", "a record of this slot").word)),
      ofKind("memory.load", `## Other notes\n- ${holding("recalled-record", "a record of another slot").text}`),
    ];
    const host = (kind: string): ModelMessage => ofKind(kind, holding("host-message", kind).text);
    const system = { role: "system" as const, content: holding("host-message", "a system message").text };
    const input = [host("context.instruction"), userMessage(own.text)];
    const turn = ann.begin(input);
    const messages = [
      system,
      ...records,
      host("context.compaction"),
      ...input,
      ...["context.state", "task.result", "execution.continuation", "execution.retry"].map(host),
      ...toolCall(holding("tool-result", "a tool result").text),
      { role: "assistant" as const, content: "Understood." },
    ];
    await ann.capture(turn, { messages });
    if (!(await isRead(ann, own))) fail("lost", "What the person said was not kept.");
    for (const [reason, what, memory] of made) {
      const held = bench.facts.backend !== "none" && (await bench.holds(memory.word));
      if (held || (await isRead(ann, memory))) fail(reason, `The text of ${what} was kept.`);
    }
  },
});

const assistant = defineCheck({
  id: "capturing/assistant",
  clause: "MEM-CAP-04",
  title: "The assistant's words are kept where that is declared, and not where capture is declared to be the user's",
  needs: ["capture"],
  reasons: {
    "kept-anyway": 'It declares capture "user", and keeps what the assistant says.',
    "not-kept": 'It declares capture "all", and does not keep what the assistant says.',
    lost: "In a turn with an answer, what the person said was not kept.",
  },
  async run(bench, fail) {
    const declared = bench.facts.declared.capture;
    if (declared === undefined) bench.notApplicable("It does not declare whose words it captures.");
    const ann = bench.someone(await bench.open());
    const [said, answered] = [bench.canary(), bench.canary()];
    const turn = ann.begin(said.text);
    const answer: ModelMessage = { role: "assistant", content: [part(answered.text)] };
    await ann.capture(turn, { messages: [...turn.input, answer] });
    if (!(await isRead(ann, said))) fail("lost", "What the person said was not kept.");
    const kept = await isRead(ann, answered);
    if (declared === "user" && kept) fail("kept-anyway", "What the assistant said was kept.");
    if (declared === "all" && !kept) fail("not-kept", "What the assistant said was not kept.");
  },
});

const undeclared = defineCheck({
  id: "capturing/undeclared",
  clause: "MEM-CAP-05",
  title: "A provider that declares to capture nothing captures nothing",
  reasons: {
    "captures-anyway": 'It declares capture "none", has capture handlers, and they store what was said.',
    lost: "What was written in its own way was not remembered.",
  },
  async run(bench, fail) {
    const { captures, declared } = bench.facts;
    if (!captures || declared.capture !== "none") bench.notApplicable("It has no capture that it does not declare.");
    const ann = bench.someone(await bench.open());
    const [written, said] = [bench.canary(), bench.canary()];
    await ann.write(written.text);
    await ann.capture(ann.begin(said.text));
    if (!(await isRead(ann, written))) fail("lost", "What was written was not read again.");
    const held = bench.facts.backend !== "none" && (await bench.holds(said.word));
    if (held || (await isRead(ann, said))) fail("captures-anyway", "What was only said was kept.");
  },
});

const empty = defineCheck({
  id: "capturing/empty",
  clause: "MEM-CAP-06",
  title: "Blank messages and bare attachments leave nothing behind, and do not harm the rest",
  needs: ["capture"],
  reasons: {
    "stored-nothing": "A message without text is stored as an empty record, or as the word for no text.",
    "lost-the-rest": "A message without text makes capture give up the turn.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben, nobody] = [bench.someone(handle), bench.someone(handle), bench.someone(handle)];
    const own = bench.canary();
    const bare: readonly ModelMessage[] = [
      userMessage("  \n"),
      { role: "user", content: [picture] },
      { role: "user", content: [] },
      { role: "user", content: [{ type: "file", data: "SGVsbG8=", mediaType: "application/pdf" }] },
    ];
    for (const message of bare) await ben.capture(ben.begin([message]));
    if ((await ben.recalls(own.query)) !== (await nobody.recalls(own.query)))
      fail("stored-nothing", "After messages without text, something was recalled.");
    await ann.capture(ann.begin([...bare, userMessage(own.text)]));
    if (!(await isRead(ann, own))) fail("lost-the-rest", "Beside messages without text, what was said was not kept.");
  },
});

const compactionRequested = defineCheck({
  id: "capturing/compaction-requested",
  clause: "MEM-CAP-07",
  title: "Before a compaction, what the turn has brought so far is kept",
  needs: ["capture"],
  reasons: { "not-taken": 'capture["compaction.requested"] is there and keeps nothing of the running turn.' },
  async run(bench, fail) {
    const handle = await bench.open();
    if (handle.provider.capture?.["compaction.requested"] === undefined)
      bench.notApplicable("It captures at the end of turns only.");
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const turn = ann.begin(memory.text);
    await ann.capture(turn, { phase: "compaction.requested", messages: turn.input });
    if (!(await isRead(ann, memory))) fail("not-taken", "What was said in the running turn was not kept.");
  },
});

const must = { level: "MUST", profile: "base", source: "P9" } as const;

export const capturing: Family = defineFamily({
  name: "capturing",
  clauses: [
    {
      ...must,
      id: "MEM-CAP-01",
      sentence: "Capture takes the text of user messages of kind user or of none, whether content is text or parts.",
      source: "P9, E5.4, E5.5",
    },
    {
      ...must,
      id: "MEM-CAP-02",
      profile: "strict",
      sentence: "Capture takes every user message of a turn.",
    },
    {
      ...must,
      id: "MEM-CAP-03",
      sentence: "Capture takes no recalled record, no message of the host's own, and no tool result.",
      source: "P9, E5.4",
    },
    {
      ...must,
      id: "MEM-CAP-04",
      sentence: 'Capture takes the assistant\'s words where "all" is declared, and not where "user" is.',
      source: "P9, K4",
    },
    {
      ...must,
      id: "MEM-CAP-05",
      sentence: 'Where capture is declared to be "none", handlers for it store nothing.',
      source: "P9, K4",
    },
    {
      ...must,
      id: "MEM-CAP-06",
      sentence: "A message without text stores nothing, and does not keep the rest of its turn from being stored.",
    },
    {
      ...must,
      id: "MEM-CAP-07",
      profile: "strict",
      sentence: "Where compactions are captured, what the running turn has brought so far is taken.",
      source: "P9, E5.5",
    },
  ],
  checks: [userText, several, nothingElse, assistant, undeclared, empty, compactionRequested],
  mutants: capturingMutants,
});

/** Whether any read path shows it. */
async function isRead(person: Person, { query, word }: Canary): Promise<boolean> {
  return (await person.readings(query)).some(({ text }) => text.toLowerCase().includes(word));
}

const picture = { type: "image" as const, image: new Uint8Array([137, 80, 78, 71]), mediaType: "image/png" };

function part(text: string): { readonly type: "text"; readonly text: string } {
  return { type: "text", text };
}

function toolCall(answered: string): readonly ModelMessage[] {
  const call = { toolCallId: "call_1", toolName: "weather" };
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: answered } }] },
  ];
}
