/** An instance of the provider in a process of its own: what a restart is, and a second process. */
import type { Connection } from "../backend.ts";
import type { Turn } from "../drive/contexts.ts";
import type { Facts } from "../drive/facts.ts";
import { ProviderThrew } from "../drive/handle.ts";
import type {
  CallOptions,
  CaptureOptions,
  PersonOptions,
  Reading,
  Recalled,
  RecallOptions,
  Written,
} from "../drive/person.ts";
import { type Environment, type ProviderProcesses, startProviderProcess } from "./provider-processes.ts";
import { type ChildProcessHandle, RemoteError } from "./rpc.ts";

export interface RemoteOptions {
  readonly moduleUrl: string;
  readonly connection: Connection | undefined;
  readonly credential: string;
  readonly facts: Facts;
  readonly namespace: string;
  /** The time there when it starts. */
  readonly nowMs: number;
  readonly ttlMs?: number;
  /** Notes which variables the provider reads, from before it is loaded: see {@link RemoteHandle.environment}. */
  readonly recordsEnvironment?: boolean;
}

export interface ProcessChoice {
  /** A process that may have served other checks. Default: one of its own. */
  readonly from?: ProviderProcesses | undefined;
  /** Variables that a process of its own has as well. */
  readonly env?: Environment | undefined;
}

/** What can be done from another process: everything but waiting for a signal. */
export interface RemotePerson {
  begin(said: string): Promise<Turn>;
  recall(about: string | Turn, options?: Omit<RecallOptions, "signal">): Promise<Recalled>;
  capture(turn: Turn, options?: Omit<CaptureOptions, "signal">): Promise<void>;
  say(text: string): Promise<Recalled>;
  call(name: string, input: unknown, options?: Omit<CallOptions, "signal">): Promise<unknown>;
  write(text: string, options?: Omit<CallOptions, "signal"> & { readonly path?: Written["path"] }): Promise<Written>;
  repeat(written: Written): Promise<Written>;
  recalls(query: string): Promise<string>;
  readings(query: string): Promise<readonly Reading[]>;
}

export class RemoteHandle {
  readonly process: ChildProcessHandle;
  readonly #from: ProviderProcesses | undefined;
  #isClosed = false;

  private constructor(process: ChildProcessHandle, from: ProviderProcesses | undefined) {
    this.process = process;
    this.#from = from;
  }

  static async open(options: RemoteOptions, { from, env }: ProcessChoice = {}): Promise<RemoteHandle> {
    const process = from === undefined ? await startProviderProcess(env) : await from.take();
    const handle = new RemoteHandle(process, from);
    try {
      await handle.#ask("create", process.call("open", options));
    } catch (error) {
      await handle.kill(); // nobody else knows of it yet
      throw error;
    }
    return handle;
  }

  /** The same options name the same person and session, in this process and others. */
  person(options: PersonOptions): RemotePerson {
    const ask = (method: string, ...args: readonly unknown[]): Promise<never> =>
      this.#ask(method, this.process.call("person", options, method, args)) as Promise<never>;
    return {
      begin: (said) => ask("begin", said),
      recall: (about, recallOptions) => ask("recall", about, recallOptions),
      capture: (turn, captureOptions) => ask("capture", turn, captureOptions),
      say: (text) => ask("say", text),
      call: (name, input, callOptions) => ask("call", name, input, callOptions),
      write: (text, writeOptions) => ask("write", text, writeOptions),
      repeat: (written) => ask("repeat", written),
      recalls: (query) => ask("recalls", query),
      readings: (query) => ask("readings", query),
    };
  }

  /** Names of the variables that were read in its process so far, where they are recorded. */
  async environment(): Promise<readonly string[]> {
    return (await this.process.call("environment")) as readonly string[]; // of our own process
  }

  /** Closes the provider. A process of its own ends; so does one in which that failed. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const isDone = await this.process.call("close").then(
      () => true,
      () => false, // it may have been killed
    );
    if (isDone && this.#from !== undefined) this.#from.give(this.process);
    else await this.kill();
  }

  /** Ends the process where it stands, as a power failure would. */
  async kill(): Promise<void> {
    this.process.kill("SIGKILL");
    await this.process.ended;
  }

  async #ask<T>(operation: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof RemoteError) throw new ProviderThrew(operation, error);
      throw error;
    }
  }
}
