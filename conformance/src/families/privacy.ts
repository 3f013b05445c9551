/**
 * What a provider says when something goes wrong. Clients put the whole request into their errors, loggers print what
 * they are handed, and both end up where many people read: with somebody's memory, or with the key to all of it.
 */
import { MemoryError, type MemoryProvider } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import { holds } from "../drive/canary.ts";
import { type Provoked, provoke } from "../drive/provoke.ts";
import { spelledOut } from "../drive/spelled-out.ts";
import { defineFamily, type Family } from "../family.ts";
import { answering, lookingAt, type OperationContext } from "../reference/standing-before.ts";
import type { CreateContext } from "../subject/define.ts";

const errors = defineCheck({
  id: "privacy/errors",
  clause: "MEM-PRV-01",
  title: "No error holds a text, a query, a scope's value, a secret or the credential",
  slow: true,
  reasons: {
    "in-message": "The message quotes what it was given, or what the client's own message quotes. Say what failed.",
    "in-cause": "The cause is the client's error as it was, request and all. Keep its name, code and status only.",
    "in-property": "The error carries more than it says: a request, a context, a response.",
  },
  async run(bench, fail) {
    const provoked = await provoke(bench);
    if (provoked.errors.length === 0) bench.notApplicable("No call of it failed, whatever was done to it.");
    for (const { operation, error } of provoked.errors) {
      const { own, causes, rest } = textsOf(error);
      const places = [
        { reason: "in-message", texts: own, where: "message" },
        { reason: "in-cause", texts: causes, where: "cause" },
        { reason: "in-property", texts: rest, where: "properties" },
      ] as const;
      for (const { reason, texts, where } of places) {
        const what = found(texts, provoked);
        if (what !== undefined) fail(reason, `The ${what} stood in the ${where} of an error of ${operation}.`);
      }
    }
  },
});

const events = defineCheck({
  id: "privacy/events",
  clause: "MEM-PRV-02",
  title: "No event holds a text, a query, a scope's value, a secret or the credential",
  slow: true,
  reasons: { "in-event": "An event carries what it is about. It has codes, counts, durations and ids of rules only." },
  async run(bench, fail) {
    const provoked = await provoke(bench);
    if (provoked.events.length === 0) bench.notApplicable("It reported no events.");
    const what = found(provoked.events.flatMap(spelledOut), provoked);
    if (what !== undefined) fail("in-event", `The ${what} stood in an event.`);
  },
});

const logs = defineCheck({
  id: "privacy/logs",
  clause: "MEM-PRV-03",
  title: "Nothing that is written to the process's output holds any of these",
  slow: true,
  reasons: { "in-log": "It logs what it handles. Report an event instead, without the content." },
  async run(bench, fail) {
    const provoked = await provoke(bench);
    const what = found([provoked.logged.join(""), ...provoked.logged], provoked);
    if (what !== undefined) fail("in-log", `The ${what} was written to the process's output.`);
  },
});

const credential = defineCheck({
  id: "privacy/credential",
  clause: "MEM-PRV-04",
  title: "The credential goes to the backend, and nowhere else",
  slow: true,
  reasons: {
    "in-error": "An error holds the credential, such as in the headers of the request that failed.",
    "in-event": "An event holds the credential.",
    "in-log": "The credential is logged, such as with the options it came in.",
    "in-memory": "The credential is kept or shown as if it were a memory.",
  },
  async run(bench, fail) {
    const { errors: thrown, credential: ours, ...provoked } = await provoke(bench);
    const places = [
      { reason: "in-error", texts: thrown.flatMap(({ error }) => Object.values(textsOf(error)).flat()) },
      { reason: "in-event", texts: provoked.events.flatMap(spelledOut) },
      { reason: "in-log", texts: [provoked.logged.join("")] },
      { reason: "in-memory", texts: provoked.answers },
    ] as const;
    for (const { reason, texts } of places) {
      if (holds(texts, ours.word)) fail(reason, "The credential was found there.");
    }
    if (ours.isStored) fail("in-memory", "The backend holds the credential.");
    if (!ours.isSent) bench.notApplicable("It sends no credential to its backend.");
  },
});

export const privacy: Family = defineFamily({
  name: "privacy",
  clauses: [
    {
      id: "MEM-PRV-01",
      level: "MUST",
      profile: "strict",
      sentence:
        "No error holds memory text, a query, a scope's value, a secret, or a request's or response's body, in its message, cause or properties.",
      source: "C7",
    },
    {
      id: "MEM-PRV-02",
      level: "MUST",
      profile: "strict",
      sentence: "No event holds memory text, a query, a scope's value, a secret or a credential.",
      source: "C7, C8",
    },
    {
      id: "MEM-PRV-03",
      level: "MUST",
      profile: "strict",
      sentence: "Nothing of these is logged.",
      source: "C7, P18",
    },
    {
      id: "MEM-PRV-04",
      level: "MUST",
      profile: "base",
      sentence: "A credential stands in no error, event, log, recalled text or stored record.",
      source: "P18, C7",
    },
  ],
  checks: [errors, events, logs, credential],
  mutants: [
    {
      id: "privacy/body-in-message",
      flaw: "Says in the error's message which request failed, body and all.",
      kills: { "privacy/errors": "in-message" },
      spares: ["privacy/events", "privacy/credential"],
      store: (store) => ({
        ...store,
        put: (scope, record, signal) =>
          store.put(scope, record, signal).catch((cause: unknown) => {
            throw new MemoryError("backend_failed", `PUT ${JSON.stringify(record)} failed.`, { cause });
          }),
      }),
    },
    {
      id: "privacy/raw-cause",
      flaw: "Keeps the client's own error as the cause, and that one keeps the request.",
      kills: { "privacy/errors": "in-cause" },
      spares: ["privacy/events", "privacy/credential"],
      parts: () => ({ asError: (cause) => new Error("The memory store failed.", { cause }) }),
      store: (store) => ({
        ...store,
        put: (scope, record, signal) =>
          store.put(scope, record, signal).catch(() => {
            throw Object.assign(new Error("Request failed."), { config: { data: { record } } });
          }),
      }),
    },
    {
      id: "privacy/scope-in-error",
      flaw: "Puts the scope that a call was for beside its error.",
      kills: { "privacy/errors": "in-property" },
      spares: ["privacy/events", "privacy/logs"],
      provider: (provider) =>
        failing(provider, (error, { memory }) => Object.assign(Object(error), { scope: memory.scope })),
    },
    {
      id: "privacy/event-with-text",
      flaw: "Reports what it is about to look for.",
      kills: { "privacy/events": "in-event" },
      spares: ["privacy/errors", "privacy/credential"],
      provider: (provider, { onEvent }) =>
        lookingAt(provider, ({ memory, turn }) => {
          const event = { code: "recall_completed" as const, slot: memory.slot, query: turn?.input };
          onEvent?.(event);
        }),
    },
    {
      id: "privacy/logs-the-turn",
      flaw: "Prints every turn, for debugging.",
      kills: { "privacy/logs": "in-log" },
      spares: ["privacy/errors", "privacy/events"],
      provider: (provider) => lookingAt(provider, ({ turn }) => console.log("memory:", turn?.input)),
    },
    {
      id: "privacy/headers-in-error",
      flaw: "Puts the request's headers beside the error.",
      kills: { "privacy/credential": "in-error", "privacy/errors": "in-property" },
      spares: ["privacy/events", "privacy/logs"],
      subject: ({ create }) => ({
        create: async (context) =>
          failing(await create(context), (error) => Object.assign(Object(error), { headers: headersOf(context) })),
      }),
    },
    {
      id: "privacy/options-in-event",
      flaw: "Reports an event with what it was made from.",
      kills: { "privacy/credential": "in-event" },
      spares: ["privacy/errors", "privacy/logs"],
      subject: ({ create }) => ({
        create: async (context) => {
          context.onEvent({ code: "turn_started", slot: JSON.stringify(headersOf(context)) });
          return create(context);
        },
      }),
    },
    {
      id: "privacy/options-in-log",
      flaw: "Prints its options when it is made.",
      kills: { "privacy/credential": "in-log", "privacy/logs": "in-log" },
      spares: ["privacy/errors"],
      subject: ({ create }) => ({
        create: async (context) => {
          console.info("memory options", headersOf(context));
          return create(context);
        },
      }),
    },
    {
      id: "privacy/credential-recalled",
      flaw: "Says in what it recalls where that was fetched, key included.",
      kills: { "privacy/credential": "in-memory" },
      spares: ["privacy/errors", "privacy/logs"],
      subject: ({ create }) => ({
        create: async (context) =>
          answering(
            await create(context),
            (result) =>
              result && {
                messages: result.messages.map(({ id, content }) => ({
                  ...(id === undefined ? {} : { id }),
                  content: `${content}\n(${headersOf(context).authorization})`,
                })),
              },
          ),
      }),
    },
  ],
});

function headersOf({ credential: key }: CreateContext) {
  return { authorization: `Bearer ${key}` };
}

/** Something is done to what recall and capture throw. */
function failing(provider: MemoryProvider, change: (error: unknown, context: OperationContext) => unknown) {
  return between(provider, async (call) => {
    try {
      return await asMethod(call);
    } catch (error) {
      throw change(error, call.context as OperationContext); // tools() of the reference does not throw
    }
  });
}

/** Which of the secrets stands in one of the texts. */
function found(texts: readonly string[], { secrets }: Pick<Provoked, "secrets">): string | undefined {
  return secrets.find(({ word }) => holds(texts, word))?.what;
}

/** All that can be read off an error, by where it stands. */
function textsOf(error: unknown): Readonly<Record<"own" | "causes" | "rest", readonly string[]>> {
  const causes: string[] = [];
  const seen = new Set<unknown>([error]);
  for (let cause: unknown = causeOf(error); cause !== undefined && !seen.has(cause); cause = causeOf(cause)) {
    seen.add(cause);
    causes.push(...spelledOut(cause));
  }
  const own = ["name", "message", "stack"].map((key) => String(Reflect.get(Object(error), key)));
  return { own: [...own, String(error)], causes, rest: spelledOut(error) };
}

function causeOf(error: unknown): unknown {
  return Reflect.get(Object(error), "cause");
}
