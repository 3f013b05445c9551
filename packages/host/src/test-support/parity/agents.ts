/** The same agent on the real eve and on this host: the same slots, the same scripted model, the same traces. */
import {
  defineMemory as defineOurs,
  type MemoryCompactionRequestedContext,
  type MemoryDefinition,
  type MemoryProvider,
  type MemoryTurnContext,
  type ModelMessage,
  messageKind,
} from "@keepsake/core";
import { EveAgent, type Prompt, type Reply, scriptedModel } from "@keepsake/testing";
import { isStepCount, streamText } from "ai";
import { defineMemory as defineEves } from "eve/memory";
import { createMemoryHost, type MemorySession } from "../../index.ts";
import { ann, type ParityAgent, type Trace, type TurnOptions } from "./script.ts";

const sessionId = "session";
const system = "You are helpful.";

/** A user's `call slot__tool {...}` makes the model call it; to anything else it says ok. */
function respond({ messages }: Prompt): Reply {
  const call = /^user: call (\S+) (.*)$/s.exec(messages.at(-1) ?? "");
  return call === null ? "ok" : { toolName: call[1] ?? "", input: JSON.parse(call[2] ?? "") };
}

/** A summary, and a trace that tells whether recalled text reached whoever made it. */
function summaryTrace(shown: string): Trace {
  return { summarised: true, withMemory: shown.includes("mem") };
}

function promptTraces(prompt: Prompt): Trace {
  return {
    prompt: prompt.messages.filter((message) => !message.startsWith("system:")).map(inOneWording),
    tools: prompt.tools.map(({ name, description, inputSchema }) => {
      const { $schema: _dialect, ...schema } = Object(inputSchema) as Record<string, unknown>;
      return { name, description, schema };
    }),
    results: prompt.toolResults.map(({ output }) => JSON.parse(inOneWording(JSON.stringify(output)))),
  };
}

/** Each host says in its own words that a summary follows, and what a schema has against an input. */
function inOneWording(message: string): string {
  return message
    .replace(/^(user.*): Summary of (?:our|the) conversation so far:$/, "$1: (summary)")
    .replace(/Error message: (?:\[.*\]|[^"\\]*)/s, "Error message: (issues)");
}

type Slots = Readonly<Record<string, MemoryDefinition>>;

export function eveAgent(slots: Slots, traces: Trace[], appRoot: string): ParityAgent {
  const agent = new EveAgent({
    memories: watched(slots, traces, defineEves as never),
    sessionId,
    appRoot,
    respond: (prompt) => {
      if (!prompt.messages.includes(`system: ${system}`)) {
        traces.push(summaryTrace(prompt.messages.join("\n")));
        return "SUMMARY";
      }
      traces.push(promptTraces(prompt));
      return respond(prompt);
    },
  });
  const ending = async (run: () => Promise<unknown>): Promise<void> => {
    try {
      await run();
      traces.push({ ended: "well" });
    } catch (error) {
      traces.push({ ended: error instanceof Error && error.name === "TurnCancelledError" ? "cancelled" : "failed" });
    }
  };
  return {
    turn: (text, { as = ann, ...options } = {}) => ending(() => agent.turn(text, { principal: as, ...options })),
    compact: () => ending(() => agent.compact()),
    clear: () => ending(() => agent.clear()),
  };
}

export function keepsakeAgent(slots: Slots, traces: Trace[], appRoot: string): ParityAgent {
  const host = createMemoryHost({
    slots: watched(slots, traces, defineOurs),
    allowSharedPartitions: true,
    appRoot,
    randomId: () => sessionId,
  });
  const model = scriptedModel((prompt) => {
    traces.push(promptTraces(prompt));
    return respond(prompt);
  });
  let session: MemorySession | undefined;
  const summarize = (messages: readonly ModelMessage[]): string => {
    traces.push(summaryTrace(JSON.stringify(messages)));
    return "SUMMARY";
  };
  const ending = async (run: () => Promise<unknown>, signal?: AbortSignal): Promise<void> => {
    try {
      await run();
      traces.push({ ended: "well" });
    } catch {
      traces.push({ ended: signal?.aborted === true ? "cancelled" : "failed" });
    }
    // As between two requests to a deployed agent.
    if (session !== undefined) session = host.session({ state: JSON.parse(JSON.stringify(session.state)) });
  };
  const turn = async (text: string, { as = ann, abortSignal, compact = false }: TurnOptions): Promise<void> => {
    session ??= host.session({ auth: as });
    const signal = abortSignal === undefined ? {} : { abortSignal };
    const { tools, ...handle } = await session.startTurn(text, { auth: as, ...signal });
    const { messages } = compact ? await session.compact({ summarize, keepMessages: 0 }) : handle;
    const result = streamText({
      model,
      system,
      messages,
      tools,
      stopWhen: isStepCount(5),
      onError: () => {},
      ...signal,
    });
    await session.completeTurn({ responseMessages: await result.responseMessages });
  };
  return {
    turn: (text, options = {}) => ending(() => turn(text, options), options.abortSignal),
    compact: (keepMessages = 1) => ending(async () => session?.compact({ summarize, keepMessages })),
    clear: () => ending(async () => session?.clear()),
  };
}

/** Slots whose providers leave a trace of every call, made with the host's own definer. */
function watched(slots: Slots, traces: Trace[], define: (definition: MemoryDefinition) => MemoryDefinition): Slots {
  return Object.fromEntries(
    Object.entries(slots).map(([name, { provider, ...definition }]) => [
      name,
      define({ ...definition, provider: watchedProvider(name, provider, traces) }),
    ]),
  );
}

function watchedProvider(slot: string, provider: MemoryProvider, traces: Trace[]): MemoryProvider {
  const watch = <H extends object | undefined>(handlers: H, of: string): H =>
    (handlers === undefined
      ? undefined
      : Object.fromEntries(
          Object.entries(handlers).map(([phase, handler]: [string, (context: never) => unknown]) => [
            phase,
            (context: MemoryTurnContext) => {
              traces.push(callTrace(`${slot}: ${of} ${phase}`, context));
              return handler(context as never);
            },
          ]),
        )) as H;
  const capture = watch(provider.capture, "capture");
  return {
    recall: watch(provider.recall, "recall"),
    ...(capture === undefined ? {} : { capture }),
    ...(provider.tools === undefined ? {} : { tools: provider.tools }),
  };
}

function callTrace(call: string, context: MemoryTurnContext & Partial<MemoryCompactionRequestedContext>): Trace {
  const { memory, messages, operationId, session, turn } = context;
  return {
    call,
    operationId,
    members: Object.keys(context).sort(),
    memory: { slot: memory.slot, scope: { ...memory.scope } },
    messages: messages.map(messageTrace).map(inOneWording),
    session: { id: session.id, auth: session.auth, turn: session.turn },
    turn: turn === null ? null : { id: turn.id, sequence: turn.sequence, input: turn.input.map(messageTrace) },
    compacts: "compaction" in context ? Object.keys(Object(context.compaction)).sort() : "no",
  };
}

function messageTrace(message: ModelMessage): string {
  const { role, content } = message;
  const kind = messageKind(message);
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "tool-call") return `${part.toolName} ${JSON.stringify(part.input)}`;
    return part.type === "tool-result" ? JSON.stringify(part.output) : part.type;
  });
  return `${role}${kind === undefined || kind === "user" ? "" : ` (${kind})`}: ${texts.join(" ")}`;
}
