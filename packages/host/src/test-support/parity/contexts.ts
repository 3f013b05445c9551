/** Section 5 of the reference: what providers are called with. */
import { calls, inTurn, keyed, notes, type ParityScript, pong, says, slot } from "./script.ts";

const knows = { "turn.started": inTurn(keyed({ k: "mem" })), capture: { "turn.completed": () => {} } };

export const contexts: readonly ParityScript[] = [
  {
    clause: "5.1",
    title: "the members of a recall's and of a capture's context",
    scene: () => ({ slots: { notes: slot(knows) }, play: says("one", "two") }),
    look: calls("members"),
  },
  {
    clause: "5.2",
    title: "what is frozen",
    scene: (note) => ({
      slots: {
        notes: slot({
          "turn.started": ({ memory, turn }) => {
            note([Object.isFrozen(memory.scope), Object.isFrozen(turn), Object.isFrozen(turn.input)]);
            return null;
          },
        }),
      },
      play: says("one"),
    }),
    look: notes,
  },
  {
    clause: "5.3",
    title: "the session, its callers and its turn",
    scene: () => ({ slots: { notes: slot(knows) }, play: says("one", "two", "three") }),
    look: calls("session", "turn"),
  },
  {
    clause: "5.4",
    title: "messages carry kinds and nothing of whose memory they are",
    scene: (note) => ({
      slots: {
        notes: slot({
          "turn.started": ({ messages }) => {
            note(messages.filter(({ role }) => role === "user").map((message) => Object.entries(message).sort()));
            return keyed({ k: "mem" });
          },
        }),
      },
      play: says("one", "two"),
    }),
    look: notes,
  },
  {
    clause: "5.5",
    title: "all slots are shown the same history, without the new input",
    scene: () => ({ slots: { a: slot(knows), b: slot(knows), c: slot({}) }, play: says("one", "two", "three") }),
    look: calls("messages"),
  },
  {
    clause: "5.5",
    title: "a capture is shown the settled turn, tool calls and recalled records among it",
    scene: () => ({
      slots: { notes: slot({ ...knows, tools: async () => ({ ping: pong }) }) },
      play: says("call notes__ping {}", "two"),
    }),
    look: calls("messages"),
  },
  {
    clause: "5.8",
    title: "what tools() is told",
    scene: (note) => ({
      slots: {
        notes: slot({
          ...knows,
          tools: async ({ memory, messages, session, turn }) => {
            note({
              scope: memory.scope,
              shown: messages.map(({ role, content }) => [role, content]).at(-1),
              session: [session.id, session.auth],
              turn: [turn.id, turn.sequence],
            });
            return null;
          },
        }),
      },
      play: says("one"),
    }),
    look: notes,
  },
  {
    clause: "5.9",
    title: "what a tool is told",
    scene: (note) => ({
      slots: {
        notes: slot({
          tools: async () => ({
            ping: {
              ...pong,
              execute: (_input: never, { toolName, session, messages }) => {
                note([toolName, session.id, session.turn, messages.at(-1)?.role]);
                return null;
              },
            },
          }),
        }),
      },
      play: says("call notes__ping {}"),
    }),
    look: notes,
  },
  {
    clause: "5.10",
    title: "ids of operations",
    scene: () => ({ slots: { a: slot(knows), b: slot(knows) }, play: says("one", "two") }),
    look: calls("operationId"),
  },
  {
    clause: "1.10",
    title: "handlers are called as methods of `recall`, and unbound otherwise",
    scene: (note) => ({
      slots: {
        notes: slot({
          "turn.started"(this: unknown) {
            note(["recall", typeof this]);
            return null;
          },
          capture: {
            "turn.completed"(this: unknown) {
              note(["capture", typeof this]);
            },
          },
        }),
      },
      play: says("one"),
    }),
    look: notes,
  },
];
