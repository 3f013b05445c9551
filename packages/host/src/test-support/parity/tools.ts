/** Section 9 of the reference: what tools the model is offered, and how they run. */
import { defineTool as defineOurs } from "@keepsake/core";
import { defineTool as defineEves } from "eve/tools";
import { z } from "zod";
import { notes, outcomes, type ParityScript, pong, prompts, says, slot, type Trace } from "./script.ts";

const offered = (traces: readonly Trace[]) => traces.filter((trace) => "tools" in trace).map(({ tools }) => tools);
const results = (traces: readonly Trace[]) =>
  traces.filter((trace) => "results" in trace).map((trace) => trace.results);

const findSchema = {
  type: "object",
  properties: {
    text: { type: "string", minLength: 1, description: "What to look for." },
    kinds: { type: "array", items: { enum: ["fact", "wish"] } },
  },
  required: ["text"],
};

/** One tool that answers this, called once. */
function answers(clause: string, title: string, answer: unknown, more: object = {}): ParityScript {
  return {
    clause,
    title,
    scene: () => ({
      slots: { notes: slot({ tools: async () => ({ get: { ...pong, ...more, execute: () => answer } }) }) },
      play: says("call notes__get {}"),
    }),
    look: results,
  };
}

export const tools: readonly ParityScript[] = [
  {
    clause: "9.3",
    title: "names, descriptions and schemas of several slots, in order",
    scene: () => ({
      slots: {
        b: slot({ tools: async () => ({ second: pong, first: pong }) }, { description: "What b is for." }),
        a: slot({ tools: async () => ({ only: { ...pong, description: "Alone." } }) }),
        none: slot({ tools: async () => null }),
        without: slot({}),
      },
      play: says("one"),
    }),
    look: offered,
  },
  {
    clause: "9.5",
    title: "a JSON Schema reaches the model as it is written",
    scene: () => ({
      slots: {
        notes: slot({
          tools: async () => ({
            find: {
              ...pong,
              inputSchema: findSchema,
            },
          }),
        }),
      },
      play: says("one"),
    }),
    look: (traces) =>
      (offered(traces) as { schema: { additionalProperties?: boolean } }[][]).map(([find]) => find?.schema),
    differs: {
      because: "the model is shown what the tool's author wrote, and no member is forbidden that the author allows",
      eve: [{ ...findSchema, additionalProperties: false }],
      keepsake: [findSchema],
    },
  },
  {
    clause: "9.5",
    title: "zod schemas, defined with our definer and with eve's",
    scene: () => ({
      slots: {
        notes: slot({
          tools: async () => ({
            eves: defineEves({
              description: "Eve's.",
              inputSchema: z.object({ text: z.string().min(1), limit: z.number().int().optional() }),
              execute: ({ text }) => text,
            }) as never,
            ours: defineOurs({
              description: "Ours.",
              inputSchema: z.strictObject({ text: z.string().min(1) }),
              execute: ({ text }) => text,
            }),
          }),
        }),
      },
      play: says('call notes__ours {"text":"tea"}', 'call notes__eves {"text":"milk","limit":1}'),
    }),
    look: (traces) => [offered(traces), results(traces)],
  },
  answers("9.6", "nothing is null", undefined),
  answers("9.6", "an object", { saved: true, at: null, list: [1, "two"] }),
  {
    ...answers("9.6", "what cannot be JSON is told to the model as an error", 1n),
    look: (traces) => (results(traces).flat() as { type: string }[]).map(({ type }) => type),
  },
  answers("9.6", "what the tool shows of its answer", "long", {
    toModelOutput: () => ({ type: "text", value: "short" }),
  }),
  {
    clause: "9.7",
    title: "how often tools() is called when one tool is used",
    scene: (note) => ({
      slots: {
        notes: slot({
          tools: async () => {
            note("tools()");
            return { ping: pong };
          },
        }),
      },
      play: says("call notes__ping {}"),
    }),
    look: notes,
    differs: {
      because: "the tools of a turn are made once",
      eve: ["tools()", "tools()", "tools()"],
      keepsake: ["tools()"],
    },
  },
  {
    clause: "9.9",
    title: "a tool acts on the scope that it was made for",
    scene: () => {
      let scope = "u1";
      return {
        slots: {
          notes: slot(
            {
              tools: async ({ memory }) => ({
                whose: {
                  ...pong,
                  execute: () => {
                    scope = "u2";
                    return [memory.scope.key, memory.scope.value];
                  },
                },
              }),
            },
            { scope: () => scope },
          ),
        },
        play: says("call notes__whose {}", "call notes__whose {}"),
      };
    },
    look: results,
  },
  {
    clause: "9.12",
    title: "two slots whose tools come to one name",
    scene: () => ({
      slots: {
        a: slot({ tools: async () => ({ b__c: pong }) }),
        a__b: slot({ tools: async () => ({ c: pong }) }),
      },
      play: says("one"),
    }),
    look: (traces) => [
      outcomes(traces),
      prompts(traces),
      (offered(traces)[0] as { name: string }[] | undefined)?.map(({ name }) => name),
    ],
    differs: {
      because: "tools that cannot be offered are left out, and never fail the turn",
      eve: [["failed"], [], undefined],
      keepsake: [["well"], [["user: one"]], ["a__b__c"]],
    },
  },
];
