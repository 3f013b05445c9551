/** Where one check happens: a backend of its own, instances of the provider over it, and the kit's clock. */
import { type Backend, type Connection, delegate } from "./backend.ts";
import { Verdict } from "./check.ts";
import { type Canary, canaries, holds } from "./drive/canary.ts";
import type { Facts, WritePath } from "./drive/facts.ts";
import { Handle, ProviderThrew } from "./drive/handle.ts";
import type { Person } from "./drive/person.ts";
import type { Environment, ProviderProcesses } from "./process/provider-processes.ts";
import { RemoteHandle } from "./process/remote-handle.ts";
import type { Subject } from "./subject/define.ts";
import type { KitClock, Outcome } from "./time/kit-clock.ts";
import { quiet, realNowMs, settlesSoon } from "./time/wait.ts";

export interface BenchOptions {
  readonly subject: Subject;
  readonly moduleUrl: string;
  readonly time: KitClock;
  readonly facts: Facts;
  /** Other processes, for all checks of a judge. */
  readonly processes: ProviderProcesses;
  /** Feeds the random checks. */
  readonly seed: number;
  readonly occasion: Occasion;
}

/** What a bench is for. Its people and words follow from that alone, so that a check meets the same ones whatever ran before. */
export interface Occasion {
  readonly name: string;
  /** No two occasions of a run share one: a provider may keep what it was told in the module, over all checks. */
  readonly number: number;
}

export interface OpenOptions {
  /** How long memories live. */
  readonly ttlMs?: number;
}

const longestBackoffMs = 60_000;

export class Bench {
  readonly facts: Facts;
  readonly time: KitClock;
  /** Differs from run to run only where the caller wants it to. */
  readonly seed: number;
  readonly moduleUrl: string;
  /** What the subject uses as its key or password here. */
  readonly credential: string;
  readonly canary = (about?: string): Canary => {
    const made = this.#canary(about);
    this.#words.push(made.word, made.topic);
    return made;
  };
  readonly subject: Subject;
  /** Of everybody here who says no other: checks cannot meet each other's people. */
  readonly namespace: string;
  readonly #canary: (about?: string) => Canary;
  readonly #backend: Backend | undefined;
  readonly #processes: ProviderProcesses;
  /** Whether a fault is on: what then waits, waits for time to pass. */
  #isFaulty = false;
  readonly #words: string[] = [];
  readonly #handles: { close(): Promise<void> }[] = [];
  readonly #others: Backend[] = [];
  #persons = 0;
  #seen = 0;
  #busyUntilMs = 0;

  constructor(
    { subject, moduleUrl, time, facts, processes, seed, occasion }: BenchOptions,
    backend: Backend | undefined,
  ) {
    this.subject = subject;
    this.moduleUrl = moduleUrl;
    this.time = time;
    this.facts = facts;
    this.#processes = processes;
    this.seed = seed;
    this.#backend = backend === undefined ? undefined : this.#watched(backend);
    this.#canary = canaries(occasion.number);
    this.namespace = `conformance ${occasion.name}`;
    this.credential = `kit-${this.canary().word}`;
  }

  /** The backend of this check. Checks that use it need one. */
  get backend(): Backend {
    if (this.#backend === undefined) throw new TypeError('A check that uses the backend has to need "backend".');
    return this.#backend;
  }

  /** Also a moment after each request: many quick ones in a row may never be under way when somebody looks. */
  readonly busy = (): boolean => {
    const seen = this.#backend?.observed().length ?? 0;
    if (seen !== this.#seen) {
      this.#seen = seen;
      this.#busyUntilMs = realNowMs() + 3;
    }
    return (this.#backend?.busy() ?? false) || realNowMs() < this.#busyUntilMs;
  };

  /** An instance of the provider over this check's backend. Each call makes another one. */
  async open({ ttlMs }: OpenOptions = {}): Promise<Handle> {
    const { subject, time, credential, busy, namespace } = this;
    const isFaulty = (): boolean => this.#isFaulty;
    const handle = await Handle.open(
      { subject, connection: this.#connection, time, credential, busy, isFaulty, namespace, ttlMs },
      this.facts,
    );
    this.#handles.push(handle);
    return handle;
  }

  /** An instance over a backend of its own, beside this check's, where there can be another. */
  async openElsewhere(): Promise<Handle> {
    const { subject, time, credential, namespace } = this;
    if (subject.backend === "none" || subject.backend.attach !== undefined) {
      this.notApplicable("There cannot be two of its backends in one process.");
    }
    const other = await subject.backend.start({ now: time.now });
    this.#others.push(other);
    const { connection, busy } = other;
    const handle = await Handle.open(
      { subject, connection, time, credential, namespace, busy: () => busy.call(other) },
      this.facts,
    );
    this.#handles.push(handle);
    return handle;
  }

  /** All backends that instances may reach here. */
  get backends(): readonly Backend[] {
    return this.#backend === undefined ? this.#others : [this.#backend, ...this.#others];
  }

  /** An instance in another process: one of its own where the options ask for something special. */
  async spawn(
    options: OpenOptions & {
      readonly env?: Environment;
      readonly recordsEnvironment?: boolean;
      /** Lets time there be the system's, so that its timers are real ones. Default: as everywhere. */
      readonly realTime?: boolean;
    } = {},
  ): Promise<RemoteHandle> {
    const { moduleUrl, credential, time, namespace } = this;
    const { env, realTime = false, ...rest } = options;
    const facts: Facts = realTime ? { ...this.facts, time: "real" } : this.facts;
    const isSpecial = realTime || env !== undefined || rest.recordsEnvironment === true;
    const from = isSpecial ? undefined : this.#processes;
    const about = { moduleUrl, connection: this.#connection, credential, facts, namespace, nowMs: time.now() };
    const handle = await RemoteHandle.open({ ...about, ...rest }, { from, env });
    this.#handles.push(handle);
    return handle;
  }

  /** Somebody nobody knows yet. */
  someone(handle: Handle): Person {
    this.#persons += 1;
    return handle.person({ scope: `person ${this.#persons}` });
  }

  /** How a call ends: what the provider answered, or threw. Time moves on when nothing else can happen. */
  async outcome<T>(call: () => Promise<T>): Promise<Outcome<T>> {
    try {
      return { state: "fulfilled", value: await call() };
    } catch (error) {
      if (error instanceof ProviderThrew) return { state: "rejected", error: error.error };
      throw error;
    }
  }

  /** How a call ends when it is not waited for: at once, or not. */
  async atOnce<T>(call: Promise<T>): Promise<Outcome<T>> {
    const outcome = await settlesSoon(call);
    const { error } = { error: undefined, ...outcome };
    return error instanceof ProviderThrew ? { state: "rejected", error: error.error } : outcome;
  }

  /** Whether the backend holds this text, in any spelling. */
  async holds(text: string): Promise<boolean> {
    return holds(await this.backend.contents(), text);
  }

  /** Whether the backend was sent this text, in any spelling. */
  wasSent(text: string): boolean {
    return holds(
      this.backend.observed().map(({ sent }) => sent),
      text,
    );
  }

  /** A provider's own words, where they hold nothing of anybody's; `undefined` otherwise. */
  harmless(text: unknown): string | undefined {
    if (typeof text !== "string" || text.length > 300) return undefined;
    return [...this.#words, this.credential].some((word) => holds([text], word)) ? undefined : text;
  }

  /** Ways to write that the provider has, the preferred one first. */
  get writePaths(): readonly WritePath[] {
    return this.facts.writePaths;
  }

  notApplicable(why: string): never {
    throw new Verdict("not-applicable", why);
  }

  advise(why: string): never {
    throw new Verdict("advisory", why);
  }

  untestable(why: string): never {
    throw new Verdict("untestable", why);
  }

  async close(): Promise<void> {
    this.#backend?.heal();
    await this.#settle();
    await Promise.allSettled(this.#handles.map((handle) => handle.close()));
    await this.#backend?.close();
    await Promise.all(this.#others.map((other) => other.close()));
  }

  /** What goes on in the background ends here, and not in the middle of the next check. */
  async #settle(): Promise<void> {
    const isAwaited = this.time.isAwaited();
    if (!isAwaited && this.facts.capabilities.freshness === "current") return;
    await quiet(this.busy).catch(() => {});
    if (!isAwaited) return;
    await this.time.advance(longestBackoffMs);
    await quiet(this.busy).catch(() => {});
  }

  /** The backend, with an eye on its faults. */
  #watched(backend: Backend): Backend {
    return {
      ...delegate(backend),
      inject: (...args) => {
        this.#isFaulty = true;
        backend.inject(...args);
      },
      heal: () => {
        this.#isFaulty = false;
        backend.heal();
      },
    };
  }

  get #connection(): Connection | undefined {
    return this.#backend?.connection;
  }
}
