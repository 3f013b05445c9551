/** Section 7 of the reference: what fails what, and what is cancelled instead. */
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
  unkeyed,
} from "./script.ts";

const good = () => slot({ "turn.started": inTurn(unkeyed("mem good")) });

function ends(clause: string, title: string, scene: ParityScript["scene"]): ParityScript {
  return { clause, title, scene, look: (traces) => [outcomes(traces), prompts(traces)] };
}

/**
 * A recall during which the turn's signal aborts, with what it answers then; and another turn. That what was said stays is
 * the doing of eve's server, which is not part of this agent.
 */
function aborted(clause: string, title: string, answer: () => unknown): ParityScript {
  const look: ParityScript["look"] = (traces) => [outcomes(traces), memories(traces)];
  const scene: ParityScript["scene"] = () => {
    const controller = new AbortController();
    const recall = () => {
      if (controller.signal.aborted) return keyed({ k: "mem next" });
      controller.abort();
      return answer() as never;
    };
    return {
      slots: { notes: slot({ "turn.started": recall }), other: good() },
      play: async (agent) => {
        await agent.turn("first", { abortSignal: controller.signal });
        await agent.turn("next");
      },
    };
  };
  return { clause, title, scene, look };
}

/** A slot whose tools cannot be had, beside one whose can. */
function without(title: string, tools: () => unknown): ParityScript {
  return {
    clause: "7.5",
    title: `tools that ${title} are left out, and the turn goes on`,
    scene: () => ({
      slots: {
        bad: slot({ "turn.started": inTurn(unkeyed("mem bad")), tools: async () => tools() as never }),
        good: slot({ tools: async () => ({ ping: pong }) }),
      },
      play: says("one"),
    }),
  };
}

export const failures: readonly ParityScript[] = [
  ends("7.1", "a recall that throws fails the turn before the model, and nothing is kept", () => ({
    slots: { a: good(), b: slot({ "turn.started": inTurn(new Error("down"), null) }), c: good() },
    play: says("one"),
  })),
  {
    clause: "7.1",
    title: "a turn after one that failed",
    scene: () => ({
      slots: { notes: slot({ "turn.started": inTurn(new Error("down"), keyed({ k: "mem" })) }) },
      play: says("one", "two"),
    }),
    look: (traces) => [memories(traces), calls("operationId")(traces)],
    differs: {
      because:
        "the session goes on with a turn of its own, and what was asked in vain is not answered for another question",
      eve: [
        [["user: mem", "user: two"]],
        [
          ["notes: recall turn.started", "eve-memory-operation-v1:session:0:turn_0:turn.started:notes"],
          ["notes: recall turn.started", "eve-memory-operation-v1:session:0:turn_0:turn.started:notes"],
        ],
      ],
      keepsake: [
        [["user: mem", "user: two"]],
        [
          ["notes: recall turn.started", "eve-memory-operation-v1:session:0:turn_0:turn.started:notes"],
          ["notes: recall turn.started", "eve-memory-operation-v1:session:1:turn_1:turn.started:notes"],
        ],
      ],
    },
  },
  ends("7.2", "an AbortError of a provider's own is a failure while nobody has aborted", () => ({
    slots: { notes: slot({ "turn.started": inTurn(new DOMException("mine", "AbortError")) }) },
    play: says("one"),
  })),
  aborted("7.3", "an error after the abort is a cancellation", () => {
    throw new Error("late");
  }),
  aborted("7.3", "a recall that succeeds after the abort is not kept", () => unkeyed("mem late")),
  aborted("7.3", "a provider that answers the abort with its reason", () => {
    throw new DOMException("aborted", "AbortError");
  }),
  ends("7.6", "a capture that throws leaves the turn completed, and the others run", () => ({
    slots: {
      a: slot({
        capture: {
          "turn.completed": () => {
            throw new Error("down");
          },
        },
      }),
      b: slot({ "turn.started": inTurn(unkeyed("mem")), capture: { "turn.completed": () => {} } }),
    },
    play: says("one", "two"),
  })),
  {
    clause: "7.8",
    title: "only a completed turn is captured",
    scene: () => {
      const controller = new AbortController();
      const recall = inTurn(new Error("down"), null);
      return {
        slots: {
          notes: slot({
            "turn.started": () => {
              if (!controller.signal.aborted) {
                controller.abort();
                return null;
              }
              return recall();
            },
            capture: { "turn.completed": () => {} },
          }),
        },
        play: async (agent) => {
          await agent.turn("cancelled", { abortSignal: controller.signal });
          await agent.turn("failed");
          await agent.turn("completed");
        },
      };
    },
    look: (traces) => [
      outcomes(traces),
      calls("turn")(traces).filter((call) => String(call).includes("capture")).length,
    ],
  },
  without("cannot be made", () => {
    throw new Error("down");
  }),
  without("are undefined", () => undefined),
  without("are a list", () => [pong]),
  without("nobody defined", () => ({ ping: { description: "x", inputSchema: {}, execute: () => null } })),
  without("have a name that cannot be one", () => ({ "ping it": pong, ping: pong })),
  without("have a name that is too long", () => ({ [`p${"i".repeat(60)}`]: pong, ping: pong })),
  {
    clause: "7.11",
    title: "a tool that throws is told to the model",
    scene: () => ({
      slots: {
        notes: slot({
          tools: async () => ({
            ping: {
              ...pong,
              execute: () => {
                throw new TypeError("no such note");
              },
            },
          }),
        }),
      },
      play: says("call notes__ping {}"),
    }),
  },
  {
    clause: "7.11",
    title: "input that the schema refuses never reaches the tool",
    scene: (note) => ({
      slots: { notes: slot({ tools: async () => ({ ping: { ...pong, execute: () => note("ran") } }) }) },
      play: says('call notes__ping {"scope":"other"}'),
    }),
  },
];
