/**
 * The same turn, captured again. Hosts repeat: a step that is tried again after a crash, a compaction in the middle of a
 * turn, a history that is handed over whole every time. Real providers then kept one sentence two, three, twenty times.
 */
import { randomUUID } from "node:crypto";
import { isUserMessage, type ModelMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { copiesOfOne, timesKept } from "../drive/copies.ts";
import { defineFamily, type Family } from "../family.ts";
import { withCapture } from "../reference/changed.ts";
import type { ReferenceParts } from "../reference/parts.ts";

const twice =
  "There is no ledger of the operations that were taken, or what they are told apart by changes between repeats.";
const lost = "What was captured is not there any more once it came again.";

const captureTwice = defineCheck({
  id: "idempotency/capture-twice",
  clause: "MEM-IDM-01",
  title: "One turn is captured three times",
  needs: ["capture"],
  reasons: { twice, lost },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "capture");
    const [person, memory] = [bench.someone(handle), bench.canary()];
    const turn = person.begin(memory.text);
    for (let time = 0; time < 3; time += 1) await person.capture(turn);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "A turn that came three times stands there more often than one that came once.");
    if (kept === "never") fail("lost", "A turn that came three times was not recalled.");
  },
});

const twoHandles = defineCheck({
  id: "idempotency/two-handles",
  clause: "MEM-IDM-01",
  title: "One turn is captured by two instances at once",
  needs: ["capture"],
  reasons: {
    twice: "The ledger belongs to the instance, or it is read and written in two steps with a gap between them.",
    lost: "Each of two instances takes the operation for the other's, and neither writes.",
  },
  async run(bench, fail) {
    const [one, other] = [await bench.open(), await bench.open()];
    const single = await copiesOfOne(bench, one, "capture");
    const [person, memory] = [bench.someone(one), bench.canary()];
    const turn = person.begin(memory.text);
    const writers = [person, person.again(other)];
    const outcomes = await Promise.all(writers.map((writer) => bench.outcome(() => writer.capture(turn))));
    // One of them may lose, and say so; its host then tries again.
    if (outcomes.some(({ state }) => state === "rejected")) await person.capture(turn);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "A turn that two instances were given at once stands there more than once.");
    if (kept === "never") fail("lost", "A turn that two instances were given at once was not recalled.");
  },
});

const bothPhases = defineCheck({
  id: "idempotency/both-phases",
  clause: "MEM-IDM-02",
  title: "One turn is captured before a compaction and when it is complete",
  needs: ["capture"],
  reasons: {
    twice: "The phase, or the whole operationId with the phase in it, is part of what makes it one operation.",
    lost,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    if (typeof handle.provider.capture?.["compaction.requested"] !== "function")
      bench.notApplicable("It does not capture before a compaction.");
    const single = await copiesOfOne(bench, handle, "capture");
    const [person, memory] = [bench.someone(handle), bench.canary()];
    const turn = person.begin(memory.text);
    await person.capture(turn, { phase: "compaction.requested", messages: turn.input });
    await person.capture(turn);
    const kept = await timesKept(person, memory, single);
    if (kept === "more") fail("twice", "A turn with a compaction in it stands there more than once.");
    if (kept === "never") fail("lost", "A turn with a compaction in it was not recalled.");
  },
});

const wholeHistory = defineCheck({
  id: "idempotency/whole-history",
  clause: "MEM-IDM-03",
  title: "A host hands over the whole history in each of three turns",
  needs: ["capture"],
  reasons: {
    twice: "Every message that the host hands over is stored, instead of those of the turn.",
    lost: "Only a part of the turn's own messages is stored.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "capture");
    const [person, memories] = [bench.someone(handle), [bench.canary(), bench.canary(), bench.canary()]];
    const history: ModelMessage[] = [];
    for (const { text } of memories) {
      const turn = { ...person.begin(text), history: [...history] };
      await person.capture(turn);
      history.push(...turn.input, { role: "assistant", content: "Understood." });
    }
    for (const memory of memories) {
      const kept = await timesKept(person, memory, single);
      if (kept === "more") fail("twice", "What was said in one turn stands there more than once after later turns.");
      if (kept === "never") fail("lost", "What was said in one of three turns was not recalled.");
    }
  },
});

const restart = defineCheck({
  id: "idempotency/restart",
  clause: "MEM-IDM-04",
  title: "Two turns are captured again by another process: the last one, and one that others followed",
  needs: ["capture", "durable"],
  slow: true,
  reasons: {
    twice: "The ledger is kept in the memory of the process.",
    "older-turn": "The ledger keeps only the newest operation of a session.",
    lost,
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "capture");
    const scope = bench.canary().word;
    const person = handle.person({ scope });
    const [older, between, newest] = [bench.canary(), bench.canary(), bench.canary()];
    const olderTurn = person.begin(older.text);
    await person.capture(olderTurn);
    await person.capture(person.begin(between.text));
    const newestTurn = person.begin(newest.text);
    await person.capture(newestTurn);
    const elsewhere = (await bench.spawn()).person({ scope });
    await elsewhere.capture(newestTurn);
    const kept = await timesKept(person, newest, single);
    if (kept === "more") fail("twice", "Another process captured the same turn, and it stands there more than once.");
    await elsewhere.capture(olderTurn);
    const olderKept = await timesKept(person, older, single);
    if (olderKept === "more") fail("older-turn", "An older turn of the session came again and was stored once more.");
    if (kept === "never" || olderKept === "never") fail("lost", "A turn that came again was not recalled afterwards.");
  },
});

/** A random part in each record's id, drawn once: whoever draws another one does not know what this one has taken. */
const processSalt = randomUUID();

function salted({ recordId }: ReferenceParts, salt: string): Partial<ReferenceParts> {
  return { recordId: (scopeKey, operation) => recordId(scopeKey, [...operation, salt]) };
}

export const idempotency: Family = defineFamily({
  name: "idempotency",
  clauses: [
    {
      id: "MEM-IDM-01",
      level: "MUST",
      profile: "base",
      sentence:
        "The same operation with the same messages, however often it comes and from however many instances at once, leaves what it would leave once.",
      source: "P2, E5.10",
    },
    {
      id: "MEM-IDM-02",
      level: "MUST",
      profile: "base",
      sentence: "A turn's message is taken once across compaction.requested and turn.completed.",
      source: "P2, E5.5",
    },
    {
      id: "MEM-IDM-03",
      level: "MUST",
      profile: "base",
      sentence: "A turn's capture takes what that turn brought, and not once more the history before it.",
      source: "P2, E5.5",
    },
    {
      id: "MEM-IDM-04",
      level: "MUST",
      profile: "strict",
      sentence:
        "An operation is known again after a restart, also when newer operations of its session have followed it.",
      source: "P2",
    },
  ],
  checks: [captureTwice, twoHandles, bothPhases, wholeHistory, restart],
  mutants: [
    {
      id: "idempotency/no-ledger",
      flaw: "Every capture is stored under an id of its own.",
      kills: {
        "idempotency/capture-twice": "twice",
        "idempotency/two-handles": "twice",
        "idempotency/both-phases": "twice",
        "idempotency/restart": "twice",
      },
      spares: ["idempotency/whole-history", "tool-calls/repeated"],
      parts: () => ({ turnOperation: () => ["turn", randomUUID()] }),
    },
    {
      id: "idempotency/ledger-of-the-instance",
      flaw: "Keeps its ledger in a field of the instance.",
      kills: { "idempotency/two-handles": "twice", "idempotency/restart": "twice" },
      spares: ["idempotency/capture-twice", "idempotency/both-phases"],
      parts: (correct) => salted(correct, randomUUID()),
    },
    {
      id: "idempotency/ledger-of-the-process",
      flaw: "Keeps its ledger in a variable of the module, so that it is gone after a restart.",
      kills: { "idempotency/restart": "twice" },
      spares: ["idempotency/capture-twice", "idempotency/two-handles"],
      parts: (correct) => salted(correct, processSalt),
    },
    {
      id: "idempotency/newest-only",
      flaw: "Looks only at the newest record before it writes.",
      kills: { "idempotency/restart": "older-turn" },
      spares: ["idempotency/capture-twice", "idempotency/both-phases"],
      store: (store) => ({
        ...store,
        async put(scope, record, signal) {
          const records = await store.list(scope, signal);
          if (records.at(-1)?.id === record.id) return "known";
          const isOlder = records.some(({ id }) => id === record.id);
          return store.put(scope, isOlder ? { ...record, id: randomUUID() } : record, signal);
        },
      }),
    },
    {
      id: "idempotency/phase-in-the-operation",
      flaw: "Takes the operationId, with the phase in it, for what makes a turn one operation.",
      kills: { "idempotency/both-phases": "twice" },
      spares: ["idempotency/capture-twice", "idempotency/restart"],
      parts: () => ({ turnOperation: ({ operationId }) => ["turn", operationId] }),
    },
    {
      id: "idempotency/stores-the-history",
      flaw: "Stores every message that a turn's capture is given.",
      kills: { "idempotency/whole-history": "twice" },
      spares: ["idempotency/capture-twice", "idempotency/both-phases"],
      provider: (provider) =>
        withCapture(provider, (capture, context) => {
          const first = context.messages.find(isUserMessage);
          const { turn } = context;
          return capture(
            turn === null || first === undefined ? context : { ...context, turn: { ...turn, input: [first] } },
          );
        }),
    },
    {
      id: "idempotency/last-message-only",
      flaw: "Forgets what it knew when the same operation comes again.",
      kills: {
        "idempotency/capture-twice": "lost",
        "idempotency/two-handles": "lost",
        "idempotency/both-phases": "lost",
        "idempotency/restart": "lost",
      },
      spares: ["idempotency/whole-history"],
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
      id: "idempotency/one-turn-a-session",
      flaw: "Takes the session for the operation and keeps its first message.",
      kills: { "idempotency/whole-history": "lost" },
      spares: ["idempotency/capture-twice"],
      parts: ({ recordId }) => ({
        recordId: (scopeKey, [kind = "", session = ""]) => recordId(scopeKey, [kind, session]),
      }),
    },
  ],
});
