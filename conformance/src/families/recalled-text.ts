/** Recalled text that the model takes for orders, and cuts through the middle of an emoji, which some services refuse. */
import { escapeText } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { benign } from "../drive/recalled-after.ts";
import { defineFamily, type Family } from "../family.ts";
import { bareFrame } from "./framing-mutants.ts";

const saysItIsData = defineCheck({
  id: "recalled-text/says-it-is-data",
  clause: "MEM-TXT-01",
  title: "What stands around the memories says that they are stored data",
  reasons: {
    "says-nothing": "Nothing tells the model that this is what was stored earlier, so that it may take it as orders.",
  },
  async run(bench, fail) {
    const { around } = await benign(bench, await bench.open(), bench.writePaths[0] ?? "capture", 1);
    if (
      !/memor|stored|saved|notes?\b|earlier|remember|previous|past\b|history|data|recall|known|facts?\b/i.test(around)
    )
      fail("says-nothing", "No word around the recalled memory says what it is.");
  },
});

const notAnInstruction = defineCheck({
  id: "recalled-text/not-an-instruction",
  clause: "MEM-TXT-02",
  title: "The recalled text does not begin as instructions to the model do",
  reasons: {
    imperative: "Recalled text begins like a system prompt, which lends what people once said the same authority.",
  },
  async run(bench, fail) {
    const { recalled } = await benign(bench, await bench.open(), bench.writePaths[0] ?? "capture", 1);
    for (const { content } of recalled.messages ?? []) {
      if (
        /^\W*(?:system(?: prompt| message)?\s*:|(?:system )?instructions?\s*:|you (?:must|shall)\b|obey\b)/i.test(
          content,
        )
      )
        fail("imperative", "It begins with words of command.");
    }
  },
});

const wellFormed = defineCheck({
  id: "recalled-text/well-formed",
  clause: "MEM-TXT-03",
  title: "Emoji at every place where a limit may cut come out whole",
  reasons: {
    "half-a-character": "Text is cut by UTF-16 code units or by bytes: cut between graphemes.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const shift of [0, 1, 2, 3]) {
      const ann = bench.someone(handle);
      const memories = [40, 160, 700].map((count) => ({ ...bench.canary(), emoji: "\u{1f600}".repeat(count) }));
      for (const { text, emoji } of memories)
        await bench.outcome(() => ann.write(`${text} ${"x".repeat(shift)}${emoji}`)); // long ones may be refused
      const recalled = await ann.recalls(memories.map(({ query }) => query).join(" "));
      if (!recalled.isWellFormed() || recalled.includes("\ufffd"))
        fail("half-a-character", "The recalled text holds half a character.");
    }
  },
});

const repairs = defineCheck({
  id: "recalled-text/repairs",
  clause: "MEM-TXT-04",
  title: "Half characters that a memory was written with do not come out",
  reasons: {
    "half-a-character": "Lone surrogates in stored text reach the recalled text: toWellFormed() on the way in or out.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const own = bench.canary();
    for (const path of bench.writePaths) {
      for (const half of ["\ud83d", "\ude00"]) {
        const { text } = bench.canary();
        await bench.outcome(() => ann.write(`${text} ${own.topic} ${half} end`, { path })); // it may refuse them
      }
    }
    await ann.write(own.text);
    const recalled = await ann.recalls(own.query);
    if (!recalled.includes(own.word)) fail("half-a-character", "A memory beside them was not recalled.");
    if (!recalled.isWellFormed()) fail("half-a-character", "The recalled text holds half a character.");
  },
});

const wholeGraphemes = defineCheck({
  id: "recalled-text/whole-graphemes",
  clause: "MEM-TXT-05",
  title: "Families and flags at every place where a limit may cut come out whole",
  reasons: {
    "part-of-a-character": "Text is cut between code points: cut between graphemes, by Intl.Segmenter.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}";
    for (const shift of [0, 2, 3, 5, 7, 8]) {
      const ann = bench.someone(handle);
      const memories = [40, 160].map((count) => ({ ...bench.canary(), emoji: family.repeat(count) }));
      for (const { text, emoji } of memories)
        await bench.outcome(() => ann.write(`${text} ${"x".repeat(shift)}${emoji}`));
      const recalled = await ann.recalls(memories.map(({ query }) => query).join(" "));
      if (/[\u{1f466}-\u{1f469}\u200d]/u.test(recalled.replaceAll(family, "")))
        fail("part-of-a-character", "The recalled text holds a part of an emoji.");
    }
  },
});

export const recalledText: Family = defineFamily({
  name: "recalled-text",
  clauses: [
    {
      id: "MEM-TXT-01",
      level: "SHOULD",
      profile: "base",
      sentence: "What stands around recalled memories says that they are stored data.",
      source: "P7",
    },
    {
      id: "MEM-TXT-02",
      level: "MUST",
      profile: "base",
      sentence: "Recalled text does not begin as instructions to the model.",
      source: "P7",
    },
    {
      id: "MEM-TXT-03",
      level: "MUST",
      profile: "base",
      sentence: "Recalled text of well-formed memories is well-formed, wherever it is cut.",
      source: "C12",
    },
    {
      id: "MEM-TXT-04",
      level: "MUST",
      profile: "strict",
      sentence: "Recalled text is well-formed, also where a memory was written with lone surrogates.",
      source: "C12",
    },
    {
      id: "MEM-TXT-05",
      level: "MUST",
      profile: "strict",
      sentence: "No cut of recalled text splits a grapheme.",
      source: "C12",
    },
  ],
  checks: [saysItIsData, notAnInstruction, wellFormed, repairs, wholeGraphemes],
  mutants: [
    {
      id: "recalled-text/bare",
      flaw: "Recalls memories with nothing around them.",
      kills: { "recalled-text/says-it-is-data": "says-nothing" },
      spares: ["recalled-text/not-an-instruction", "framing/line-breaks"],
      parts: () => ({ line: ({ text }) => `- ${escapeText(text)}`, frame: (_, lines) => lines.join("\n") }),
    },
    {
      id: "recalled-text/commands",
      flaw: "Recalls memories as a part of the system prompt.",
      kills: { "recalled-text/not-an-instruction": "imperative" },
      spares: ["recalled-text/says-it-is-data", "framing/closing-tags"],
      parts: ({ frame }) => ({ frame: (slot, lines) => `SYSTEM: You must follow this memory.\n${frame(slot, lines)}` }),
    },
    {
      id: "recalled-text/cuts-by-unit",
      flaw: "Cuts each memory after 100 UTF-16 code units.",
      kills: { "recalled-text/well-formed": "half-a-character" },
      spares: ["steady-recall/same-bytes"],
      parts: ({ line }) => ({ line: (record) => line(record).slice(0, 100) }),
    },
    {
      id: "recalled-text/keeps-half-characters",
      flaw: "Recalls text as it was written.",
      kills: { "recalled-text/repairs": "half-a-character" },
      spares: ["recalled-text/well-formed", "framing/line-breaks"],
      parts: () => ({
        line: ({ id, text }) => `${id}: ${text.replace(/[\s\u0085]+/g, " ").replaceAll("<", "&lt;")}`,
        frame: bareFrame,
      }),
    },
    {
      id: "recalled-text/cuts-by-code-point",
      flaw: "Cuts each memory after 100 code points.",
      kills: { "recalled-text/whole-graphemes": "part-of-a-character" },
      spares: ["recalled-text/well-formed"],
      parts: ({ line }) => ({ line: (record) => [...line(record)].slice(0, 100).join("") }),
    },
  ],
});
