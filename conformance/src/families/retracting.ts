/**
 * What stays in a prompt after it was forgotten: a host cannot take a message back, only put a later one of the same id in
 * its place. Providers recall without ids, with a new id each time, or say nothing once they have nothing to say.
 */
import type { MemoryRecallMessage, ModelMessage } from "@keepsake/core";
import { defineCheck, type Fail } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Turn } from "../drive/contexts.ts";
import { Hosted } from "../drive/hosted.ts";
import { userMessage } from "../drive/messages.ts";
import type { Person, Recalled } from "../drive/person.ts";
import { recordsOf } from "../drive/recalled-after.ts";
import { defineFamily, type Family } from "../family.ts";
import { retractingMutants } from "./retracting-mutants.ts";

const emptied = {
  unkeyed: "What was shown had no id, so that no later message can take its place.",
  "still-recalled": "It is recalled again: a cache or an index was not told.",
  silent: "Recall answers nothing once nothing is left: answer an empty form under the id that was shown.",
  "left-standing": "What was shown under an id is not replaced: say under each such id that it is gone.",
} as const;

const afterForget = defineCheck({
  id: "retracting/after-forget",
  clause: "MEM-RTR-01",
  title: "A session that was shown a memory is shown something else in its place once it is forgotten",
  needs: ["forget-tool", "current"],
  reasons: emptied,
  async run(bench, fail) {
    if (bench.facts.forgetHow === undefined) bench.notApplicable("Its forget tool was not understood (tools.forget).");
    const handle = await bench.open();
    for (const others of [1, 0]) {
      const ann = bench.someone(handle);
      const memory = bench.canary();
      for (let count = 0; count < others; count += 1) await ann.write(bench.canary().text);
      const { result } = await ann.write(memory.text);
      const shown = await showing(ann, memory, fail);
      await ann.again().forget(memory, result);
      mustReplace(await ann.recall(shown.next), shown, memory, fail);
      if (bench.facts.capabilities.durable !== true) continue;
      const elsewhere = ann.again(await bench.open());
      mustReplace(await elsewhere.recall(shown.next), shown, memory, fail);
    }
  },
});

const afterErase = defineCheck({
  id: "retracting/after-erase",
  clause: "MEM-RTR-02",
  title: "A session that was shown a memory is shown something else in its place once all is erased",
  needs: ["erase", "current"],
  reasons: emptied,
  async run(bench, fail) {
    if (bench.facts.capabilities.erase !== "immediate") bench.notApplicable("It erases later, as declared.");
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [memory, kept] = [bench.canary(), bench.canary()];
    await ben.write(kept.text);
    await ann.write(memory.text);
    const shown = await showing(ann, memory, fail);
    await ann.erase();
    mustReplace(await ann.recall(shown.next), shown, memory, fail);
    if (!(await ben.knows(kept))) fail("left-standing", "What somebody else had told was gone too.");
  },
});

const inAHost = defineCheck({
  id: "retracting/in-a-host",
  clause: "MEM-RTR-03",
  title: "Within a host, the prompt of the turn after forgetting does not hold what was forgotten",
  needs: ["forget-tool", "current"],
  reasons: {
    "never-shown": "What was written does not reach the prompt of a host.",
    "still-in-prompt": "Recall says nothing, or something under another id, and the earlier message stands.",
  },
  async run(bench, fail) {
    if (bench.facts.forgetHow === undefined) bench.notApplicable("Its forget tool was not understood (tools.forget).");
    const place = { namespace: "conformance", scope: "somebody" };
    const handle = await bench.open();
    const ann = handle.person({ ...place, slot: "memory" });
    const memory = bench.canary();
    const { result } = await ann.write(memory.text);
    const hosted = new Hosted(bench, handle, { memory: place });
    const session = hosted.host.session();
    const before = await hosted.ask(session, memory.query);
    if (!before.last.includes(memory.word)) fail("never-shown", "The first prompt did not hold it.");
    await ann.again().forget(memory, result);
    const after = await hosted.ask(session, memory.query);
    if (after.last.includes(memory.word)) fail("still-in-prompt", "The next prompt still held what was forgotten.");
  },
});

const longChat = defineCheck({
  id: "retracting/long-chat",
  clause: "MEM-RTR-04",
  title: "A session goes on for 200 messages after it was shown a memory, which is then forgotten or erased",
  needs: ["current"],
  reasons: emptied,
  async run(bench, fail) {
    const { forgetHow, maintenance, capabilities } = bench.facts;
    const handle = await bench.open();
    const ways: readonly Way[] = [
      ...(forgetHow === undefined ? [] : [(person: Person, ...memory: Saved) => person.again().forget(...memory)]),
      ...(maintenance && capabilities.erase === "immediate" ? [(person: Person) => person.erase()] : []),
    ];
    if (ways.length === 0) bench.notApplicable("Nothing that it remembers can be removed at once.");
    const elsewhere = handle.person({ scope: bench.canary().word, slot: "elsewhere" });
    const others = bench.canary();
    await elsewhere.write(others.text);
    const ofOthers = recordsOf(await elsewhere.recall(others.query));
    for (const remove of ways) {
      for (const before of [[], longTalk(ofOthers).slice(0, 30)]) {
        const [ann, memory] = [bench.someone(handle), bench.canary()];
        const { result } = await ann.write(memory.text);
        const shown = await showing(ann, memory, fail);
        await remove(ann, memory, result);
        const history = [...before, ...shown.next.history, ...longTalk(ofOthers)];
        mustReplace(await ann.recall({ ...shown.next, history }), shown, memory, fail);
      }
    }
  },
});

export const retracting: Family = defineFamily({
  name: "retracting",
  clauses: [
    {
      id: "MEM-RTR-01",
      level: "MUST",
      profile: "base",
      sentence:
        "Once a memory is forgotten, a session that was shown it is answered another message under the same id.",
      source: "P8, P10, E6.6",
    },
    {
      id: "MEM-RTR-02",
      level: "MUST",
      profile: "base",
      sentence: "Once a scope is erased, a session that was shown it is answered another message under the same id.",
      source: "P8, P10, E6.6",
    },
    {
      id: "MEM-RTR-03",
      level: "MUST",
      profile: "base",
      sentence: "In a host, the first prompt after a memory was forgotten does not hold it.",
      source: "P8, P10, H1, E6.6",
    },
    {
      id: "MEM-RTR-04",
      level: "MUST",
      profile: "base",
      sentence:
        "Once a memory is forgotten or erased, a session is answered another message under its id, however long ago it was shown it and whatever other slots have said since.",
      source: "P8, P10, E6.6",
    },
  ],
  checks: [afterForget, afterErase, inAHost, longChat],
  mutants: retractingMutants,
});

type Saved = readonly [memory: Canary, saved: unknown];
type Way = (person: Person, ...memory: Saved) => Promise<unknown>;

interface Shown {
  readonly messages: readonly MemoryRecallMessage[];
  /** A later turn of the same session, whose history holds what was recalled in the first. */
  readonly next: Turn;
}

/** A first turn, in which the memory was recalled. Nothing is captured, so that nothing but the memory is left. */
async function showing(person: Person, memory: Canary, fail: Fail<keyof typeof emptied>): Promise<Shown> {
  const turn = person.begin(memory.query);
  const recalled = await person.recall(turn);
  if (!recalled.text.includes(memory.word)) fail("left-standing", "What was written was not recalled.");
  const messages = (recalled.messages ?? []).filter(({ content }) => content.includes(memory.word));
  if (messages.some(({ id }) => id === undefined)) fail("unkeyed", "What was recalled had no id.");
  const history: ModelMessage[] = [
    ...recordsOf(recalled),
    ...turn.input,
    { role: "assistant", content: "That is known." },
  ];
  return { messages, next: { ...person.begin(memory.query), history } };
}

/** 200 messages, of people, tools and another slot, which speaks last. */
function longTalk(ofOthers: readonly ModelMessage[]): readonly ModelMessage[] {
  const rounds = Array.from({ length: 40 }, (_, round): readonly ModelMessage[] => {
    const call = { toolCallId: `call-${round}`, toolName: "calendar" };
    return [
      userMessage(`And what is there on day ${round}?`),
      { role: "assistant", content: [{ type: "tool-call", ...call, input: { day: round } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", ...call, output: { type: "json", value: { meetings: round } } }],
      },
      { role: "assistant", content: `There are ${round} meetings.` },
      ofOthers[round % ofOthers.length] ?? userMessage("Thank you."),
    ];
  });
  return rounds.flat();
}

function mustReplace(
  recalled: Recalled,
  { messages }: Shown,
  { word }: Canary,
  fail: Fail<keyof typeof emptied>,
): void {
  if (recalled.text.includes(word)) fail("still-recalled", "The next turn recalled it again.");
  if ((recalled.messages ?? []).length === 0) fail("silent", "The next turn recalled nothing.");
  const replaced = new Set(idsOf(recalled));
  if (messages.some(({ id }) => !replaced.has(id)))
    fail("left-standing", "The next turn recalled nothing under the id that was shown.");
}

function idsOf({ messages }: Recalled): readonly (string | undefined)[] {
  return (messages ?? []).map(({ id }) => id);
}
