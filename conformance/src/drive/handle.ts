/** One instance of the provider under judgement, with what it says about itself and to its listener. */
import {
  describeProvider,
  type MemoryEvent,
  type MemoryProvider,
  type MemoryProviderDeclaration,
  type MemorySlotInfo,
  type MemoryToolSet,
} from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import type { Connection } from "../backend.ts";
import type { Subject } from "../subject/define.ts";
import type { KitClock } from "../time/kit-clock.ts";
import { type Turn, toolsContext } from "./contexts.ts";
import type { Facts } from "./facts.ts";
import { Person, type PersonOptions } from "./person.ts";
import { guessTools, type ToolGuess } from "./tool-guess.ts";

export interface HandleOptions {
  readonly subject: Subject;
  readonly connection: Connection | undefined;
  readonly time: KitClock;
  readonly credential: string;
  /** Of everybody who says no other. */
  readonly namespace: string;
  readonly busy: () => boolean;
  /** Whether its backend fails just now. Default: never. */
  readonly isFaulty?: () => boolean;
  readonly ttlMs?: number | undefined;
}

/** The provider threw, or rejected: its own doing, not the kit's. */
export class ProviderThrew extends Error {
  readonly operation: string;
  readonly error: unknown;

  constructor(operation: string, error: unknown) {
    super(`${operation} failed`);
    this.name = "ProviderThrew";
    this.operation = operation;
    this.error = error;
  }
}

export class Handle {
  readonly provider: MemoryProvider;
  readonly events: MemoryEvent[];
  readonly time: KitClock;
  readonly busy: () => boolean;
  readonly isFaulty: () => boolean;
  readonly #options: HandleOptions;
  /** Absent while the provider is being looked at for the first time. */
  readonly facts: Facts | undefined;

  private constructor(
    provider: MemoryProvider,
    events: MemoryEvent[],
    options: HandleOptions,
    facts: Facts | undefined,
  ) {
    this.provider = provider;
    this.events = events;
    this.time = options.time;
    this.busy = options.busy;
    this.isFaulty = options.isFaulty ?? (() => false);
    this.#options = options;
    this.facts = facts;
  }

  static async open(options: HandleOptions, facts?: Facts): Promise<Handle> {
    const { subject, connection, time, credential, ttlMs } = options;
    const events: MemoryEvent[] = [];
    const context = {
      backend: connection as Connection, // absent only for subjects that say they have none
      clock: time.clock,
      onEvent: (event: MemoryEvent) => void events.push(event),
      credential,
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
    try {
      return new Handle(await subject.create(context), events, options, facts);
    } catch (error) {
      throw new ProviderThrew("create", error);
    }
  }

  get declaration(): MemoryProviderDeclaration | null {
    return describeProvider(this.provider);
  }

  /** What the provider says of its tools for this turn; an empty map where it offers none. */
  async toolset(memory: MemorySlotInfo, turn: Turn): Promise<MemoryToolSet> {
    return (await this.provider.tools?.(toolsContext(memory, turn))) ?? {};
  }

  guess(tools: MemoryToolSet): ToolGuess {
    return guessTools(tools, this.#options.subject.tools);
  }

  /** The same instance, with something standing before it. It is closed with this one. */
  around(stand: (provider: MemoryProvider) => MemoryProvider): Handle {
    return new Handle(stand(this.provider), this.events, this.#options, this.facts);
  }

  /** Somebody whose memory it is. Without options each call is somebody new. */
  person(options: PersonOptions): Person {
    return new Person(this, { namespace: this.#options.namespace, ...options });
  }

  async close(): Promise<void> {
    await this.declaration?.close?.();
  }
}

/** The slot as a provider is told of it. */
export function slotInfo({ key, namespace = "conformance", scope, slot = "memory" }: PersonOptions): MemorySlotInfo {
  return { slot, scope: { key: key ?? scopeKey({ namespace, scope }), namespace, value: scope } };
}
