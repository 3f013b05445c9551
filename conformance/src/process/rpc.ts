/**
 * Calls into a process of its own, over its IPC channel: {@link startProcess} in the parent, {@link serve} in the child.
 * A child never outlives its parent, and after `disconnect` it lives as long as what its methods left open.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { Readable } from "node:stream";
import { quiet, realTimers } from "../time/wait.ts";

/** How a process ended: an exit code, or the signal that ended it. */
export interface ProcessEnding {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ProcessOptions {
  /** The module to run; it calls {@link serve}. */
  readonly module: URL;
  /** What the child's {@link serve} is given. Must be cloneable. */
  readonly data?: unknown;
  /** Added to the environment of this process; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Options of Node. Default: those of this process. */
  readonly execArgv?: readonly string[];
}

export interface ChildProcessHandle {
  readonly pid: number;
  /** The last 64 KiB of what it wrote. */
  readonly stdout: string;
  readonly stderr: string;
  /**
   * @throws RemoteError when the method fails there.
   * @throws ProcessEnded when the process ends before it answers.
   */
  call(method: string, ...args: readonly unknown[]): Promise<unknown>;
  /** Default: SIGKILL. */
  kill(signal?: NodeJS.Signals): void;
  /** By then everything it sent has arrived. */
  readonly ended: Promise<ProcessEnding>;
  /** Closes the channel, so that only what is still open there keeps the process alive. Calls that are open fail. */
  disconnect(): void;
}

/** An error that was thrown in the other process. Its name is that error's. */
export class RemoteError extends Error {
  readonly code: string | undefined;
  readonly retryable: boolean | undefined;

  constructor(error: SentError) {
    super(error.message);
    this.name = error.name;
    this.code = error.code;
    this.retryable = error.retryable;
  }
}

/** The process ended before it answered. */
export class ProcessEnded extends Error {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;

  /** The last of what it wrote to stderr. */
  readonly stderr: string;

  constructor({ code, signal }: ProcessEnding, before: string, stderr: string) {
    super(`The process ended (${signal ?? `code ${code}`}) before ${before}.`);
    this.name = "ProcessEnded";
    this.code = code;
    this.signal = signal;
    this.stderr = stderr;
  }
}

export type Methods = Readonly<Record<string, (...args: never[]) => unknown>>;

interface SentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly retryable?: boolean | undefined;
}

type ToChild =
  | { readonly type: "start"; readonly data: unknown }
  | { readonly type: "call"; readonly id: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly type: "disconnect"; readonly parent: number };

type ToParent =
  | { readonly type: "loaded" }
  | { readonly type: "answer"; readonly id: number; readonly value: unknown }
  | { readonly type: "failure"; readonly id: number; readonly error: SentError };

const startId = 0;
const disconnected = "The process was disconnected before it answered.";
const outputLimit = 64 * 1_024;
const drainTurns = 50;
const orphanCheckMs = 1_000;

/**
 * Starts a process, and resolves once it serves.
 * @throws RemoteError when it cannot make its methods.
 * @throws ProcessEnded when it ends before, such as for a module that cannot be loaded.
 */
export async function startProcess(options: ProcessOptions): Promise<ChildProcessHandle> {
  const { module, data, env, execArgv = process.execArgv } = options;
  const child = fork(module, { serialization: "advanced", silent: true, execArgv: [...execArgv], env: merged(env) });
  const stdout = lastOf(child.stdout);
  const stderr = lastOf(child.stderr);
  const ended = endOf(child);
  const open = new Map<number, PromiseWithResolvers<unknown>>();
  let lastId = startId;
  let ending: ProcessEnding | undefined;

  const answerTo = (id: number): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    open.set(id, answer);
    return answer.promise;
  };
  const fail = (id: number, error: unknown): void => {
    open.get(id)?.reject(error);
    open.delete(id);
  };
  const post = (id: number, message: ToChild): void => {
    try {
      child.send(message, () => {}); // what cannot be sent any more fails when the process ends
    } catch (error) {
      fail(id, error); // it cannot be cloned
    }
  };

  child.on("message", (message) => {
    const received = message as ToParent; // both ends are this file
    if (received.type === "loaded") post(startId, { type: "start", data });
    else if (received.type === "failure") fail(received.id, new RemoteError(received.error));
    else {
      open.get(received.id)?.resolve(received.value);
      open.delete(received.id);
    }
  });
  void ended.then((end) => {
    ending = end;
    for (const id of open.keys())
      fail(id, new ProcessEnded(end, id === startId ? "it served" : "it answered", stderr()));
  });

  await answerTo(startId).catch((error: unknown) => {
    child.kill("SIGKILL");
    throw error;
  });
  return {
    pid: child.pid ?? 0, // it has answered, so it has one
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
    call(method, ...args) {
      if (ending !== undefined) return Promise.reject(new ProcessEnded(ending, "it was called", stderr()));
      if (!child.connected) return Promise.reject(new Error(disconnected));
      const id = ++lastId;
      const answer = answerTo(id);
      post(id, { type: "call", id, method, args });
      return answer;
    },
    kill: (signal = "SIGKILL") => void child.kill(signal),
    ended,
    disconnect() {
      if (!child.connected) return;
      for (const id of open.keys()) fail(id, new Error(disconnected));
      // The child closes the channel itself: to it, one that closes means that the parent is gone.
      post(++lastId, { type: "disconnect", parent: process.pid });
    },
  };
}

/**
 * Answers calls from the parent, in the child. Returns at once; the process stays until it is disconnected.
 * @param methods What can be called, or what makes it from the `data` the process was started with.
 */
export function serve(methods: Methods | ((data: unknown) => Methods | Promise<Methods>)): void {
  const made = Promise.withResolvers<Methods>();
  const run = async (id: number, method: () => unknown): Promise<void> => {
    try {
      reply({ type: "answer", id, value: await method() });
    } catch (error) {
      reply({ type: "failure", id, error: toSent(error) });
    }
  };
  const gone = (): void => process.exit();
  process.on("disconnect", gone);
  process.on("message", (message) => {
    const received = message as ToChild;
    if (received.type === "disconnect") {
      process.off("disconnect", gone);
      endWithout(received.parent);
      process.disconnect();
    } else if (received.type === "start") {
      void run(startId, async () => {
        made.resolve(typeof methods === "function" ? await methods(received.data) : methods);
        await made.promise;
      });
    } else {
      void run(received.id, async () => {
        const available = await made.promise;
        const method = Object.hasOwn(available, received.method) ? available[received.method] : undefined;
        if (method === undefined) throw new TypeError(`There is no method ${received.method}.`);
        return await method(...(received.args as never[]));
      });
    }
  });
  reply({ type: "loaded" });
}

/** The module `name` beside `base` (an `import.meta.url`), with its extension: `.ts` in development, `.js` once built. */
export function siblingModule(name: string, base: string): URL {
  return new URL(`./${name}${extname(new URL(base).pathname)}`, base);
}

/** Without a channel, only the system knows whether the parent is still there; it may be gone already. */
function endWithout(parent: number): void {
  realTimers.setInterval(() => process.ppid !== parent && process.exit(), orphanCheckMs).unref();
}

function reply(message: ToParent): void {
  process.send?.(message, undefined, undefined, () => {}); // nobody to tell that the parent is gone
}

function toSent(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: "Error", message: `Thrown: ${String(error)}` };
  const { code, retryable } = error as { code?: unknown; retryable?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof retryable === "boolean" ? { retryable } : {}),
  };
}

/** With Node's cache of compiled modules: loading them is most of what a process costs. */
function merged(env: ProcessOptions["env"]): NodeJS.ProcessEnv {
  const all = { NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"), ...process.env, ...env };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

function lastOf(stream: Readable | null): () => string {
  let text = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-outputLimit);
  });
  return () => text;
}

/** Exit alone would be too early: answers and output may still be on their way. */
async function endOf(child: ChildProcess): Promise<ProcessEnding> {
  const failed = new Promise<ProcessEnding>((resolve) => {
    child.on("error", () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
  const closed = once(child, "close");
  const exited = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(async ([[code, signal]]) => {
    // Output stays open for as long as a process that this one started holds on to it.
    await Promise.race([closed, quiet(() => false, drainTurns)]);
    return { code, signal } as ProcessEnding;
  });
  return Promise.race([exited, failed]);
}
