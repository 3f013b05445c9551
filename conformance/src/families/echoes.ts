/**
 * Echo loops: a provider that captures what it recalled stores it once more in every turn, until its memory is nothing but
 * copies. Also the opposite: a person who quotes what was recalled is not heard.
 */
import { isRecallFrame, isUserMessage, type ModelMessage, messageText } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { recalledMessage, userMessage } from "../drive/messages.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";

const fiveTurns = defineCheck({
  id: "echoes/five-turns",
  clause: "MEM-ECH-01",
  title: "Five turns that recall and say the same again make no more of it than five",
  needs: ["capture"],
  reasons: {
    lost: "What was said and recalled in the same session was not remembered.",
    grows:
      "What was recalled is captured with the turn: skip messages of kind memory.load. Or the whole history is captured each turn, or the turn's start is looked for from the front.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const memory = bench.canary();
    await ann.say(memory.text);
    const first = await occurrences(ann, memory);
    if (![...first.values()].some((count) => count > 0)) fail("lost", "What was said was not remembered.");
    for (const turns of [2, 3, 4, 5]) {
      await ann.say(memory.text);
      for (const [path, count] of await occurrences(ann, memory)) {
        // Each turn may add as much as the first did, and nothing else has been said.
        if (count > turns * (first.get(path) ?? 0))
          fail("grows", `After ${turns} turns, ${path} shows it more often than it was said.`);
      }
    }
  },
});

const ownBlock = defineCheck({
  id: "echoes/own-block-as-user",
  clause: "MEM-ECH-02",
  title: "What was recalled is known again without its kind, and not stored",
  needs: ["capture"],
  reasons: {
    lost: "What a person said beside it was not remembered.",
    "stored-again":
      "A message, or a part of one, that is entirely the provider's own frame is stored: not every host keeps kinds.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const block = await framedBlock(bench, bench.someone(handle));
    if (block === undefined) bench.notApplicable("It recalls memories with nothing around them to know them by.");
    for (const how of ["before the turn", "in the turn", "as a part of a message", "of another slot"] as const) {
      const [memory, said] = [bench.canary(), bench.canary()];
      const ann = handle.person({ scope: memory.topic });
      const there = how === "of another slot" ? handle.person({ scope: memory.topic, slot: "team" }) : ann;
      await ann.write(memory.text);
      const before = await occurrences(ann, memory);
      const { messages: recalled } = await there.recalled(memory.query);
      const blocks = (recalled ?? []).map(({ content }) => content);
      const kindless = blocks.map((content): ModelMessage => ({ role: "user", content }));
      const parts = [...blocks, said.text].map((text) => ({ type: "text" as const, text }));
      const input: Readonly<Record<typeof how, readonly ModelMessage[]>> = {
        "before the turn": [userMessage(said.text)],
        "in the turn": [...kindless, userMessage(said.text)],
        "as a part of a message": [{ role: "user", content: parts }],
        "of another slot": [...kindless, userMessage(said.text)],
      };
      const turn = ann.begin(input[how]);
      const history = how === "before the turn" ? kindless : [];
      await ann.capture(turn, { messages: [...history, ...turn.input, { role: "assistant", content: "Understood." }] });
      if (!(await ann.knows(said))) fail("lost", `With recalled text ${how}, what was said was not kept.`);
      if (grew(before, await occurrences(ann, memory)))
        fail("stored-again", `Recalled text ${how} was stored as what a person said.`);
    }
  },
});

const quotedFrame = defineCheck({
  id: "echoes/quoted-frame",
  clause: "MEM-ECH-03",
  title: "A person who quotes what was recalled among other words is heard",
  needs: ["capture"],
  reasons: { "not-heard": "A message is skipped because the provider's frame stands somewhere in it." },
  async run(bench, fail) {
    const handle = await bench.open();
    const block = await framedBlock(bench, bench.someone(handle));
    if (block === undefined) bench.notApplicable("It recalls memories with nothing around them to know them by.");
    const places: Readonly<Record<string, (said: string) => string>> = {
      before: (said) => `${said} I saw this: ${block}`,
      behind: (said) => `${block}\n${said}`,
      around: (said) => `${said} I saw this: ${block} Is it right?`,
    };
    for (const [place, quoting] of Object.entries(places)) {
      const [ann, said] = [bench.someone(handle), bench.canary()];
      await ann.capture(ann.begin(quoting(said.text)));
      if (!(await ann.knows(said))) fail("not-heard", `Words ${place} a quoted frame were not kept.`);
    }
  },
});

const compaction = defineCheck({
  id: "echoes/compaction",
  clause: "MEM-ECH-04",
  title: "A compaction between turns stores nothing of what was recalled",
  needs: ["capture"],
  reasons: {
    "stored-again": "Before a compaction, all of the history is captured, recalled text included.",
    lost: "After a compaction, what was remembered is not recalled any more.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const standalone of [true, false]) {
      const [ann, memory] = [bench.someone(handle), bench.canary()];
      await ann.write(memory.text);
      const before = await occurrences(ann, memory);
      const turn = ann.begin("Good morning.");
      const { messages: recalled } = await ann.recall(ann.begin(memory.query));
      const records = (recalled ?? []).map(({ content }) => recalledMessage(content));
      const messages = [...records, ...turn.input];
      await ann.capture(turn, { phase: "compaction.requested", standalone, messages });
      await ann.recall(turn, { phase: "compaction.completed", standalone, messages: records });
      if (grew(before, await occurrences(ann, memory)))
        fail("stored-again", "After a compaction, recalled text was stored as what a person said.");
      if (!(await ann.knows(memory))) fail("lost", "After a compaction it was not recalled.");
    }
  },
});

export const echoes: Family = defineFamily({
  name: "echoes",
  clauses: [
    {
      id: "MEM-ECH-01",
      level: "MUST",
      profile: "base",
      sentence: "Turns that recall a memory do not multiply it.",
      source: "P9, E5.4",
    },
    {
      id: "MEM-ECH-02",
      level: "MUST",
      profile: "strict",
      sentence:
        "A message, or a part of one, that is entirely a provider's own frame is not stored, whatever its kind.",
      source: "P9",
    },
    {
      id: "MEM-ECH-03",
      level: "MUST",
      profile: "strict",
      sentence: "A message that quotes a frame among other words is kept.",
      source: "P9",
    },
    {
      id: "MEM-ECH-04",
      level: "MUST",
      profile: "base",
      sentence: "A compaction stores nothing of what was recalled, and loses nothing that is remembered.",
      source: "P9, E5.7, E8.2",
    },
  ],
  checks: [fiveTurns, ownBlock, quotedFrame, compaction],
  mutants: [
    {
      id: "echoes/trusts-kinds",
      flaw: "Knows its own text by its kind only.",
      kills: { "echoes/own-block-as-user": "stored-again" },
      spares: ["echoes/five-turns", "echoes/quoted-frame", "capturing/nothing-else"],
      parts: () => ({ isCaptured: isUserMessage, textOf: allText }),
    },
    {
      id: "echoes/own-slot-only",
      flaw: "Knows its own text where it is of the slot that captures, and not of another one.",
      kills: { "echoes/own-block-as-user": "stored-again" },
      spares: ["echoes/five-turns", "capturing/user-text"],
      parts: ({ isCaptured, textOf }) => ({
        isCaptured: (message) => isCaptured(message) || (isUserMessage(message) && isOfTeam(message)),
        textOf: (message) => (isOfTeam(message) ? allText(message) : textOf(message)),
      }),
    },
    {
      id: "echoes/whole-messages-only",
      flaw: "Knows its own text where it is all of a message, and not where it is a part.",
      kills: { "echoes/own-block-as-user": "stored-again" },
      spares: ["echoes/five-turns", "capturing/user-text"],
      parts: () => ({ textOf: allText }),
    },
    {
      id: "echoes/drops-turn-with-block",
      flaw: "Takes nothing of a turn in which its own text stands without a kind.",
      kills: { "echoes/own-block-as-user": "lost" },
      spares: ["echoes/five-turns", "echoes/quoted-frame"],
      parts: ({ turnMessages, isCaptured }) => ({
        turnMessages: (messages, input) =>
          messages.every((message) => !isUserMessage(message) || isCaptured(message))
            ? turnMessages(messages, input)
            : [],
      }),
    },
    {
      id: "echoes/deaf-to-quotes",
      flaw: "Skips a message in which its frame stands anywhere.",
      kills: { "echoes/quoted-frame": "not-heard" },
      spares: ["echoes/five-turns", "capturing/user-text"],
      parts: ({ isCaptured }) => ({
        isCaptured: (message) => isCaptured(message) && !allText(message).includes("<keepsake-memory"),
      }),
    },
    {
      id: "echoes/captures-history",
      flaw: "Captures all of the history before a compaction between turns, whoever speaks in it.",
      kills: { "echoes/compaction": "stored-again" },
      spares: ["echoes/five-turns", "echoes/own-block-as-user", "capturing/nothing-else"],
      parts: ({ turnMessages, isCaptured, textOf }) => {
        let standalone = false;
        return {
          turnMessages: (messages, input) => {
            standalone = input.length === 0;
            return standalone ? messages : turnMessages(messages, input);
          },
          isCaptured: (message) => standalone || isCaptured(message),
          textOf: (message) => (standalone ? allText : textOf)(message),
        };
      },
    },
  ],
});

/** What is recalled of somebody who has told one thing, where more than that thing itself is recalled. */
async function framedBlock(bench: { canary(): Canary }, person: Person): Promise<string | undefined> {
  const memory = bench.canary();
  await person.write(memory.text);
  const { text } = await person.recalled(memory.query);
  return text.trim() === memory.text ? undefined : text;
}

/** How often each read path shows the memory's word. */
async function occurrences(person: Person, { query, word }: Canary): Promise<ReadonlyMap<string, number>> {
  const readings = await person.readings(query);
  return new Map(readings.map(({ path, text }) => [path, text.toLowerCase().split(word).length - 1]));
}

function grew(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): boolean {
  return [...after].some(([path, count]) => count > (before.get(path) ?? 0));
}

function allText({ content }: ModelMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
}

function isOfTeam(message: ModelMessage): boolean {
  return isRecallFrame(messageText(message), "team");
}
