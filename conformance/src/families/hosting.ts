/**
 * A provider within a real host, as an application has it: over sessions, through a compaction, and after a restart of
 * the host. Here it shows who takes a session, a turn or a compaction for more than it is.
 */
import type { MemoryCompactionRequestedContext } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import { Hosted } from "../drive/hosted.ts";
import { defineFamily, type Family } from "../family.ts";
import { answering, lookingAt, type OperationContext } from "../reference/standing-before.ts";

const slots = { memory: { namespace: "conformance", scope: "somebody" } };
const forgotten = "What was told through the host does not reach the store, or recall does not find it again.";

const conversation = defineCheck({
  id: "hosting/conversation",
  clause: "MEM-HST-01",
  title: "What was told in one session of a host stands in the prompt of the next",
  reasons: { forgotten },
  async run(bench, fail) {
    const hosted = new Hosted(bench, await bench.open(), slots);
    const memory = bench.canary();
    await hosted.tell(memory.text, { slot: "memory" });
    const { last } = await hosted.ask(hosted.host.session(), memory.query);
    if (!last.includes(memory.word)) fail("forgotten", "The next session's prompt did not hold what was told.");
  },
});

const compaction = defineCheck({
  id: "hosting/compaction",
  clause: "MEM-HST-02",
  title: "A history is compacted, and memory still stands in the prompt after it",
  reasons: {
    forgotten,
    "compaction-failed": "A handler of a compaction fails: capture before it, or recall after it.",
    "lost-by-compaction":
      "After a compaction nothing is recalled any more. Recall as always: the host keeps what stands there already.",
  },
  async run(bench, fail) {
    const hosted = new Hosted(bench, await bench.open(), slots);
    const memory = bench.canary();
    await hosted.tell(memory.text, { slot: "memory" });
    const session = hosted.host.session();
    const { last } = await hosted.ask(session, memory.query);
    if (!last.includes(memory.word)) fail("forgotten", "Before the compaction, the prompt did not hold what was told.");
    const summarize = (): string => "They talked.";
    const compacting = session.compact({ summarize, keepMessages: 0 });
    const compacted = await bench.outcome(() => hosted.driven("compact", compacting));
    if (compacted.state !== "fulfilled") return fail("compaction-failed", "The host could not compact the history.");
    const after = await hosted.ask(session, memory.query);
    if (!after.last.includes(memory.word))
      fail("lost-by-compaction", "After a compaction, the prompt did not hold it.");
  },
});

const resume = defineCheck({
  id: "hosting/resume",
  clause: "MEM-HST-03",
  title: "A session goes on in another host, from its state as JSON, and recalls",
  reasons: {
    forgotten,
    "lost-by-resuming":
      "In a session that goes on elsewhere nothing is recalled. What was recalled before may be kept.",
    diverged: "Asked once more for the same turn, with nothing written since, recall answers something else.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const hosted = new Hosted(bench, handle, slots);
    const memory = bench.canary();
    await hosted.tell(memory.text, { slot: "memory" });
    const session = hosted.host.session();
    const { last } = await hosted.ask(session, memory.query);
    if (!last.includes(memory.word)) fail("forgotten", "The prompt did not hold what was told.");
    const other = new Hosted(bench, handle, slots);
    const resumed = other.host.session({ state: JSON.parse(JSON.stringify(session.state)) });
    const { messages } = await other.start(resumed, memory.query);
    if (!JSON.stringify(messages).includes(memory.word)) {
      fail("lost-by-resuming", "The prompt of the resumed session did not hold what was told.");
    }
    const interrupted = JSON.parse(JSON.stringify(resumed.state));
    const third = new Hosted(bench, handle, slots);
    const again = await bench.outcome(() => third.start(third.host.session({ state: interrupted }), memory.query));
    if (again.state !== "fulfilled") fail("diverged", "A turn that was interrupted could not be started again.");
  },
});

export const hosting: Family = defineFamily({
  name: "hosting",
  clauses: [
    {
      id: "MEM-HST-01",
      level: "MUST",
      profile: "base",
      sentence: "What a person told in a session of a host stands in the prompt of that person's next session.",
      source: "H1, H6, E6.8",
    },
    {
      id: "MEM-HST-02",
      level: "MUST",
      profile: "base",
      sentence: "A compaction succeeds, and what is remembered stands in the prompts after it.",
      source: "H1, P8, E8.2, E8.7",
    },
    {
      id: "MEM-HST-03",
      level: "MUST",
      profile: "base",
      sentence:
        "A session that goes on from its state recalls what is remembered, and a turn that is started again recalls the same.",
      source: "H1, H5, P3, E6.11",
    },
  ],
  checks: [conversation, compaction, resume],
  mutants: [
    {
      id: "hosting/signed-in-only",
      flaw: "Captures only what a signed-in caller says, and tells nobody.",
      kills: {
        "hosting/conversation": "forgotten",
        "hosting/compaction": "forgotten",
        "hosting/resume": "forgotten",
        "one-instance/two-slots": "forgotten",
      },
      spares: ["one-instance/callers-change"],
      provider: (provider) =>
        between(provider, (call) => {
          const { session } = call.context as OperationContext; // every context has one
          return call.name.startsWith("capture") && session.auth.current === null ? undefined : asMethod(call);
        }),
    },
    {
      id: "hosting/compaction-needs-usage",
      flaw: "Counts the tokens of a compaction, which not every host knows.",
      kills: { "hosting/compaction": "compaction-failed" },
      spares: ["hosting/conversation", "hosting/resume"],
      provider: (provider) =>
        lookingAt(provider, (context) => {
          const { compaction } = context as Partial<MemoryCompactionRequestedContext>;
          return compaction?.usageInputTokens === null ? Promise.reject(new RangeError("no usage")) : undefined;
        }),
    },
    {
      id: "hosting/compaction-is-the-end",
      flaw: "Takes a compaction for the end of its session.",
      kills: { "hosting/compaction": "lost-by-compaction" },
      spares: ["hosting/conversation", "hosting/resume"],
      provider: (provider) => {
        const ended = new Set<string>();
        return answering(provider, (result, { session, ...context }) => {
          if ("compaction" in context) ended.add(session.id);
          return ended.has(session.id) ? nothing : result;
        });
      },
    },
    {
      id: "hosting/first-turn-only",
      flaw: "Takes only the first turn of a session for one that needs memory.",
      kills: { "hosting/resume": "lost-by-resuming", "hosting/compaction": "lost-by-compaction" },
      spares: ["hosting/conversation", "one-instance/two-slots"],
      provider: (provider) =>
        answering(provider, (result, { session }) => (session.turn.sequence === 0 ? result : nothing)),
    },
    {
      id: "hosting/once-an-operation",
      flaw: "Answers an operation once, and takes every repetition for one that needs no answer.",
      kills: { "hosting/resume": "diverged" },
      spares: ["hosting/conversation", "hosting/compaction"],
      provider: (provider) => {
        const answered = new Set<string>();
        return answering(provider, (result, { operationId }) => {
          if (answered.has(operationId)) return null;
          answered.add(operationId);
          return result;
        });
      },
    },
  ],
});

const nothing = { messages: [{ id: "reference-memory", content: "No memory is stored here." }] };
