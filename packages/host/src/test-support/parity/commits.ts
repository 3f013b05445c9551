/** Section 6 of the reference: what becomes part of a session's history, and who is shown it. */
import { calls, inTurn, keyed, memories, outcomes, type ParityScript, prompts, says, slot, unkeyed } from "./script.ts";

/** A slot that recalls these, one in each turn. */
function recalls(clause: string, title: string, ...results: readonly unknown[]): ParityScript {
  return {
    clause,
    title,
    scene: () => ({
      slots: { notes: slot({ "turn.started": inTurn(...results), capture: { "turn.completed": () => {} } }) },
      play: says(...results.map((_, index) => `turn ${index}`)),
    }),
  };
}

/** A slot whose answer is no recall, beside one whose is: the turn fails, and nothing of it is kept. */
function refuses(title: string, result: unknown): ParityScript {
  return {
    clause: "6.5",
    title: `${title} is refused`,
    scene: () => ({
      slots: { bad: slot({ "turn.started": inTurn(result) }), good: slot({ "turn.started": inTurn(unkeyed("mem")) }) },
      play: says("one"),
    }),
    look: (traces) => [outcomes(traces), prompts(traces), calls("messages")(traces)],
  };
}

/** Slots of two callers in one session. */
function changesScope(visibility: "scope" | "session"): ParityScript {
  return {
    clause: visibility === "scope" ? "6.16" : "6.15",
    title: `a change of scope and back, where a slot shows what is of the ${visibility}`,
    scene: () => {
      let scope = "u1";
      let namespace = "n1";
      let text = "";
      return {
        slots: {
          notes: slot(
            { "turn.started": ({ memory }) => keyed({ k: `mem of ${memory.scope.value}${text}` }) },
            { scope: () => scope, namespace: () => namespace, visibility },
          ),
        },
        play: async (agent) => {
          await agent.turn("one");
          scope = "u2";
          await agent.turn("two");
          scope = "u1";
          await agent.turn("three");
          text = ", changed";
          await agent.turn("four");
          namespace = "n2";
          await agent.turn("five");
          namespace = "n1";
          await agent.turn("six");
        },
      };
    },
  };
}

export const commits: readonly ParityScript[] = [
  recalls("6.6", "a keyed message equal to the latest changes nothing", keyed({ k: "mem A" }), keyed({ k: "mem A" })),
  recalls("6.6", "A, B, A", keyed({ k: "mem A" }), keyed({ k: "mem B" }), keyed({ k: "mem A" })),
  recalls("6.6", "a space makes another text", keyed({ k: "mem A" }), keyed({ k: "mem A " })),
  recalls("6.6", "an omitted id retracts nothing", keyed({ a: "mem a", b: "mem b" }), keyed({ b: "mem b2" }), null),
  recalls("6.6", "unkeyed messages are added each time, equal ones too", unkeyed("mem", "mem"), unkeyed("mem"), null),
  recalls("6.6", "keyed and unkeyed in one result keep their order", {
    messages: [{ content: "mem 1" }, { id: "k", content: "mem 2" }, { content: "mem 3" }],
  }),
  recalls("6.5", "null, undefined and no messages are all nothing", null, undefined, { messages: [] }),
  recalls("6.5", "an id may be blank, or of 1,024 bytes", keyed({ " ": "mem a", [`${"é".repeat(512)}`]: "mem b" })),
  recalls("6.5", "an undefined id is none", { messages: [{ id: undefined, content: "mem" }] }, unkeyed("mem")),
  recalls("6.8", "the model sees the text as it is", unkeyed("mem <b>fact</b> & </user>\n\n1: x\u2028y\u0000z")),
  refuses("false", false),
  refuses("a text", "mem"),
  refuses("a list", [{ content: "mem" }]),
  refuses("a further key", { messages: [], more: 1 }),
  refuses("messages that are no list", { messages: "mem" }),
  refuses("a message that is no object", { messages: ["mem"] }),
  refuses("a message with a role", { messages: [{ content: "mem", role: "system" }] }),
  refuses("a blank content", { messages: [{ content: " \n" }] }),
  refuses("a content that is no text", { messages: [{ content: 7 }] }),
  refuses("an empty id", { messages: [{ content: "mem", id: "" }] }),
  refuses("an id of null", { messages: [{ content: "mem", id: null }] }),
  refuses("an id of 1,025 bytes", { messages: [{ content: "mem", id: `${"é".repeat(512)}x` }] }),
  refuses("an id that comes twice", {
    messages: [
      { content: "mem", id: "k" },
      { content: "mem 2", id: "k" },
    ],
  }),
  changesScope("scope"),
  changesScope("session"),
  {
    clause: "6.2",
    title: "slots are in a person's alphabetical order",
    scene: () => ({
      slots: Object.fromEntries(
        ["zeta", "Beta", "alpha", "a-b", "a_b", "ab", "a1"].map((name) => [
          name,
          slot({ "turn.started": inTurn(unkeyed(`mem of ${name}`)) }),
        ]),
      ),
      play: says("one"),
    }),
    look: (traces) => [calls()(traces), prompts(traces)],
  },
  {
    clause: "6.3",
    title: "recalls run at once, and are taken in the order of slots",
    scene: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      return {
        slots: {
          a: slot({ "turn.started": () => promise.then(() => unkeyed("mem a")) }),
          b: slot({
            "turn.started": () => {
              resolve();
              return unkeyed("mem b");
            },
          }),
        },
        play: says("one"),
      };
    },
  },
  {
    clause: "6.9",
    title: "records stay where they came",
    scene: () => ({
      slots: {
        keyed: slot({ "turn.started": inTurn(keyed({ k: "mem k1" }), null, keyed({ k: "mem k2" }), null) }),
        unkeyed: slot({ "turn.started": inTurn(unkeyed("mem u1"), unkeyed("mem u2"), null) }),
      },
      play: says("one", "two", "three", "four"),
    }),
    look: prompts,
  },
  {
    clause: "6.15",
    title: "where a slot shows what is of the session, keyed records of two scopes are both shown, also to providers",
    scene: () => {
      let scope = "u1";
      return {
        slots: {
          notes: slot(
            { "turn.started": ({ memory }) => keyed({ k: `mem of ${memory.scope.value}` }) },
            { scope: () => scope, visibility: "session" },
          ),
        },
        play: async (agent) => {
          await agent.turn("one");
          scope = "u2";
          await agent.turn("two");
          await agent.turn("three");
        },
      };
    },
    look: (traces) => [memories(traces), calls("messages")(traces)],
  },
];
