/** Section 8 of the reference: compaction and clearing. */
import {
  calls,
  inTurn,
  keyed,
  memories,
  outcomes,
  type ParityScript,
  pong,
  prompts,
  says,
  slot,
  type Trace,
  unkeyed,
} from "./script.ts";

/** eve asks the last question again at the end of what it compacted between turns; ours does not ask what was answered. */
const records = (traces: readonly Trace[]) => [
  memories(traces),
  outcomes(traces),
  calls("operationId", "members", "memory", "session", "turn", "compacts")(traces),
  traces.filter((trace) => "summarised" in trace),
];

const capture = { "turn.completed": () => {}, "compaction.requested": () => {} };

const whole = () =>
  slot({
    "turn.started": inTurn(keyed({ k: "mem A" }), keyed({ k: "mem A" }), keyed({ k: "mem C" })),
    "compaction.completed": inTurn(keyed({ k: "mem B" })),
    capture,
  });

export const compactions: readonly ParityScript[] = [
  {
    clause: "8.2",
    title: "between turns",
    scene: () => ({
      slots: { notes: whole() },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two");
        await agent.compact();
        await agent.turn("three");
      },
    }),
    look: records,
  },
  {
    clause: "8.2",
    title: "what is kept of the conversation between turns",
    scene: () => ({
      slots: { notes: slot({}) },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two");
        await agent.compact();
        await agent.turn("three");
      },
    }),
    look: (traces) => prompts(traces).at(-1),
    differs: {
      because: "a question that was answered is not asked again",
      eve: ["user: (summary)", "assistant: SUMMARY", "assistant: ok", "user: two", "user: three"],
      keepsake: ["user: (summary)", "assistant: SUMMARY", "assistant: ok", "user: three"],
    },
  },
  {
    clause: "8.2",
    title: "within a turn",
    scene: () => ({
      slots: { notes: whole() },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two", { compact: true });
        await agent.turn("three");
      },
    }),
  },
  {
    clause: "8.3",
    title: "records come first, each keyed one in its latest form, in the order in which they came",
    scene: () => ({
      slots: {
        a: slot({ "turn.started": inTurn(keyed({ k: "mem A1" }), unkeyed("mem u1"), keyed({ k: "mem A2" }), null) }),
        b: slot({ "turn.started": inTurn(unkeyed("mem u0"), keyed({ k: "mem B1" }), null) }),
      },
      play: async (agent) => {
        for (const text of ["one", "two", "three"]) await agent.turn(text);
        await agent.compact();
        await agent.turn("four");
      },
    }),
    look: records,
  },
  {
    clause: "8.4",
    title: "what is recalled after a compaction comes right before the input of a turn that is open",
    scene: () => ({
      slots: {
        notes: slot({
          "turn.started": inTurn(unkeyed("mem before"), null),
          "compaction.completed": inTurn(unkeyed("mem after"), null),
        }),
      },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two", { compact: true });
        await agent.turn("three");
      },
    }),
  },
  {
    clause: "8.5",
    title: "null, and what is the same, keep the records",
    scene: () => ({
      slots: {
        a: slot({ "turn.started": inTurn(keyed({ k: "mem a" })), "compaction.completed": inTurn(null) }),
        b: slot({
          "turn.started": inTurn(keyed({ k: "mem b" })),
          "compaction.completed": inTurn(keyed({ k: "mem b" })),
        }),
      },
      play: async (agent) => {
        await agent.turn("one");
        await agent.compact();
        await agent.turn("two", { compact: true });
      },
    }),
    look: records,
  },
  {
    clause: "8.6",
    title: "scopes are those of the latest turn, and are not resolved again",
    scene: (note) => {
      let scope = "u1";
      const resolver = () => {
        note(`resolved ${scope}`);
        return scope;
      };
      return {
        slots: {
          notes: slot(
            {
              "turn.started": ({ memory }) => keyed({ k: `mem of ${memory.scope.value}` }),
              "compaction.completed": ({ memory }) => keyed({ c: `mem kept of ${memory.scope.value}` }),
              capture,
            },
            { scope: resolver },
          ),
        },
        play: async (agent) => {
          await agent.turn("one");
          scope = "u2";
          await agent.turn("two");
          scope = "u3";
          await agent.compact();
          scope = "u1";
          await agent.turn("three");
        },
      };
    },
    look: (traces) => [records(traces), traces.filter((trace) => "note" in trace)],
  },
  {
    clause: "8.7",
    title: "records of a slot without a handler, in the rest of the turn that is compacted",
    scene: () => ({
      slots: {
        plain: slot({ "turn.started": inTurn(keyed({ p: "mem plain" })) }),
        whole: slot({
          "turn.started": inTurn(keyed({ w: "mem whole" })),
          "compaction.completed": inTurn(keyed({ w: "mem whole" })),
        }),
      },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two", { compact: true });
        await agent.turn("three");
      },
    }),
    look: memories,
    differs: {
      because: "a compaction takes no slot's memory away from the model",
      eve: [
        ["user: mem plain", "user: mem whole", "user: one"],
        ["user: mem whole", "user: two"],
        ["user: mem plain", "user: mem whole", "user: three"],
      ],
      keepsake: [
        ["user: mem plain", "user: mem whole", "user: one"],
        ["user: mem plain", "user: mem whole", "user: two"],
        ["user: mem plain", "user: mem whole", "user: three"],
      ],
    },
  },
  {
    clause: "8.8",
    title: "two compactions with no turn between, where the second recalls something else",
    scene: () => ({
      slots: {
        notes: slot({
          "turn.started": inTurn(null),
          "compaction.completed": inTurn(keyed({ k: "mem 1" }), keyed({ k: "mem 2" })),
        }),
      },
      play: async (agent) => {
        await agent.turn("one");
        await agent.compact(1);
        await agent.compact(0);
        await agent.turn("two");
      },
    }),
    look: (traces) => [
      memories(traces),
      calls("operationId")(traces).filter((call) => String(call).includes("compaction")),
    ],
    differs: {
      because: "each compaction is an operation of its own",
      eve: [
        [["user: one"], ["user: mem 1", "user: two"]],
        [
          [
            "notes: recall compaction.completed",
            "eve-memory-operation-v1:session:1:turn_0:0:compaction.completed:notes",
          ],
          [
            "notes: recall compaction.completed",
            "eve-memory-operation-v1:session:1:turn_0:0:compaction.completed:notes",
          ],
        ],
      ],
      keepsake: [
        [["user: one"], ["user: mem 2", "user: two"]],
        [
          [
            "notes: recall compaction.completed",
            "eve-memory-operation-v1:session:1:turn_0:0:compaction.completed:notes",
          ],
          [
            "notes: recall compaction.completed",
            "eve-memory-operation-v1:session:1:turn_0:1:compaction.completed:notes",
          ],
        ],
      ],
    },
  },
  {
    clause: "8.1",
    title: "records that are replaced more than 512 times",
    scene: () => {
      let turn = 0;
      return {
        slots: {
          notes: slot({
            "turn.started": () => {
              turn += 1;
              return keyed(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`k${index}`, `mem ${turn}`])));
            },
            "compaction.completed": () => null,
          }),
        },
        play: says(...Array.from({ length: 10 }, (_, index) => `turn ${index}`)),
      };
    },
    look: (traces) => [
      calls()(traces).filter((call) => String(call).includes("compaction")).length > 0,
      (prompts(traces) as string[][]).map((prompt) => prompt.filter((message) => message.includes("mem")).length),
    ],
    differs: {
      because: "a replaced record is gone at once, so there is never anything to clean up",
      eve: [true, Array.from({ length: 10 }, () => 60)],
      keepsake: [false, Array.from({ length: 10 }, () => 60)],
    },
  },
  {
    clause: "8.9",
    title: "more than 512 live records without a key",
    scene: () => ({
      slots: {
        notes: slot({
          "turn.started": inTurn(unkeyed(...Array.from({ length: 513 }, (_, index) => `mem ${index}`)), null),
          "compaction.completed": () => null,
          tools: async () => ({ ping: pong }),
        }),
      },
      play: says("one", "call notes__ping {}"),
    }),
    look: (traces) => [
      calls()(traces).filter((call) => String(call).includes("compaction")).length,
      (prompts(traces) as string[][]).map((prompt) => prompt.filter((message) => message.includes("mem")).length),
    ],
    differs: {
      because: "there is nothing to clean up, so providers are not asked to at every step",
      eve: [3, [513, 513, 513]],
      keepsake: [0, [513, 513, 513]],
    },
  },
  {
    clause: "8.2",
    title: "within a turn, with tool calls before and after",
    scene: () => ({
      slots: { notes: whole(), other: slot({ tools: async () => ({ ping: pong }) }) },
      play: async (agent) => {
        await agent.turn("call other__ping {}");
        await agent.turn("call other__ping {}");
        await agent.compact();
        await agent.turn("three");
      },
    }),
    look: records,
  },
  {
    clause: "7.9",
    title: "a capture that fails before a compaction leaves the history as it was",
    scene: () => {
      let isDown = true;
      return {
        slots: {
          notes: slot({
            "turn.started": inTurn(keyed({ k: "mem" })),
            capture: {
              "compaction.requested": () => {
                if (isDown) throw new Error("down");
              },
            },
          }),
        },
        play: async (agent) => {
          await agent.turn("one");
          await agent.compact();
          isDown = false;
          await agent.turn("two");
        },
      };
    },
    look: (traces) => [prompts(traces), traces.filter((trace) => "summarised" in trace)],
  },
  {
    clause: "7.10",
    title: "a recall that fails after a compaction leaves the history as it was",
    scene: () => ({
      slots: {
        notes: slot({
          "turn.started": inTurn(keyed({ k: "mem" })),
          "compaction.completed": inTurn(new Error("down")),
        }),
      },
      play: async (agent) => {
        await agent.turn("one");
        await agent.compact();
        await agent.turn("two");
      },
    }),
    look: prompts,
  },
  {
    clause: "8.10",
    title: "clearing empties the history, calls nobody, and the next turn recalls again",
    scene: () => ({
      slots: { notes: whole(), off: slot({}, { scope: null }) },
      play: async (agent) => {
        await agent.turn("one");
        await agent.turn("two");
        await agent.clear();
        await agent.turn("three");
      },
    }),
  },
  {
    clause: "8.11",
    title: "an empty history is not compacted",
    scene: () => ({
      slots: { notes: whole() },
      play: async (agent) => {
        await agent.turn("one");
        await agent.clear();
        await agent.compact();
        await agent.turn("two");
      },
    }),
  },
];
