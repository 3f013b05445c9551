/**
 * What a provider is and answers. Hosts refuse one for a member too many, and end a session whose recall answers no messages.
 */
import { extendProvider, type MemoryProvider, type MemoryRecallMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import type { Handle } from "../drive/handle.ts";
import { useEverything } from "../drive/use-everything.ts";
import { defineFamily, type Family } from "../family.ts";
import { answering, eachMessage, ofNobody, toolsFrom } from "../reference/standing-before.ts";

const keys = defineCheck({
  id: "shape/keys",
  clause: "MEM-SHP-01",
  title: "Provider, recall and capture hold nothing but handlers, by their known names",
  reasons: {
    "unknown-key":
      "Hosts refuse a provider with any other own enumerable key. Keep what is yours in a closure, a private field or a symbol.",
    "not-a-handler": "A member that hosts call is not a function, or recall and capture are not objects.",
  },
  async run(bench, fail) {
    const { provider } = await bench.open();
    const groups = [
      { where: "the provider", owner: provider, known: ["recall", "capture", "tools"] },
      { where: "recall", owner: provider.recall, known: ["turn.started", "compaction.completed"] },
      { where: "capture", owner: provider.capture ?? {}, known: ["turn.completed", "compaction.requested"] },
    ];
    for (const { where, owner, known } of groups) {
      if (typeof owner !== "object" || Array.isArray(owner)) fail("not-a-handler", `As ${where} there is no object.`);
      const unknown = Object.keys(owner).filter((key) => !known.includes(key));
      if (unknown.length > 0)
        fail("unknown-key", `There are other keys in ${where}: ${unknown.map(shown).join(", ")}.`);
      for (const key of known.filter((each) => each !== "recall" && each !== "capture")) {
        const handler: unknown = Reflect.get(owner, key);
        const isThere = handler !== undefined || key === "turn.started";
        if (isThere && typeof handler !== "function") fail("not-a-handler", `In ${where}, ${key} is no function.`);
      }
    }
  },
});

const recallResult = defineCheck({
  id: "shape/recall-result",
  clause: "MEM-SHP-02",
  title:
    "Recall answers nothing, or messages of a content and an id, in an empty scope, a filled one and after compaction",
  reasons: {
    "not-messages": "Recall answers null, undefined or { messages: [...] }, and nothing else.",
    "extra-key": "A result has only messages, and a message only content and id. The host decides on the rest.",
    "blank-content": "A message has text that is not blank. With nothing to say, answer null or say so in words.",
    "bad-id": "An id is text of 1 to 1,024 bytes of UTF-8, or left out.",
    "duplicate-id": "Two messages of one result have the same id, which hosts refuse.",
  },
  async run(bench, fail) {
    const { handle, results } = recorded(await bench.open(), "recall");
    const person = bench.someone(handle);
    const memory = bench.canary();
    await person.say(memory.query);
    await person.recall(person.begin(memory.query), { phase: "compaction.completed" });
    await person.write(memory.text);
    const later = person.again();
    await later.say(memory.query);
    await later.recall(later.begin(memory.query));
    await later.recall(later.begin(memory.query), { phase: "compaction.completed" });
    for (const result of results) {
      const problem = problemOf(result);
      if (problem !== undefined) fail(...problem);
    }
  },
});

const toolsResult = defineCheck({
  id: "shape/tools-result",
  clause: "MEM-SHP-03",
  title: "tools() answers a map of tools, or null",
  reasons: {
    "not-a-map": "tools() answers an object of tools by name, or null. Hosts drop all of the slot's otherwise.",
  },
  async run(bench, fail) {
    const { handle, results } = recorded(await bench.open(), "tools");
    if (handle.provider.tools === undefined) bench.notApplicable("It offers no tools.");
    const person = bench.someone(handle);
    await person.toolset();
    await person.write(bench.canary().text);
    await person.toolset();
    if (results.some((result) => typeof result !== "object" || Array.isArray(result))) {
      fail("not-a-map", "tools() answered neither an object nor null.");
    }
  },
});

const spread = defineCheck({
  id: "shape/spread",
  clause: "MEM-SHP-04",
  title: "A spread of the provider is the same provider",
  reasons: {
    "handler-lost": "A handler is not the provider's own enumerable member, such as a method of a class. Make it one.",
    forgotten: "The spread's handlers write or read somewhere else than the provider's.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const { provider } = handle;
    for (const name of ["capture", "tools"] as const) {
      if (provider[name] !== undefined && !Object.hasOwn({ ...provider }, name)) {
        fail("handler-lost", `The spread had no ${name} any more.`);
      }
    }
    const usual = await useEverything(bench, handle);
    const spreads = await useEverything(
      bench,
      handle.around((original) => ({ ...original })),
    );
    const forgotten = usual.find((path) => path !== "import" && !spreads.includes(path));
    if (forgotten !== undefined) fail("forgotten", `What its spread was told by ${forgotten} was not recalled.`);
  },
});

export const shape: Family = defineFamily({
  name: "shape",
  clauses: [
    {
      id: "MEM-SHP-01",
      level: "MUST",
      profile: "base",
      sentence:
        "A provider's own enumerable string keys are recall, capture and tools, those of recall and capture are phases, and recall has turn.started.",
      source: "C1, C5, E1.4, E1.5",
    },
    {
      id: "MEM-SHP-02",
      level: "MUST",
      profile: "base",
      sentence:
        "Recall answers null, undefined or messages, each of which has a content that is not blank, may have an id of 1 to 1,024 bytes that no other of the result has, and has nothing more.",
      source: "C1, E6.5",
    },
    {
      id: "MEM-SHP-03",
      level: "MUST",
      profile: "base",
      sentence: "tools() answers a map of tools, or null.",
      source: "C1, E9.1",
    },
    {
      id: "MEM-SHP-04",
      level: "MUST",
      profile: "strict",
      sentence: "A spread of a provider has the same handlers and works as the provider does.",
      source: "C1, C6, E1.5",
    },
  ],
  checks: [keys, recallResult, toolsResult, spread],
  mutants: [
    {
      id: "shape/class-instance",
      flaw: "Is the instance of a class, whose name and settings are members like its handlers.",
      kills: { "shape/keys": "unknown-key" },
      spares: ["shape/recall-result", "shape/spread"],
      provider: (provider) => {
        class Memory {
          readonly settings = { limit: 20 };
          readonly recall = provider.recall;
          readonly capture = provider.capture;
          readonly tools = provider.tools;
        }
        return new Memory() as unknown as MemoryProvider; // typed as its author believes
      },
    },
    {
      id: "shape/has-a-name",
      flaw: "Has a name, for the logs.",
      kills: { "shape/keys": "unknown-key" },
      spares: ["shape/recall-result", "calling/unbound"],
      provider: (provider) => Object.assign(provider, { name: "notes" }),
    },
    {
      id: "shape/optional-handler-null",
      flaw: "Has null where it has no handler.",
      kills: { "shape/keys": "not-a-handler" },
      spares: ["shape/recall-result"],
      provider: (provider) =>
        extendProvider(provider, {
          recall: { "turn.started": provider.recall["turn.started"], "compaction.completed": null as never },
        }),
    },
    {
      id: "shape/answers-text",
      flaw: "Answers an empty text where it has nothing to say.",
      kills: { "shape/recall-result": "not-messages" },
      spares: ["shape/keys"],
      provider: (provider) => answering(provider, (result) => result ?? ("" as never)),
    },
    {
      id: "shape/messages-with-role",
      flaw: "Gives its messages a role.",
      kills: { "shape/recall-result": "extra-key" },
      spares: ["shape/keys"],
      provider: (provider) => eachMessage(provider, (message) => ({ ...message, role: "system" })),
    },
    {
      id: "shape/blank-content",
      flaw: "Answers a message without text where it has nothing to say.",
      kills: { "shape/recall-result": "blank-content" },
      spares: ["shape/keys"],
      provider: (provider) =>
        answering(provider, (result) => result ?? { messages: [{ id: "memory", content: "\n" }] }),
    },
    {
      id: "shape/text-as-id",
      flaw: "Makes a message's id of its text, however long that is.",
      kills: { "shape/recall-result": "bad-id" },
      spares: ["shape/keys"],
      provider: (provider) =>
        eachMessage(provider, ({ content }) => ({ content, id: encodeURIComponent(content.repeat(5)) })),
    },
    {
      id: "shape/duplicate-ids",
      flaw: "Gives every message the same id, the slot's.",
      kills: { "shape/recall-result": "duplicate-id" },
      spares: ["shape/keys"],
      provider: (provider) =>
        answering(
          provider,
          (result) =>
            result && {
              messages: ["What is remembered:", ...result.messages.map(({ content }) => content)].map(asMemory),
            },
        ),
    },
    {
      id: "shape/tools-as-list",
      flaw: "Answers a list where it has no tools to offer.",
      kills: { "shape/tools-result": "not-a-map" },
      spares: ["shape/keys", "shape/spread"],
      provider: (provider) => extendProvider(provider, { tools: async () => [] as never }),
    },
    {
      id: "shape/class-methods",
      flaw: "Is the instance of a class with tools() as a method, which a spread loses.",
      kills: { "shape/spread": "handler-lost" },
      spares: ["shape/keys", "calling/unbound"],
      provider: ({ recall, capture, tools }) => Object.assign(Object.create({ tools }), { recall, capture }),
    },
    {
      id: "shape/knows-itself",
      flaw: "Keeps the tools' memory apart for every object that it is called on.",
      kills: { "shape/spread": "forgotten" },
      spares: ["shape/keys"],
      provider: (provider) => toolsFrom(provider, (context, self) => (self === provider ? context : ofNobody(context))),
    },
  ],
});

/** A handle, and what its handlers of this name answered, as they answered it. */
function recorded(opened: Handle, name: "recall" | "tools"): { handle: Handle; results: readonly unknown[] } {
  const results: unknown[] = [];
  const handle = opened.around((provider) =>
    between(provider, async (call) => {
      const result: unknown = await asMethod(call);
      if (call.name.startsWith(name)) results.push(result);
      return result;
    }),
  );
  return { handle, results };
}

type Problem = "not-messages" | "extra-key" | "blank-content" | "bad-id" | "duplicate-id";

/** What a host would refuse a recall's result for. */
function problemOf(result: unknown): readonly [Problem, string] | undefined {
  if (result === null || result === undefined) return undefined;
  const { messages } = Object(result);
  if (typeof result !== "object" || !Array.isArray(messages))
    return ["not-messages", "Recall answered something else."];
  const extra = [result, ...messages].flatMap((each, index) =>
    Object.keys(Object(each)).filter((key) => !(index === 0 ? ["messages"] : ["content", "id"]).includes(key)),
  );
  if (extra.length > 0) return ["extra-key", `There were other keys: ${extra.map(shown).join(", ")}.`];
  const ids: unknown[] = [];
  for (const message of messages) {
    const { content, id } = Object(message);
    if (typeof content !== "string" || content.trim() === "") return ["blank-content", "A content had no text."];
    if (id === undefined) continue;
    if (typeof id !== "string" || id === "" || Buffer.byteLength(id) > 1_024) {
      return ["bad-id", "An id was no text, empty, or longer than 1,024 bytes."];
    }
    if (ids.includes(id)) return ["duplicate-id", "An id was there twice."];
    ids.push(id);
  }
  return undefined;
}

/** A key, where it may be shown. */
function shown(key: string): string {
  return /^[\w.-]{1,40}$/.test(key) ? `"${key}"` : "one that is not shown";
}

function asMemory(content: string): MemoryRecallMessage {
  return { id: "memory", content };
}
