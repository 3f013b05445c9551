/** Conversations with a provider through a real host: what a person tells, and what then stands in the prompt. */
import { defineMemory, type MemoryDefinition, type MemoryToolSet, type Principal } from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import {
  createMemoryHost,
  type MemoryHost,
  type MemorySession,
  type MemoryTurnHandle,
  type StartTurnOptions,
} from "@keepsake/host";
import type { Bench } from "../bench.ts";
import { Hung } from "../time/wait.ts";
import { type Handle, ProviderThrew } from "./handle.ts";

export type Slots = Readonly<Record<string, Omit<MemoryDefinition, "provider">>>;

const answer = { role: "assistant" as const, content: "Understood." };

export class Hosted {
  readonly #bench: Bench;
  readonly #handle: Handle;
  readonly #slots: Slots;
  readonly host: MemoryHost;

  /** One provider instance in every slot. */
  constructor(bench: Bench, handle: Handle, slots: Slots) {
    this.#bench = bench;
    this.#handle = handle;
    this.#slots = slots;
    try {
      const definitions = Object.entries(slots).map(([name, slot]) => {
        return [name, defineMemory({ ...slot, provider: handle.provider })];
      });
      this.host = createMemoryHost({ slots: Object.fromEntries(definitions), clock: bench.time.clock });
    } catch (error) {
      throw new ProviderThrew("createMemoryHost()", error);
    }
  }

  /** Has something remembered in a session of its own: said, where the provider captures, else by the slot's save tool. */
  async tell(text: string, options: StartTurnOptions & { readonly slot: string }): Promise<void> {
    const { slot, ...turnOptions } = options;
    const session = this.host.session();
    const path = this.#bench.writePaths[0];
    if (path === "import") return this.#import(text, slot);
    const turn = await this.start(session, path === "capture" ? text : "Please keep this.", turnOptions);
    if (path === "tool") await this.useTool(turn, slot, "save", text);
    await this.complete(session);
  }

  start(session: MemorySession, input: string, options: StartTurnOptions = {}): Promise<MemoryTurnHandle> {
    return this.driven("startTurn", session.startTurn(input, options));
  }

  complete(session: MemorySession): Promise<void> {
    return this.driven("completeTurn", session.completeTurn({ responseMessages: [answer] }));
  }

  /** A whole turn. Answers the prompts in which its memory may be: of the turn, and of the one before where it is late. */
  async ask(session: MemorySession, query: string, options: StartTurnOptions = {}): Promise<Prompts> {
    const all: string[] = [];
    const turns = this.#bench.facts.capabilities.freshness === "previous-turn" ? 2 : 1;
    for (let turn = 0; turn < turns; turn += 1) {
      const { messages } = await this.start(session, query, options);
      all.push(JSON.stringify(messages));
      await this.complete(session);
    }
    return { last: all.at(-1) ?? "", all: all.join("\n") };
  }

  /** Calls a tool of one slot as a model would. `undefined` where the slot offers none of that kind. */
  async useTool(turn: MemoryTurnHandle, slot: string, kind: "save" | "search", text: string): Promise<unknown> {
    const prefix = `${slot}__`;
    const own = Object.entries(turn.tools).filter(([name]) => name.startsWith(prefix));
    const tools = Object.fromEntries(own.map(([name, tool]) => [name.slice(prefix.length), tool]));
    // For guessing, a tool of a host is as good as the provider's: it has the same name and schema.
    const guess = this.#handle.guess(tools as unknown as MemoryToolSet)[kind];
    const tool = guess === undefined ? undefined : tools[guess.name];
    if (guess === undefined || tool === undefined) return undefined;
    return this.driven(`tool "${guess.name}"`, tool.execute(guess.input(text)));
  }

  /** Waits for the host, moving time on where nothing else can happen. What fails in it is the provider's doing. */
  async driven<T>(operation: string, call: Promise<T>): Promise<T> {
    const { time, busy } = this.#bench;
    const outcome = await time.drive(call, { limitMs: time.mode === "real" ? 10_000 : 120_000, busy, patient: true });
    if (outcome.state === "fulfilled") return outcome.value;
    if (outcome.state === "rejected") throw new ProviderThrew(operation, outcome.error);
    throw new Hung(`${operation} settled`, "everything else had happened");
  }

  async #import(text: string, slot: string): Promise<void> {
    const { namespace, scope } = this.#slots[slot] ?? {};
    if (typeof namespace !== "string" || typeof scope !== "string") {
      this.#bench.untestable("It is written to by import only, for which the scope has to be known.");
    }
    await this.#handle
      .person({ scope, namespace, key: scopeKey({ namespace, scope }) })
      .write(text, { path: "import" });
  }
}

interface Prompts {
  readonly last: string;
  readonly all: string;
}

export function signedIn(principalId: string): Principal {
  return { attributes: {}, authenticator: "conformance", principalId, principalType: "user" };
}
