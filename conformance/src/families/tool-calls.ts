/**
 * A save tool's call that comes again. Hosts repeat calls whose step was interrupted, and models repeat themselves; real
 * tools kept two entries of one call, or took a second call for the first because a provider of models had numbered both
 * alike.
 */
import { randomUUID } from "node:crypto";
import { defineCheck } from "../check.ts";
import { copiesOfOne, timesKept } from "../drive/copies.ts";
import { forget } from "../drive/forgets.ts";
import { defineFamily, type Family } from "../family.ts";
import type { ReferenceParts } from "../reference/parts.ts";

const twice = "A call is not known again by its session and callId, and equal texts are not merged.";

const repeated = defineCheck({
  id: "tool-calls/repeated",
  clause: "MEM-TLC-01",
  title: "One call of the save tool comes three times",
  needs: ["save-tool"],
  reasons: { twice, lost: "What a call saved is not there any more once it came again." },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "tool");
    const [person, memory] = [bench.someone(handle), bench.canary()];
    const written = await person.write(memory.text, { path: "tool" });
    for (let time = 0; time < 2; time += 1) await person.repeat(written);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "What a call saved stands there more often once the call has come three times.");
    if (kept === "never") fail("lost", "What a call saved was not recalled once the call had come three times.");
  },
});

const atOnce = defineCheck({
  id: "tool-calls/two-handles",
  clause: "MEM-TLC-02",
  title: "One call of the save tool comes to two instances at once",
  needs: ["save-tool"],
  reasons: { twice, lost: "Each of two instances takes the call for the other's, and neither writes." },
  async run(bench, fail) {
    const [one, other] = [await bench.open(), await bench.open()];
    const single = await copiesOfOne(bench, one, "tool");
    const [person, memory] = [bench.someone(one), bench.canary()];
    const call = { path: "tool", turn: person.begin(memory.text), callId: `call-${memory.topic}` } as const;
    const writers = [person, person.again(other)];
    const outcomes = await Promise.all(writers.map((writer) => bench.outcome(() => writer.write(memory.text, call))));
    // One of them may lose, and say so; its host then tries again.
    if (outcomes.some(({ state }) => state === "rejected")) await person.write(memory.text, call);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "A call that two instances were given at once left more than one.");
    if (kept === "never") fail("lost", "A call that two instances were given at once was not recalled.");
  },
});

const otherCall = defineCheck({
  id: "tool-calls/other-call",
  clause: "MEM-TLC-03",
  title: "Calls that share a turn, or a callId, save other texts",
  needs: ["save-tool"],
  reasons: {
    "same-turn": "Calls are told apart by their turn, so that a second one of the turn counts as done.",
    "same-call-id": "Calls are told apart by their callId alone, which another session or turn may use again.",
    "same-text":
      "Calls are told apart by their callId and text, without the session: what was forgotten since cannot be saved again.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "tool");
    const person = bench.someone(handle);
    const [first, second, later, elsewhere] = [bench.canary(), bench.canary(), bench.canary(), bench.canary()];
    const [turn, callId] = [person.begin("Please note two things."), "call-1"];
    await person.save(first.text, { turn, callId });
    await person.save(second.text, { turn, callId: "call-2" });
    await person.save(later.text, { turn: person.begin("Please note a third."), callId });
    await person.again().save(elsewhere.text, { callId });
    for (const memory of [first, second])
      if (!(await person.knows(memory))) fail("same-turn", "Of two calls in one turn, only one was recalled.");
    if (!(await person.knows(later)))
      fail("same-call-id", "A later turn used a callId again, and it was not recalled.");
    if (!(await person.knows(elsewhere)))
      fail("same-call-id", "Another session used a callId again, and it was not recalled.");
    await bench.outcome(() => person.again().forget(later));
    if (await person.knows(later)) return; // there is no way to forget it
    await person.again().save(later.text, { callId });
    if (!(await person.knows(later)))
      fail("same-text", "Another session used a callId again, for a text forgotten since, and it was not recalled.");
  },
});

const restart = defineCheck({
  id: "tool-calls/restart",
  clause: "MEM-TLC-02",
  title: "A call comes again to another process",
  needs: ["save-tool", "durable"],
  slow: true,
  reasons: {
    twice: "Calls are remembered in the memory of the process, and equal texts are not merged.",
    lost: "What a call saved is not there any more once it came again elsewhere.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "tool");
    const [scope, memory] = [bench.canary().word, bench.canary()];
    const person = handle.person({ scope });
    const written = await person.write(memory.text, { path: "tool" });
    await (await bench.spawn()).person({ scope }).repeat(written);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "Another process was given the same call, and it left more than one.");
    if (kept === "never") fail("lost", "What was saved was not recalled once another process was given the same call.");
  },
});

const afterForget = defineCheck({
  id: "tool-calls/after-forget",
  clause: "MEM-TLC-04",
  title: "A call comes again after what it saved, or what it found to be there already, was forgotten",
  needs: ["save-tool", "forget-tool"],
  reasons: {
    back: "Forgetting takes the call out of the ledger too, or there is none but the memories themselves.",
    "back-by-duplicate":
      "A call that saved nothing, because its text was there, is not remembered: it saves when it comes again.",
    "others-lost": "Forgetting, or the repeat of a call, takes other memories with it.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "tool");
    const [person, forgotten, other] = [bench.someone(handle), bench.canary(), bench.canary()];
    const written = await person.write(forgotten.text, { path: "tool" });
    await person.write(other.text, { path: "tool" });
    await forget(bench, person, forgotten, written.result);
    await bench.outcome(() => person.repeat(written));
    if (await person.knows(forgotten)) fail("back", "The call came again and brought back what had been forgotten.");
    if (!(await person.knows(other))) fail("others-lost", "What another call had saved was not recalled any more.");
    const [ann, twice] = [bench.someone(handle), bench.canary()];
    const first = await ann.write(twice.text, { path: "tool" });
    const second = await ann.write(twice.text, { path: "tool" });
    await forget(bench, ann, twice, first.result);
    await bench.outcome(() => ann.repeat(second));
    if (await ann.knows(twice)) fail("back-by-duplicate", "The second call of two with one text brought it back.");
  },
});

export const toolCalls: Family = defineFamily({
  name: "tool-calls",
  clauses: [
    {
      id: "MEM-TLC-01",
      level: "MUST",
      profile: "base",
      sentence: "A tool's write that comes again in the same session, turn and call leaves what it would leave once.",
      source: "P2",
    },
    {
      id: "MEM-TLC-02",
      level: "MUST",
      profile: "strict",
      sentence: "A tool's write is known again at once by another instance, and after a restart.",
      source: "P2",
    },
    {
      id: "MEM-TLC-03",
      level: "MUST",
      profile: "base",
      sentence: "Another call, or the same callId in another session or turn, is another write.",
      source: "P2",
    },
    {
      id: "MEM-TLC-04",
      level: "MUST",
      profile: "strict",
      sentence: "A tool's write that comes again after its memory was forgotten brings nothing back.",
      source: "P2, P10",
    },
  ],
  checks: [repeated, atOnce, otherCall, restart, afterForget],
  mutants: [
    {
      id: "tool-calls/no-ledger",
      flaw: "Appends an entry for each call, whichever it is.",
      kills: {
        "tool-calls/repeated": "twice",
        "tool-calls/two-handles": "twice",
        "tool-calls/restart": "twice",
      },
      spares: ["tool-calls/other-call", "idempotency/capture-twice"],
      parts: () => ({ isSame: () => false, callOperation: () => ["call", randomUUID()] }),
    },
    {
      id: "tool-calls/merges-what-it-has-read",
      flaw: "Merges equal texts by reading first and writing then, with nothing in between that tells calls apart.",
      kills: { "tool-calls/after-forget": "back" },
      spares: ["tool-calls/repeated", "tool-calls/restart"],
      parts: () => ({ callOperation: () => ["call", randomUUID()] }),
    },
    {
      id: "tool-calls/no-ledger-of-duplicates",
      flaw: "Does not remember a call that changed nothing.",
      kills: { "tool-calls/after-forget": "back-by-duplicate" },
      spares: ["tool-calls/repeated", "tool-calls/restart"],
      store: (store) => ({
        ...store,
        pin: async (scope, operation, ids, signal) =>
          operation.startsWith("call ") ? ids : store.pin(scope, operation, ids, signal),
      }),
    },
    {
      id: "tool-calls/ledger-of-the-process",
      flaw: "Keeps its ledger of calls in a variable of the module.",
      kills: { "tool-calls/restart": "twice" },
      spares: ["tool-calls/repeated", "tool-calls/two-handles"],
      parts: ({ callOperation }) => ({
        isSame: () => false,
        callOperation: (context, text) => [...callOperation(context, text), processSalt],
      }),
    },
    {
      id: "tool-calls/call-id-alone",
      flaw: "Tells calls apart by their callId alone.",
      kills: { "tool-calls/other-call": "same-call-id" },
      spares: ["tool-calls/repeated", "tool-calls/after-forget"],
      parts: () => ({ callOperation: ({ callId = "" }) => ["call", callId] }),
    },
    {
      id: "tool-calls/call-id-and-text",
      flaw: "Tells calls apart by their callId and text, whatever the session.",
      kills: { "tool-calls/other-call": "same-text" },
      spares: ["tool-calls/repeated", "tool-calls/after-forget"],
      parts: () => ({ callOperation: ({ callId = "" }, text) => ["call", callId, text] }),
    },
    {
      id: "tool-calls/turn-alone",
      flaw: "Tells calls apart by their turn, as if a turn had only one.",
      kills: { "tool-calls/other-call": "same-turn" },
      spares: ["tool-calls/repeated", "tool-calls/after-forget"],
      parts: () => ({ callOperation: ({ session }) => ["call", session?.id ?? "", session?.turn.id ?? ""] }),
    },
    {
      id: "tool-calls/toggles",
      flaw: "Takes a call that it knows for one that takes its write back.",
      kills: {
        "tool-calls/repeated": "lost",
        "tool-calls/two-handles": "lost",
        "tool-calls/restart": "lost",
      },
      spares: ["tool-calls/other-call"],
      parts: unmerged,
      store: (store) => ({
        ...store,
        async put(scope, record, signal) {
          const outcome = await store.put(scope, record, signal);
          if (outcome === "known") await store.remove(scope, record.id, signal);
          return outcome;
        },
      }),
    },
    {
      id: "tool-calls/repeat-clears",
      flaw: "Takes a call whose memory is gone for a sign that all of them are.",
      kills: { "tool-calls/after-forget": "others-lost" },
      spares: ["tool-calls/repeated", "tool-calls/other-call"],
      store: (store) => ({
        ...store,
        async put(scope, record, signal) {
          const outcome = await store.put(scope, record, signal);
          if (outcome === "gone")
            for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
          return outcome;
        },
      }),
    },
  ],
});

/** Another process draws another one, and so does not know what this one was given. */
const processSalt = randomUUID();

function unmerged(): Partial<ReferenceParts> {
  return { isSame: () => false };
}
