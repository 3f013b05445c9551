/** Scripts that are played to the real eve and to this host, and what is compared of them. */
import type {
  MemoryDefinition,
  MemoryProvider,
  MemoryRecallMessage,
  MemoryRecallResult,
  MemoryTool,
  Principal,
} from "@keepsake/core";

/** One thing that happened, as data that two systems can be compared by. */
export type Trace = Readonly<Record<string, unknown>>;

export interface TurnOptions {
  /** Who speaks; Ann unless said otherwise. */
  readonly as?: Principal | null;
  readonly abortSignal?: AbortSignal;
  /** Compacts before the model's first step. */
  readonly compact?: boolean;
}

/** An agent with memory, whichever host runs it. How a call ended stands in the trace; none throws. */
export interface ParityAgent {
  turn(text: string, options?: TurnOptions): Promise<void>;
  /** @param keepMessages How many messages ours keeps; eve keeps one, whatever is asked. Default 1. */
  compact(keepMessages?: number): Promise<void>;
  clear(): Promise<void>;
}

/** Slots, and what is done with an agent that has them. */
export interface Scene {
  readonly slots: Readonly<Record<string, MemoryDefinition>>;
  readonly play: (agent: ParityAgent) => Promise<void>;
}

export interface ParityScript {
  /** The clause of eve's observed behaviour that it shows. */
  readonly clause: string;
  readonly title: string;
  /** Set anew for each system. What it notes is part of the traces. */
  readonly scene: (note: (what: unknown) => void) => Scene;
  /** The application's root folder. Default `/app`. */
  readonly appRoot?: string;
  /** What of the traces is compared. Everything, unless said otherwise. */
  readonly look?: (traces: readonly Trace[]) => unknown;
  /** Ours does something else on purpose. What each system shows is pinned, and both must stay as they are. */
  readonly differs?: { readonly because: string; readonly eve: unknown; readonly keepsake: unknown };
}

export const ann: Principal = { attributes: {}, authenticator: "test", principalId: "ann", principalType: "user" };
export const ben: Principal = { ...ann, principalId: "ben" };

/** A slot in one scope that everybody shares, over a provider whose handlers are given. */
export function slot(
  handlers: Partial<MemoryProvider["recall"]> & {
    readonly capture?: MemoryProvider["capture"];
    readonly tools?: MemoryProvider["tools"];
  },
  definition: Partial<Omit<MemoryDefinition, "provider">> = {},
): MemoryDefinition {
  const { capture, tools, ...recall } = handlers;
  const provider: MemoryProvider = {
    recall: { "turn.started": () => null, ...recall },
    ...(capture === undefined ? {} : { capture }),
    ...(tools === undefined ? {} : { tools }),
  };
  return { namespace: "app", scope: "everyone", provider, ...definition };
}

/** A recall that answers one of these after the other, and the last ever after. */
export function inTurn(...results: readonly unknown[]): () => MemoryRecallResult {
  let calls = 0;
  return () => {
    const result = results[Math.min(calls, results.length - 1)];
    calls += 1;
    if (result instanceof Error) throw result;
    return result as MemoryRecallResult;
  };
}

/** Keyed messages by id. */
export function keyed(texts: Readonly<Record<string, string>>): { messages: MemoryRecallMessage[] } {
  return { messages: Object.entries(texts).map(([id, content]) => ({ id, content })) };
}

export function unkeyed(...texts: readonly string[]): { messages: MemoryRecallMessage[] } {
  return { messages: texts.map((content) => ({ content })) };
}

/** What the model was shown, in every step. */
export function prompts(traces: readonly Trace[]): unknown[] {
  return traces.filter((trace) => "prompt" in trace).map((trace) => trace.prompt);
}

/** Of what the model was shown, the recalled texts, which scripts begin with `mem`, and what was asked last. */
export function memories(traces: readonly Trace[]): unknown[] {
  return (prompts(traces) as string[][]).map((prompt) => [
    ...prompt.filter((message) => message.startsWith("user: mem")),
    prompt.at(-1),
  ]);
}

/** Calls of handlers, each with what is asked for of it. */
export function calls(...members: readonly string[]): (traces: readonly Trace[]) => unknown[] {
  return (traces) =>
    traces.filter((trace) => "call" in trace).map((trace) => [trace.call, ...members.map((member) => trace[member])]);
}

/** Plays one turn after the other. */
export function says(...texts: readonly string[]): (agent: ParityAgent) => Promise<void> {
  return async (agent) => {
    for (const text of texts) await agent.turn(text);
  };
}

export function notes(traces: readonly Trace[]): unknown[] {
  return traces.filter((trace) => "note" in trace).map((trace) => trace.note);
}

export function outcomes(traces: readonly Trace[]): unknown[] {
  return traces.filter((trace) => "ended" in trace).map((trace) => trace.ended);
}

/** A tool as any host takes it, without a schema library. */
export const pong: MemoryTool = {
  description: "Answers pong.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  execute: () => "pong",
  [Symbol.for("eve:tool-brand")]: true,
} as MemoryTool;
