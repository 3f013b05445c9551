/**
 * Operations that look alike and are not the same. Real providers that guard against repeats dropped the second person's
 * turn because it had the first one's name, the message that a known turn had gained, and what was said a second time.
 */
import { messageDigests } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { copiesOfOne, timesKept } from "../drive/copies.ts";
import { forget } from "../drive/forgets.ts";
import { userMessage } from "../drive/messages.ts";
import { defineFamily, type Family } from "../family.ts";
import { withCapture } from "../reference/changed.ts";

const otherScope = defineCheck({
  id: "distinct-operations/other-scope",
  clause: "MEM-DIS-01",
  title: "Two people say the same in turns of one name",
  needs: ["capture"],
  reasons: {
    dropped: "The ledger is keyed by the operation alone, so that another person's counts as done.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "capture");
    const session = `session-${bench.canary().word}`;
    const memory = bench.canary();
    for (const which of ["first", "second"]) {
      const person = handle.person({ scope: bench.canary().word, session });
      await person.capture(person.begin(memory.text));
      if (!(await person.knows(memory))) fail("dropped", `What the ${which} of them said was not recalled.`);
    }
  },
});

const otherMessages = defineCheck({
  id: "distinct-operations/other-messages",
  clause: "MEM-DIS-02",
  title: "A known turn comes again with one message more",
  needs: ["capture"],
  reasons: {
    dropped: "A known operation is skipped whole, instead of message by message.",
    twice: "An operation with anything new is stored whole, instead of message by message.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const single = await copiesOfOne(bench, handle, "capture");
    const [person, known, unseen] = [bench.someone(handle), bench.canary(), bench.canary()];
    const turn = person.begin(known.text);
    await person.capture(turn);
    await person.capture({ ...turn, input: [...turn.input, userMessage(unseen.text)] });
    if ((await timesKept(person, unseen, single)) === "never")
      fail("dropped", "The message that had not been seen before was not recalled.");
    if ((await timesKept(person, known, single)) !== "once")
      fail("twice", "The message that had been seen before does not stand there once.");
  },
});

const equalText = defineCheck({
  id: "distinct-operations/equal-text",
  clause: "MEM-DIS-03",
  title: "The same is said in two turns",
  needs: ["capture"],
  reasons: {
    lost: "What makes it one operation is the text alone, so that a later turn with the same words counts as done.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    await copiesOfOne(bench, handle, "capture");
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.capture(person.begin(memory.text));
    // So that it shows whether the second turn brings it.
    if (bench.facts.forgetHow !== undefined) await forget(bench, person, memory);
    await person.capture(person.begin(memory.text));
    if (!(await person.knows(memory))) fail("lost", "What was said again in a later turn was not recalled.");
  },
});

export const distinctOperations: Family = defineFamily({
  name: "distinct-operations",
  clauses: [
    {
      id: "MEM-DIS-01",
      level: "MUST",
      profile: "base",
      sentence: "The same operation under another scope is another operation.",
      source: "P1, P2",
    },
    {
      id: "MEM-DIS-02",
      level: "MUST",
      profile: "base",
      sentence: "A known operation that comes with messages it did not have before adds those, and only those.",
      source: "P2, E8.8",
    },
    {
      id: "MEM-DIS-03",
      level: "MUST",
      profile: "base",
      sentence: "Two turns with equal text are two operations, and the second is not lost.",
      source: "P2",
    },
  ],
  checks: [otherScope, otherMessages, equalText],
  mutants: [
    {
      id: "distinct-operations/ledger-without-scope",
      flaw: "Keys its ledger by the operation and the text, and not by the scope.",
      kills: { "distinct-operations/other-scope": "dropped" },
      spares: ["distinct-operations/other-messages", "idempotency/capture-twice"],
      provider: (provider) => {
        const taken = new Set<string>();
        return withCapture(provider, async (capture, context) => {
          const operation = `${context.operationId} ${messageDigests(context.messages).join()}`;
          if (taken.has(operation)) return;
          await capture(context);
          taken.add(operation);
        });
      },
    },
    {
      id: "distinct-operations/known-is-skipped",
      flaw: "Skips an operation that it knows without looking at its messages.",
      kills: { "distinct-operations/other-messages": "dropped" },
      spares: ["distinct-operations/other-scope", "idempotency/capture-twice"],
      provider: (provider) => {
        const taken = new Set<string>();
        return withCapture(provider, async (capture, context) => {
          const operation = `${context.memory.scope.key} ${context.operationId}`;
          if (taken.has(operation)) return;
          await capture(context);
          taken.add(operation);
        });
      },
    },
    {
      id: "distinct-operations/all-or-nothing",
      flaw: "Keeps one digest of all messages of an operation, and stores all of them when it differs.",
      kills: { "distinct-operations/other-messages": "twice" },
      spares: ["distinct-operations/other-scope", "idempotency/capture-twice"],
      parts: ({ turnOperation }) => ({
        turnOperation: (context) => [...turnOperation(context), ...messageDigests(context.messages)],
      }),
    },
    {
      id: "distinct-operations/text-is-the-operation",
      flaw: "Tells operations apart by the digest of their text alone.",
      kills: { "distinct-operations/equal-text": "lost" },
      spares: ["distinct-operations/other-scope", "distinct-operations/other-messages", "idempotency/capture-twice"],
      parts: () => ({ turnOperation: () => ["turn"] }),
    },
  ],
});
