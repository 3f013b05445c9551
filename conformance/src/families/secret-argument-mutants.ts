/** Providers that look at the text of a memory for secrets, and not at what else their tools are called with. */
import { MemoryError, type MemoryToolContext, type MemoryToolsContext } from "@keepsake/core";
import { z } from "zod";
import type { Mutant } from "../family.ts";
import { withMaintenance, withTool } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import type { ReferenceOptions } from "../reference/provider.ts";
import type { RecordStore } from "../reference/record-store.ts";

interface Call {
  readonly argument: string;
  readonly scope: string;
  readonly options: ReferenceOptions;
  readonly signal: AbortSignal;
  /** What the tool itself answers. */
  readonly own: () => Promise<unknown>;
}

const hasSecret = (text: string): boolean => correctParts.secretsIn(text).length > 0;

/** With a forget tool that does this. */
function forgetting(execute: (call: Call) => Promise<unknown>): NonNullable<Mutant["provider"]> {
  return (provider, options) =>
    withTool(provider, "forget_memory", (tool, context) => ({
      execute: (async (input: { readonly id: string }, call: MemoryToolContext) => {
        const own = async (): Promise<unknown> => tool.execute(input as never, call);
        return execute({ ...about(context, call), argument: input.id, options, own });
      }) as never, // the schema of the tool says what its input is
    }));
}

/** With a tool that takes a topic as well, and does this with it after its own work. */
function withTopic(
  name: "save_memory" | "search_memories",
  use: (call: Omit<Call, "own">) => unknown,
): NonNullable<Mutant["provider"]> {
  const field = name === "save_memory" ? "text" : "query";
  const inputSchema = z.strictObject({ [field]: z.string().min(1), topics: z.array(z.string()).optional() });
  return (provider, options) =>
    withTool(provider, name, (tool, context) => ({
      inputSchema,
      execute: (async ({ topics = [], ...input }: { readonly topics?: readonly string[] }, call: MemoryToolContext) => {
        const answer: unknown = await tool.execute(input as never, call);
        for (const argument of topics) await use({ ...about(context, call), argument, options });
        return answer;
      }) as never,
    }));
}

function about({ memory }: MemoryToolsContext, { abortSignal }: MemoryToolContext): Pick<Call, "scope" | "signal"> {
  return { scope: memory.scope.key, signal: abortSignal };
}

function note(store: RecordStore, { scope, signal }: Pick<Call, "scope" | "signal">, text: string): Promise<unknown> {
  return store.pin(scope, text, [text], signal); // files are named after a digest of the first
}

const spares = ["secrets/write-paths", "secrets/query"];

export const argumentMutants: readonly Mutant[] = [
  {
    id: "secrets/ledger-of-forgets",
    flaw: "Keeps the ids that its forget tool was asked for, found or not.",
    kills: { "secrets/forget-argument": "held", "secrets/forget-argument-sent": "sent" },
    spares: [...spares, "forgetting/gone", "forgetting/missing"],
    provider: forgetting(async (call) => {
      await note(call.options.store, call, `forget ${call.argument}`);
      return call.own();
    }),
  },
  {
    id: "secrets/ledger-of-misses",
    flaw: "Keeps the ids that its forget tool was asked for and did not find, in a scope that knows nothing, in files.",
    kills: { "secrets/forget-argument": "held", "secrets/forget-argument-sent": "sent" },
    spares: [...spares, "forgetting/gone", "forgetting/missing"],
    backend: "directory",
    provider: forgetting(async (call) => {
      const { store } = call.options;
      if ((await store.list(call.scope, call.signal)).length === 0) await note(store, call, `missing ${call.argument}`);
      return call.own();
    }),
  },
  {
    id: "secrets/removes-unseen",
    flaw: "Hands the id that its forget tool was asked for to its service, which keeps nothing of it.",
    kills: { "secrets/forget-argument-sent": "sent" },
    spares: [...spares, "forgetting/gone", "forgetting/missing", "secrets/forget-argument"],
    provider: forgetting(async (call) => {
      const removed = await call.options.store.remove(call.scope, call.argument, call.signal);
      return removed ? { removed } : call.own();
    }),
  },
  {
    id: "secrets/shows-forgets",
    flaw: "Remembers in the process what it was asked to forget, and lists it beside the memories.",
    kills: { "secrets/forget-argument": "shown" },
    spares: ["secrets/write-paths", "forgetting/missing"],
    backend: "none",
    provider: (provider, options) => {
      const asked: string[] = [];
      const listing = withMaintenance(provider, (maintenance) => ({
        list: async (input) => Object.assign({ ...(await maintenance.list(input)) }, { forgotten: [...asked] }),
      }));
      return forgetting(async ({ argument, own }) => {
        asked.push(argument);
        return own();
      })(listing, options);
    },
  },
  {
    id: "secrets/tells-of-forgets",
    flaw: "Reports an event for each id that its forget tool is asked for.",
    kills: { "secrets/forget-argument": "in-event" },
    spares: ["secrets/write-paths", "secrets/forget-argument-sent", "forgetting/gone", "forgetting/missing"],
    provider: forgetting(async ({ argument, options, own }) => {
      options.onEvent?.({ code: "memory_forgotten", slot: "memory", id: argument } as never);
      return own();
    }),
  },
  {
    id: "secrets/quotes-the-id",
    flaw: "Refuses to forget a secret, and quotes it.",
    kills: { "secrets/forget-argument": "in-error" },
    spares: ["secrets/write-paths", "secrets/forget-argument-sent", "forgetting/gone", "forgetting/missing"],
    provider: forgetting(async ({ argument, own }) => {
      if (hasSecret(argument)) throw new MemoryError("secret_refused", `There is no memory ${argument}.`);
      return own();
    }),
  },
  {
    id: "secrets/stops-forgetting",
    flaw: "Forgets nothing any more once it was asked to forget a secret.",
    kills: { "secrets/forget-argument": "not-forgotten" },
    spares: ["secrets/write-paths", "secrets/forget-argument-sent", "forgetting/gone", "forgetting/missing"],
    provider: (provider, options) => {
      let isStopped = false;
      return forgetting(async ({ argument, own }) => {
        isStopped ||= hasSecret(argument);
        return isStopped ? { removed: false } : own();
      })(provider, options);
    },
  },
  {
    id: "secrets/keeps-topics",
    flaw: "Saves topics beside a text, and looks for secrets in the text.",
    kills: { "secrets/other-arguments": "held" },
    spares: [...spares, "secrets/in-words", "secrets/forget-argument"],
    provider: withTopic("save_memory", (call) => note(call.options.store, call, `topic ${call.argument}`)),
  },
  {
    id: "secrets/asks-for-topics",
    flaw: "Sends the topics of a search as they are, and the question without its secrets.",
    kills: { "secrets/other-arguments": "sent" },
    spares: [...spares, "secrets/forget-argument"],
    provider: withTopic(
      "search_memories",
      ({ options, argument, scope, signal }) => options.store.remove(scope, argument, signal), // whatever it asks for: it names what it wants by the topic
    ),
  },
  {
    id: "secrets/shows-topics",
    flaw: "Keeps topics in the process, looks for no secrets in them, and lists them.",
    kills: { "secrets/other-arguments": "shown" },
    spares: ["secrets/write-paths", "secrets/forget-argument"],
    backend: "none",
    provider: (provider, options) => {
      const topics: string[] = [];
      const listing = withMaintenance(provider, (maintenance) => ({
        list: async (input) => Object.assign({ ...(await maintenance.list(input)) }, { topics: [...topics] }),
      }));
      return withTopic("save_memory", ({ argument }) => void topics.push(argument))(listing, options);
    },
  },
  {
    id: "secrets/tells-of-topics",
    flaw: "Reports an event for each topic that is saved.",
    kills: { "secrets/other-arguments": "in-event" },
    spares: [...spares, "secrets/forget-argument"],
    provider: withTopic("save_memory", ({ argument, options }) =>
      options.onEvent?.({ code: "topic_saved", slot: "memory", topic: argument } as never),
    ),
  },
  {
    id: "secrets/quotes-topics",
    flaw: "Refuses a topic that is a secret, and quotes it.",
    kills: { "secrets/other-arguments": "in-error" },
    spares: [...spares, "secrets/forget-argument"],
    provider: withTopic("search_memories", ({ argument }) => {
      if (hasSecret(argument)) throw new MemoryError("secret_refused", `The topic ${argument} looks like a secret.`);
    }),
  },
  {
    id: "secrets/stops-saving",
    flaw: "Saves nothing any more once a topic was a secret.",
    kills: { "secrets/other-arguments": "neighbour-lost" },
    spares: [...spares, "secrets/forget-argument"],
    provider: (provider, options) => {
      let isStopped = false;
      const stopping = withTopic("save_memory", ({ argument }) => {
        isStopped ||= hasSecret(argument);
      })(provider, options);
      return withTool(stopping, "save_memory", (tool) => ({
        execute: (async (input: unknown, call: MemoryToolContext) =>
          isStopped ? { saved: false } : tool.execute(input as never, call)) as never,
      }));
    },
  },
];
