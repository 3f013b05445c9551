/**
 * The same recall, asked for again. A host that resumes a turn gives the same operationId and compares: the reference
 * ends the turn when the answer is another one. Real providers answered with whatever was newest by then, or kept their
 * first answer so well that what was forgotten since came back with it.
 */

import type { Backend } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { type Canary, holds } from "../drive/canary.ts";
import type { Turn } from "../drive/contexts.ts";
import { forget } from "../drive/forgets.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person, Recalled } from "../drive/person.ts";
import { alsoAbout, isSame } from "../drive/replayed.ts";
import { defineFamily, type Family } from "../family.ts";
import { replayMutants } from "./replay-mutants.ts";

const returned = "What an operation recalled is kept as text, and answered again without reading the memories.";
const gone = "The memory that is not in question is not recalled either.";

const quiet = defineCheck({
  id: "replay/quiet",
  clause: "MEM-RPL-01",
  title: "One operation recalls twice, and nothing happens in between",
  reasons: {
    differs: "The recalled text holds a time, a count or a random id, or the order of equals is left to chance.",
    empty: "The operation recalls something the first time only.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text);
    await person.write(bench.canary().text);
    const asking = await asked(bench, person, memory);
    const again = await asking.recall();
    if (!shows(again, memory)) fail("empty", "The second time, the operation did not recall the memory.");
    if (!isSame(asking.first, again)) fail("differs", "The second time, the operation recalled other messages.");
  },
});

const interleaved = defineCheck({
  id: "replay/interleaved",
  clause: "MEM-RPL-02",
  title: "One operation recalls twice, and another memory, or the very first one, is written in between",
  needs: ["replay"],
  reasons: {
    "nothing-first": "That an operation recalled nothing is not kept, so that a later memory changes it.",
    differs: "What an operation recalled is not kept, so that a later memory changes it.",
    stale: "What is kept for one operation is answered to every other one as well.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [person, memory, later] = [bench.someone(handle), bench.canary(), bench.canary()];
    const early = person.begin(memory.query);
    const nothing = await person.recall(early);
    await person.again().write(memory.text);
    if (!isSame(nothing, await person.recall(early)))
      fail("nothing-first", "After the first memory was written, the operation did not recall nothing any more.");
    const asking = await asked(bench, person, memory);
    await person.again().write(alsoAbout(memory, later));
    const again = await asking.recall();
    if (!isSame(asking.first, again))
      fail("differs", "After another memory was written, the operation recalled other messages.");
    if (!(await person.knows(later))) fail("stale", "Another operation did not recall what had been written since.");
  },
});

const restart = defineCheck({
  id: "replay/restart",
  clause: "MEM-RPL-03",
  title:
    "Another process is asked to recall for an operation that this one recalled for, after another memory was written",
  needs: ["replay", "durable"],
  slow: true,
  reasons: {
    differs: "What an operation recalled is kept in the memory of the process.",
  },
  async run(bench, fail) {
    if (bench.facts.declared.replay === "process")
      bench.notApplicable("It declares that it replays within the process.");
    const handle = await bench.open();
    const [scope, memory, later] = [bench.canary().word, bench.canary(), bench.canary()];
    const person = handle.person({ scope });
    await person.write(memory.text);
    const asking = await asked(bench, person, memory);
    await person.again().write(alsoAbout(memory, later));
    const elsewhere = (await bench.spawn()).person({ scope });
    const again = await elsewhere.recall(asking.turn);
    if (!isSame(asking.first, again)) fail("differs", "In another process, the operation recalled other messages.");
  },
});

const forgottenWins = defineCheck({
  id: "replay/forgotten-wins",
  clause: "MEM-RPL-04",
  title: "One operation recalls again after what it recalled was forgotten, here and by another instance",
  needs: ["forget-tool"],
  reasons: { returned, gone },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const by of await instances(bench, handle)) {
      const [person, memory, other] = [bench.someone(handle), bench.canary(), bench.canary()];
      const { result } = await person.write(memory.text);
      await person.write(other.text);
      const asking = await asked(bench, person, memory);
      const there = person.again(by);
      if (!(await there.knows(memory))) return; // instances that share nothing
      await forget(bench, there, memory, result);
      if (shows(await asking.recall(), memory)) fail("returned", "The operation recalled what had been forgotten.");
      if (!(await person.knows(other))) fail("gone", "What had not been forgotten was not recalled any more.");
    }
  },
});

const erasedWins = defineCheck({
  id: "replay/erased-wins",
  clause: "MEM-RPL-04",
  title: "One operation recalls again after its scope was erased, here and by another instance",
  needs: ["erase"],
  reasons: { returned, gone },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase !== "immediate")
      bench.notApplicable("What it erases is gone at some later time.");
    const handle = await bench.open();
    for (const by of await instances(bench, handle)) {
      const [person, memory, later] = [bench.someone(handle), bench.canary(), bench.canary()];
      await person.write(memory.text);
      const asking = await asked(bench, person, memory);
      const there = person.again(by);
      if (!(await there.knows(memory))) return; // instances that share nothing
      await there.erase();
      if (shows(await asking.recall(), memory)) fail("returned", "The operation recalled what had been erased.");
      await person.again().write(later.text);
      if (!(await person.knows(later))) fail("gone", "What was written after the scope was erased was not recalled.");
    }
  },
});

const expiredWins = defineCheck({
  id: "replay/expired-wins",
  clause: "MEM-RPL-04",
  title: "One operation recalls again after what it recalled has expired",
  needs: ["ttl", "provider-time"],
  reasons: { returned, gone },
  async run(bench, fail) {
    const ttlMs = 3_600_000;
    const handle = await bench.open({ ttlMs });
    const [person, memory, later] = [bench.someone(handle), bench.canary(), bench.canary()];
    await person.write(memory.text);
    const asking = await asked(bench, person, memory);
    await bench.time.advance(ttlMs + 1);
    if (shows(await asking.recall(), memory)) fail("returned", "The operation recalled again what had expired.");
    await person.again().write(later.text);
    if (!(await person.knows(later))) fail("gone", "What was written later was not recalled.");
  },
});

const otherScope = defineCheck({
  id: "replay/other-scope",
  clause: "MEM-RPL-05",
  title: "Two people's operations have one name",
  reasons: {
    "other-memory": "What an operation recalled is kept by its operationId alone, which does not hold the scope.",
    missing: "What an operation recalled for nobody's memory is kept for everybody's.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const session = `session-${bench.canary().word}`;
    const [anns, bens] = [bench.canary(), bench.canary()];
    const ann = handle.person({ scope: bench.canary().word, session });
    const ben = handle.person({ scope: bench.canary().word, session });
    await ann.again().write(anns.text);
    await ben.again().write(alsoAbout(anns, bens));
    const toAnn = await ann.recall(await turnAbout(ann, anns));
    const toBen = await ben.recall(await turnAbout(ben, anns));
    if (shows(toBen, anns) || shows(toAnn, bens)) fail("other-memory", "One was told what the other had said.");
    if (!shows(toAnn, anns)) fail("missing", "The first of two people was not told their own.");
    if (!shows(toBen, bens)) fail("missing", "The second of two people was not told their own.");
  },
});

const noText = defineCheck({
  id: "replay/no-text",
  clause: "MEM-RPL-06",
  title: "What the backend holds after operations recalled a memory, and after it was forgotten",
  needs: ["backend", "forget-tool"],
  reasons: { copy: "The replay store keeps what was recalled, instead of ids and revisions." },
  async run(bench, fail) {
    const handle = await bench.open();
    const [person, memory] = [bench.someone(handle), bench.canary()];
    const { result } = await person.write(memory.text);
    const written = await copiesHeld(bench.backend, memory);
    for (let operation = 0; operation < 3; operation += 1) await person.recalls(memory.query);
    const recalled = await copiesHeld(bench.backend, memory);
    await forget(bench, person, memory, result);
    if (!(await bench.holds(memory.word))) return;
    if (recalled > written) fail("copy", "Recalling left copies of the memory, and they outlived it.");
    bench.notApplicable("Its store keeps what was forgotten for a while, which is no matter of replay.");
  },
});

export const replay: Family = defineFamily({
  name: "replay",
  clauses: [
    {
      id: "MEM-RPL-01",
      level: "MUST",
      profile: "base",
      sentence: "On a quiet store the same operation recalls the same messages.",
      source: "P3, P7, E6.11",
    },
    {
      id: "MEM-RPL-02",
      level: "MUST",
      profile: "strict",
      sentence: "The same operation recalls the same messages after other memories were written, too.",
      source: "P3, E6.11",
    },
    {
      id: "MEM-RPL-03",
      level: "MUST",
      profile: "strict",
      sentence: "Unless it is declared to end with the process, replay outlives a restart.",
      source: "P3, K4",
    },
    {
      id: "MEM-RPL-04",
      level: "MUST",
      profile: "base",
      sentence:
        "What was forgotten, erased or has expired is recalled by no operation, also by one that recalled it before.",
      source: "P3, P10, P11",
    },
    {
      id: "MEM-RPL-05",
      level: "MUST",
      profile: "base",
      sentence: "The same operationId under another scope recalls that scope's own memory.",
      source: "P1, P3",
    },
    {
      id: "MEM-RPL-06",
      level: "MUST",
      profile: "strict",
      sentence: "What is kept for replay holds no text of memories.",
      source: "P3, P10",
    },
  ],
  checks: [quiet, interleaved, restart, forgottenWins, erasedWins, expiredWins, otherScope, noText],
  mutants: replayMutants,
});

interface Asking {
  readonly turn: Turn;
  readonly first: Recalled;
  /** The same operation once more. */
  recall(): Promise<Recalled>;
}

/** An operation that has recalled the memory once. */
async function asked(bench: Bench, person: Person, memory: Canary): Promise<Asking> {
  const turn = await turnAbout(person, memory);
  const first = await person.recall(turn);
  if (!shows(first, memory))
    bench.notApplicable("It does not recall what was written before in the session that asks.");
  return { turn, first, recall: () => person.recall(turn) };
}

/** Who removes: this instance, and another one. One turn behind, an answer is there before another instance removes it. */
async function instances(bench: Bench, handle: Handle): Promise<readonly Handle[]> {
  return bench.facts.capabilities.freshness === "current" ? [handle, await bench.open()] : [handle];
}

async function turnAbout(person: Person, { query }: Canary): Promise<Turn> {
  // A provider that is one turn behind says by its second turn what it found in its first.
  if (person.handle.facts?.capabilities.freshness === "previous-turn") await person.say(query);
  return person.begin(query);
}

function shows({ text }: Recalled, { word }: Canary): boolean {
  return text.toLowerCase().includes(word);
}

/** Times that the memory's word stands in the backend, and texts that hold it in another spelling. */
async function copiesHeld(backend: Backend, { word }: Canary): Promise<number> {
  const texts = await backend.contents();
  const plain = texts.reduce((count, text) => count + text.toLowerCase().split(word).length - 1, 0);
  return plain + texts.filter((text) => holds([text], word)).length;
}
