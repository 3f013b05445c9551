/**
 * Recall messages that pile up: a host adds one without an id in every turn, and one with a new id too. Also providers that
 * are silent about compactions, after which some hosts hide them.
 */
import { extendProvider, type MemoryRecallMessage, type ModelMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Recalled } from "../drive/person.ts";
import { recordsOf } from "../drive/recalled-after.ts";
import { defineFamily, type Family } from "../family.ts";
import { correctParts } from "../reference/parts.ts";
import { answering, eachMessage } from "../reference/standing-before.ts";

const ids = defineCheck({
  id: "keyed/ids",
  clause: "MEM-KEY-01",
  title: "Recall messages carry ids, each its own, and the same ones every time",
  needs: ["current"],
  reasons: {
    "no-id": "A recall message without an id is added to the history in every turn, and can never be replaced.",
    "same-id-twice": "Two messages of one recall carry one id, which hosts refuse.",
    "changing-id": "The id is made anew in each recall: derive it from the slot or the memory.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const memory = bench.canary();
    for (const { text } of [bench.canary(), bench.canary(), memory]) await ann.write(text);
    const first = await ann.recalled(memory.query);
    if (!first.text.includes(memory.word)) fail("no-id", "What was written was not recalled.");
    const found = idsOf(first);
    if (found.some((id) => typeof id !== "string" || id === "")) fail("no-id", "A message had no id.");
    if (new Set(found).size < found.length) fail("same-id-twice", "Two messages had the same id.");
    const second = idsOf(await ann.recalled(memory.query));
    if (second.join("\n") !== found.join("\n")) fail("changing-id", "Asked again, it recalled under other ids.");
  },
});

const compaction = defineCheck({
  id: "keyed/compaction",
  clause: "MEM-KEY-02",
  title: "After a compaction, recall is asked again and takes nothing back",
  needs: ["current"],
  reasons: {
    absent: 'There is no recall["compaction.completed"]: some hosts then hide the slot for the rest of the turn.',
    "loses-it": "After a compaction it answers less than at the turn's start, and so replaces what was shown.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const memory = bench.canary();
    await ann.write(memory.text);
    if (handle.provider.recall["compaction.completed"] === undefined)
      fail("absent", "It has no handler for a compaction.");
    const turn = ann.begin(memory.query);
    const first = await ann.recall(turn);
    if (!first.text.includes(memory.word)) fail("loses-it", "What was written was not recalled.");
    const messages = [...recordsOf(first), ...checkpoint, ...turn.input];
    const again = await ann.recall(turn, { phase: "compaction.completed", messages });
    if ((again.messages ?? []).length > 0 && !again.text.includes(memory.word))
      fail("loses-it", "What it recalled at the turn's start was not in what it recalled after a compaction.");
    await ann.recall(turn, { phase: "compaction.completed", messages, standalone: true });
  },
});

export const keyed: Family = defineFamily({
  name: "keyed",
  clauses: [
    {
      id: "MEM-KEY-01",
      level: "MUST",
      profile: "strict",
      sentence: "Recall messages carry ids that are not empty, differ within a recall, and stay from one to the next.",
      source: "P8, E6.5, E6.6",
    },
    {
      id: "MEM-KEY-02",
      level: "MUST",
      profile: "strict",
      sentence: 'recall["compaction.completed"] is there, and retracts nothing that is still remembered.',
      source: "P8, E8.5, E8.7",
    },
  ],
  checks: [ids, compaction],
  mutants: [
    {
      id: "keyed/unkeyed",
      flaw: "Recalls without ids.",
      kills: {
        "keyed/ids": "no-id",
        "retracting/after-forget": "unkeyed",
        "retracting/after-erase": "unkeyed",
        "retracting/in-a-host": "still-in-prompt",
      },
      spares: ["keyed/compaction"],
      provider: (provider) => eachMessage(provider, ({ content }) => ({ content })),
    },
    {
      id: "keyed/new-id-each-time",
      flaw: "Makes a new id in each recall.",
      kills: {
        "keyed/ids": "changing-id",
        "retracting/after-forget": "left-standing",
        "retracting/after-erase": "left-standing",
        "retracting/in-a-host": "still-in-prompt",
      },
      spares: ["keyed/compaction"],
      provider: (provider) => {
        let recalls = 0;
        return eachMessage(provider, ({ content }) => {
          recalls += 1;
          return { id: `memory-${recalls}`, content };
        });
      },
    },
    {
      id: "keyed/one-id-for-all",
      flaw: "Recalls each memory as a message, all under the slot's id.",
      kills: { "keyed/ids": "same-id-twice" },
      spares: ["keyed/compaction"],
      provider: (provider) =>
        answering(
          provider,
          (result) => result && { messages: result.messages.flatMap((message) => splitFrame(message, () => "memory")) },
        ),
    },
    {
      id: "keyed/no-compaction",
      flaw: "Recalls at the start of a turn only.",
      kills: { "keyed/compaction": "absent" },
      spares: ["keyed/ids", "retracting/in-a-host"],
      provider: (provider) => extendProvider(provider, { recall: { "turn.started": provider.recall["turn.started"] } }),
    },
    {
      id: "keyed/empty-after-compaction",
      flaw: "Answers its empty form after a compaction, for want of a question.",
      kills: { "keyed/compaction": "loses-it" },
      spares: ["keyed/ids", "retracting/after-forget"],
      provider: (provider) =>
        answering(provider, (result, context) =>
          "compaction" in context
            ? { messages: [{ id: "reference-memory", content: correctParts.emptyFrame(context.memory.slot) }] }
            : result,
        ),
    },
  ],
});

function idsOf({ messages }: Recalled): readonly (string | undefined)[] {
  return (messages ?? []).map(({ id }) => id);
}

const checkpoint: readonly ModelMessage[] = [
  Object.assign(
    { role: "user" as const, content: "Summary of our conversation so far:" },
    { kind: "context.compaction" },
  ),
  { role: "assistant", content: "They talked." },
];

/** The reference's frame as a message for each of its lines. */
export function splitFrame(
  { id = "", content }: MemoryRecallMessage,
  keyOf: (line: string) => string,
): MemoryRecallMessage[] {
  const lines = content.split("\n").slice(2, -1);
  if (lines.length === 0) return [{ id, content }];
  return lines.map((line) => ({ id: keyOf(line), content: `Stored earlier: ${line}` }));
}
