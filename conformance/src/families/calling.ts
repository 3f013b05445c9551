/**
 * How a provider may be called. Hosts read handlers off and call them without their object, freeze what they hand out,
 * and leave out what they do not have: a provider that worked in one host then fails in the next.
 */
import {
  extendProvider,
  type MemoryProvider,
  type MemoryTurn,
  type ModelMessage,
  type Principal,
} from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { asMethod, between, type HandlerCall } from "../drive/between.ts";
import { useEverything } from "../drive/use-everything.ts";
import { defineFamily, type Family } from "../family.ts";
import { lookingAt, ofNobody, toolsFrom } from "../reference/standing-before.ts";

const unbound = defineCheck({
  id: "calling/unbound",
  clause: "MEM-CAL-01",
  title: "Handlers of recall and capture work when they are called without their object",
  reasons: {
    "needs-receiver": "A handler uses `this`. Hosts read handlers off and call them: use a closure.",
    forgotten: "Called without its object, a handler writes or reads somewhere else.",
  },
  run: (bench, fail) =>
    worksBehind(bench, fail, {
      reason: "needs-receiver",
      how: "without its object",
      make: (call) => (call.name === "tools" ? asMethod(call) : Reflect.apply(call.handler, undefined, [call.context])),
    }),
});

const unboundTools = defineCheck({
  id: "calling/unbound-tools",
  clause: "MEM-CAL-02",
  title: "tools() works when it is called without its object",
  needs: ["tools"],
  reasons: {
    "needs-receiver": "tools() uses `this`. Not every host calls it on the provider: use a closure.",
    forgotten: "Called without its object, tools() makes tools that write or read somewhere else.",
  },
  run: (bench, fail) =>
    worksBehind(bench, fail, {
      reason: "needs-receiver",
      how: "without its object",
      make: (call) => (call.name === "tools" ? Reflect.apply(call.handler, undefined, [call.context]) : asMethod(call)),
    }),
});

const frozenContexts = defineCheck({
  id: "calling/frozen-contexts",
  clause: "MEM-CAL-03",
  title: "Handlers work with contexts that cannot be changed",
  reasons: {
    "changes-its-context": "A handler changes what it was handed, which other slots are handed too. Copy it first.",
    forgotten: "With a context that cannot be changed, a handler writes or reads something else.",
  },
  run: (bench, fail) =>
    worksBehind(bench, fail, {
      reason: "changes-its-context",
      how: "with a frozen context",
      make: (call) => asMethod({ ...call, context: frozen(call.context) }),
    }),
});

const bareContext = defineCheck({
  id: "calling/bare-context",
  clause: "MEM-CAL-04",
  title: "Handlers work with contexts that lack whatever may be lacking",
  reasons: {
    "needs-optional":
      "A handler needs a member that hosts may leave out: conversation, parent, schedule, a caller, a model, a channel's kind, a turn in compaction.",
    forgotten: "Where a context lacks something, a handler writes or reads somewhere else.",
  },
  run: (bench, fail) =>
    worksBehind(bench, fail, {
      reason: "needs-optional",
      how: "with a context that had only what every host gives",
      make: (call) => asMethod({ ...call, context: bare(call.context) }),
    }),
});

export const calling: Family = defineFamily({
  name: "calling",
  clauses: [
    {
      id: "MEM-CAL-01",
      level: "MUST",
      profile: "base",
      sentence: "Handlers of recall and capture work when they are called without a receiver.",
      source: "C1, E1.10",
    },
    {
      id: "MEM-CAL-02",
      level: "MUST",
      profile: "strict",
      sentence: "tools() works when it is called without a receiver.",
      source: "C1, E1.10",
    },
    {
      id: "MEM-CAL-03",
      level: "MUST",
      profile: "base",
      sentence: "Handlers and tools work with contexts that are frozen in depth.",
      source: "C1, E5.2, E5.5",
    },
    {
      id: "MEM-CAL-04",
      level: "MUST",
      profile: "base",
      sentence:
        "Handlers work with contexts without what the contract does not promise: conversation, parent, schedule, a caller, a model, a channel's kind, token usage, and in compaction a turn.",
      source: "C1, C4, E5.3, E5.7, E5.8",
    },
  ],
  checks: [unbound, unboundTools, frozenContexts, bareContext],
  mutants: [
    {
      id: "calling/needs-conversation",
      flaw: "Asks which conversation a turn belongs to, which not every host knows.",
      kills: { "remembering/first": "threw" },
      spares: [],
      provider: (provider) =>
        lookingAt(provider, (context) => void Reflect.get(Object(Reflect.get(context, "conversation")), "id").length),
    },
    {
      id: "calling/capture-uses-this",
      flaw: "A capture handler calls the other one by `this`.",
      kills: { "calling/unbound": "needs-receiver" },
      spares: ["shape/keys", "calling/frozen-contexts"],
      provider: (provider) =>
        extendProvider(provider, {
          capture: {
            ...provider.capture,
            async "compaction.requested"(context) {
              await this["turn.completed"]?.(context as never); // has the same handler in the reference
            },
          },
        }),
    },
    {
      id: "calling/recall-by-receiver",
      flaw: "Recalls for the object that it is called on, and nothing for one that it does not know.",
      kills: { "calling/unbound": "forgotten" },
      spares: ["shape/keys", "calling/unbound-tools"],
      provider: (provider) => {
        const recall: MemoryProvider["recall"] = {
          ...provider.recall,
          "turn.started"(context) {
            return this === recall ? provider.recall["turn.started"](context) : null;
          },
        };
        return extendProvider(provider, { recall });
      },
    },
    {
      id: "calling/tools-use-this",
      flaw: "tools() looks at the provider that it is called on.",
      kills: { "calling/unbound-tools": "needs-receiver" },
      spares: ["calling/unbound", "shape/keys"],
      provider: (provider) =>
        toolsFrom(provider, (context, self) => {
          if (self?.recall === undefined) throw new TypeError("There is no provider.");
          return context;
        }),
    },
    {
      id: "calling/tools-by-receiver",
      flaw: "Called on nothing, tools() makes the tools of a scope that nobody has.",
      kills: { "calling/unbound-tools": "forgotten" },
      spares: ["calling/unbound", "shape/keys"],
      provider: (provider) =>
        toolsFrom(provider, (context, self) => (self === undefined ? ofNobody(context) : context)),
    },
    {
      id: "calling/adds-to-input",
      flaw: "Adds a message of its own to the turn's input.",
      kills: { "calling/frozen-contexts": "changes-its-context" },
      spares: ["calling/unbound", "calling/bare-context"],
      provider: (provider) =>
        lookingAt(provider, ({ turn }) => {
          const input = turn?.input as ModelMessage[] | undefined; // taken for its own
          input?.push({ role: "user", content: "Use what you remember." });
        }),
    },
    {
      id: "calling/notes-in-history",
      flaw: "Puts the input into the history that it was handed, and recalls nothing where it cannot.",
      kills: { "calling/frozen-contexts": "forgotten" },
      spares: ["calling/unbound", "calling/bare-context"],
      provider: (provider) =>
        extendProvider(provider, {
          recall: {
            ...provider.recall,
            async "turn.started"(context) {
              try {
                (context.messages as ModelMessage[]).push(...context.turn.input); // taken for its own
              } catch {
                return null;
              }
              return provider.recall["turn.started"](context);
            },
          },
        }),
    },
    {
      id: "calling/needs-caller",
      flaw: "Reads the caller's name, and fails where there is no caller.",
      kills: { "calling/bare-context": "needs-optional" },
      spares: ["calling/unbound", "calling/frozen-contexts"],
      provider: (provider) =>
        lookingAt(provider, ({ session }) => void (session.auth.current as Principal).principalId),
    },
    {
      id: "calling/needs-turn",
      flaw: "Takes every compaction to happen within a turn.",
      kills: { "calling/bare-context": "needs-optional" },
      spares: ["calling/unbound", "calling/frozen-contexts"],
      provider: (provider) => lookingAt(provider, ({ turn }) => void (turn as MemoryTurn).id),
    },
    {
      id: "calling/skips-nobody",
      flaw: "Takes a turn without a caller for one without memory.",
      kills: { "calling/bare-context": "forgotten" },
      spares: ["calling/unbound", "calling/frozen-contexts"],
      provider: (provider) =>
        extendProvider(provider, {
          recall: {
            ...provider.recall,
            "turn.started": (context) =>
              context.session.auth.current === null ? null : provider.recall["turn.started"](context),
          },
        }),
    },
  ],
});

interface Behind<Reason> {
  readonly reason: Reason;
  /** The end of "it failed ...". */
  readonly how: string;
  readonly make: (call: HandlerCall) => unknown;
}

/** Every handler, first as hosts usually call it, so that what fails next is due to the difference. */
async function worksBehind<Reason extends string>(
  bench: Bench,
  fail: (reason: Reason | "forgotten", saw: string) => never,
  { reason, how, make }: Behind<Reason>,
): Promise<void> {
  const handle = await bench.open();
  const usual = await useEverything(
    bench,
    handle.around((provider) => between(provider, asMethod)),
  );
  let at = "A call";
  const changed = handle.around((provider) =>
    between(provider, (call) => {
      at = call.name;
      return make(call);
    }),
  );
  const used = await bench.outcome(() => useEverything(bench, changed));
  if (used.state !== "fulfilled") return fail(reason, `${at} failed ${how}.`);
  const forgotten = usual.find((path) => !used.value.includes(path));
  if (forgotten !== undefined) fail("forgotten", `What was written by ${forgotten}, ${how}, was not recalled.`);
}

/** A copy, frozen in depth but for what is not plain data, such as the signal. */
function frozen<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen)) as T;
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, each]) => [key, frozen(each)]))) as T;
}

/** The context of a host that has nothing to add to what is required. */
function bare(context: object): object {
  const { session, channel, compaction, model } = Object(context);
  return {
    ...context,
    session: { ...session, auth: { current: null, initiator: null } },
    ...(channel === undefined ? {} : { channel: {} }),
    ...(model === undefined ? {} : { model: null }),
    ...("usageInputTokens" in Object(compaction) ? { compaction: { ...compaction, usageInputTokens: null } } : {}),
    ...(compaction === undefined ? {} : { turn: null }),
  };
}
