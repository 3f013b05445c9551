/** Somebody who talks with an agent that has this memory: turns, recalls, captures, tool calls, and all that can be read. */
import type {
  MemoryMaintenance,
  MemoryRecallMessage,
  MemorySlotInfo,
  MemoryToolSet,
  ModelMessage,
} from "@keepsake/core";
import { Hung, settlesWithin } from "../time/wait.ts";
import type { Canary } from "./canary.ts";
import { operationContext, type Turn, toolContext } from "./contexts.ts";
import type { WritePath } from "./facts.ts";
import { type Handle, ProviderThrew, slotInfo } from "./handle.ts";
import { recalledMessage, userMessage } from "./messages.ts";

export interface PersonOptions {
  readonly scope: string | readonly string[];
  readonly namespace?: string;
  /** A scope key as it is, instead of one derived from namespace and scope. */
  readonly key?: string;
  readonly slot?: string;
  readonly session?: string;
  /** Its calls wait for time to pass, which leaps as soon as nothing else is going on. Default: while the backend fails. */
  readonly hurried?: boolean;
}

export interface Recalled {
  /** As the provider answered; `null` for nothing. */
  readonly messages: readonly MemoryRecallMessage[] | null;
  /** All contents, joined by line breaks. */
  readonly text: string;
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly operationId?: string;
}

export interface RecallOptions extends AskOptions {
  readonly phase?: "turn.started" | "compaction.completed";
  /** What the host has in front of the turn. Default: this session so far. */
  readonly messages?: readonly ModelMessage[];
  readonly standalone?: boolean;
}

export interface CaptureOptions extends AskOptions {
  readonly phase?: "turn.completed" | "compaction.requested";
  /** The settled history. Default: what went before, the turn's input, and an answer. */
  readonly messages?: readonly ModelMessage[];
  readonly standalone?: boolean;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Tools that were made before. Default: made for this call. */
  readonly tools?: MemoryToolSet;
  readonly callId?: string;
  readonly turn?: Turn;
}

/** Something that was written, and how to write it once more as the same operation. */
export interface Written {
  readonly text: string;
  readonly path: WritePath;
  readonly turn: Turn;
  readonly callId: string;
  /** What a save tool answered. */
  readonly result: unknown;
}

/** What one read path showed. */
export interface Reading {
  /** `recall`, `search`, `list`, `export`. */
  readonly path: string;
  readonly text: string;
}

const answer: ModelMessage = { role: "assistant", content: "Understood." };
const never = new AbortController().signal;
let counter = 0;

export class Person {
  readonly memory: MemorySlotInfo;
  readonly #handle: Handle;
  readonly #options: PersonOptions;
  readonly #sessionId: string;
  readonly #history: ModelMessage[] = [];
  #turns = 0;

  constructor(handle: Handle, options: PersonOptions) {
    counter += 1;
    this.#handle = handle;
    this.#options = options;
    this.#sessionId = options.session ?? `chat:C0:${process.pid}.${counter}`;
    this.memory = slotInfo(options);
  }

  get key(): string {
    return this.memory.scope.key;
  }

  get handle(): Handle {
    return this.#handle;
  }

  /** The same person in a new session, of this instance or another. */
  again(handle: Handle = this.#handle, changes: Pick<PersonOptions, "hurried"> = {}): Person {
    const { session: _, ...options } = this.#options;
    return new Person(handle, { ...options, ...changes });
  }

  /** A new turn of this session, begun by these words. The provider is not asked. */
  begin(said: string | readonly ModelMessage[]): Turn {
    const sequence = this.#turns;
    this.#turns += 1;
    const input = typeof said === "string" ? [userMessage(said)] : said;
    return { sessionId: this.#sessionId, id: `turn_${sequence}`, sequence, input, history: [...this.#history] };
  }

  async recall(about: string | Turn, options: RecallOptions = {}): Promise<Recalled> {
    const turn = typeof about === "string" ? this.begin(about) : about;
    const { phase = "turn.started", messages = turn.history, signal = never, operationId, standalone } = options;
    const context = operationContext({ phase, memory: this.memory, turn, messages, signal, operationId, standalone });
    const result = await this.#ask("recall", () => {
      const { recall } = this.#handle.provider;
      return phase === "turn.started" ? recall[phase](context as never) : recall[phase]?.(context as never);
    });
    const recalled = result?.messages ?? [];
    if (!Array.isArray(recalled)) throw new ProviderThrew("recall", new TypeError("recall answered no messages"));
    return {
      messages: result === null || result === undefined ? null : recalled,
      text: recalled.map((message) => String(Object(message).content)).join("\n"),
    };
  }

  async capture(turn: Turn, options: CaptureOptions = {}): Promise<void> {
    const { phase = "turn.completed", signal = never, operationId, standalone } = options;
    const messages = options.messages ?? [...turn.history, ...turn.input, answer];
    const context = operationContext({ phase, memory: this.memory, turn, messages, signal, operationId, standalone });
    await this.#ask("capture", async () => {
      const handler = this.#handle.provider.capture?.[phase];
      await handler?.(context as never);
    });
  }

  /** A whole turn, as a host runs it: recall, an answer, capture. Answers what was recalled. */
  async say(text: string | readonly ModelMessage[]): Promise<Recalled> {
    const turn = this.begin(text);
    const recalled = await this.recall(turn);
    const records = (recalled.messages ?? []).map(({ content }) => recalledMessage(content));
    const settled = [...turn.history, ...records, ...turn.input, answer];
    await this.capture(turn, { messages: settled });
    this.#history.splice(0, Number.POSITIVE_INFINITY, ...settled);
    return recalled;
  }

  toolset(turn: Turn = this.begin("")): Promise<MemoryToolSet> {
    return this.#ask("tools", () => this.#handle.toolset(this.memory, turn));
  }

  async call(name: string, input: unknown, options: CallOptions = {}): Promise<unknown> {
    counter += 1;
    const { turn = this.begin(""), callId = `call-${process.pid}-${counter}`, signal = never } = options;
    const tools = options.tools ?? (await this.toolset(turn));
    const context = toolContext({ memory: this.memory, turn, tool: name, callId, signal });
    return this.#ask(`tool "${name}"`, async () => {
      const tool = tools[name];
      if (tool === undefined) throw new TypeError("The tool is not offered any more.");
      return tool.execute(input as never, context);
    });
  }

  /** Writes as the provider is written to: by capture, by its save tool, or by import. */
  async write(text: string, options: CallOptions & { readonly path?: WritePath } = {}): Promise<Written> {
    counter += 1;
    const path = options.path ?? this.#handle.facts?.writePaths[0] ?? "capture";
    const { turn = this.begin(text), callId = `call-${process.pid}-${counter}`, signal = never } = options;
    const written = { text, path, turn, callId };
    if (path === "capture") {
      await this.capture(turn, { signal });
      return { ...written, result: undefined };
    }
    if (path === "tool") return { ...written, result: await this.save(text, { turn, callId, signal }) };
    const { maintenance } = this.#handle.declaration ?? {};
    const lines = [{ type: "memory" as const, id: callId, text }];
    const result = await this.#ask("import", async () => maintenance?.import({ key: this.key, lines, signal }));
    return { ...written, result };
  }

  async save(text: string, options: CallOptions = {}): Promise<unknown> {
    const { save } = this.#handle.guess(await this.toolset());
    if (save === undefined) throw new TypeError("There is no save tool."); // the kit's own fault: a check must need it
    return this.call(save.name, save.input(text), options);
  }

  async search(query: string, options: CallOptions = {}): Promise<unknown> {
    const { search } = this.#handle.guess(await this.toolset());
    if (search === undefined) throw new TypeError("There is no search tool.");
    return this.call(search.name, search.input(query), options);
  }

  /** The same operation once more, here or at another instance. */
  repeat(written: Written, options: CallOptions = {}): Promise<Written> {
    const { text, path, turn, callId } = written;
    return this.write(text, { ...options, path, turn, callId });
  }

  /** Inputs by which the forget tool may know a memory, the one that was found to work first. */
  async forgetInputs(memory: Canary, saved: unknown = undefined): Promise<readonly { how: string; input: unknown }[]> {
    const guess = this.#handle.guess(await this.toolset());
    const { text: recalled } = await this.recall(memory.query);
    const found = guess.search === undefined ? undefined : await this.search(memory.query);
    const inputs = guess.forget?.inputs({ text: memory.text, word: memory.word, saved, recalled, found }) ?? [];
    const known = inputs.find(({ how }) => how === this.#handle.facts?.forgetHow);
    return known === undefined ? inputs : [known, ...inputs.filter((input) => input !== known)];
  }

  /** Forgets by the provider's own tool, as a model would: knowing what was recalled and answered. */
  async forget(memory: Canary, saved: unknown = undefined, options: CallOptions = {}): Promise<unknown> {
    const { forget } = this.#handle.guess(await this.toolset());
    const [first] = await this.forgetInputs(memory, saved);
    if (forget === undefined || first === undefined) throw new TypeError("There is no way to forget.");
    return this.call(forget.name, first.input, options);
  }

  /** Deletes everything of this person's, as an operator would. */
  async erase(): Promise<void> {
    const { maintenance } = this.#handle.declaration ?? {};
    await this.#ask("erase", async () => maintenance?.erase({ key: this.key }));
  }

  /** Everything that every read path shows when asked about this. */
  async readings(query: string): Promise<readonly Reading[]> {
    const readings: Reading[] = [{ path: "recall", text: await this.recalls(query) }];
    const { search } = this.#handle.guess(await this.toolset());
    if (search !== undefined) readings.push({ path: "search", text: JSON.stringify(await this.search(query)) ?? "" });
    const { maintenance } = this.#handle.declaration ?? {};
    if (maintenance !== undefined) {
      const listed = await this.#ask("list", () => maintenance.list({ key: this.key, limit: 1_000 }));
      const exported = await this.#ask("export", () => collect(maintenance.export({ key: this.key })));
      readings.push({ path: "list", text: JSON.stringify(listed) }, { path: "export", text: JSON.stringify(exported) });
    }
    return readings;
  }

  /** What its operator's part answers, which a check has to need. `operation` names the call in a failure. */
  maintain<T>(operation: string, call: (maintenance: MemoryMaintenance, key: string) => T | Promise<T>): Promise<T> {
    return this.#ask(operation, () => {
      const { maintenance } = this.#handle.declaration ?? {};
      if (maintenance === undefined) throw new TypeError("There is no maintenance."); // a check must need it
      return call(maintenance, this.key);
    });
  }

  /** What a new session of this person recalls. */
  async recalls(query: string): Promise<string> {
    return (await this.recalled(query)).text;
  }

  /** The same, message by message. */
  async recalled(query: string): Promise<Recalled> {
    const person = this.again();
    // A provider that is one turn behind says by its second turn what it found in its first.
    if (this.#handle.facts?.capabilities.freshness === "previous-turn") await person.say(query);
    return person.recall(query);
  }

  async knows(memory: Canary): Promise<boolean> {
    return (await this.recalls(memory.query)).toLowerCase().includes(memory.word);
  }

  /** Every call of the provider ends, is watched, and is blamed on the provider when it fails. */
  async #ask<T>(operation: string, call: () => T | Promise<T>): Promise<T> {
    const { time, busy, isFaulty } = this.#handle;
    const running = (async () => call())();
    const limitMs = time.mode === "real" ? 10_000 : 120_000;
    const hurried = this.#options.hurried ?? isFaulty();
    const driven = await time.drive(running, { limitMs, busy, patient: !hurried });
    // What was hurried past may have waited for something that the kit cannot see.
    const late = driven.state === "pending" && hurried && time.mode !== "real";
    const outcome = late ? await settlesWithin(running, 1_000) : driven;
    if (outcome.state === "fulfilled") return outcome.value;
    if (outcome.state === "rejected") throw new ProviderThrew(operation, outcome.error);
    throw new Hung(`${operation} settled`, "everything else had happened");
  }
}

/** Everything that a stream has to say. */
export async function collect<T>(items: AsyncIterable<T> | Iterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
