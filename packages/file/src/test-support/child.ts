/** Child processes of a test: plain Node on a TypeScript file, one JSON argument, messages both ways. */
import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Child {
  readonly messages: readonly unknown[];
  /** Resolves with the message once one matches, those before included; rejects when the child ends without it. */
  message(matches: (message: unknown) => boolean): Promise<unknown>;
  onMessage(listener: (message: unknown) => void): void;
  send(message: string): void;
  kill(signal?: NodeJS.Signals): void;
  /** The signal that ended it, or its exit code; every message it sent has arrived by then. */
  readonly ended: Promise<NodeJS.Signals | number | null>;
}

/** @param file The child's script, beside this file. */
export function startChild(file: string, argument: object): Child {
  const child = spawn(process.execPath, [`${import.meta.dirname}/${file}`, JSON.stringify(argument)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  const messages: unknown[] = [];
  const listeners = new Set<(message: unknown) => void>();
  child.on("message", (message: unknown) => {
    messages.push(message);
    for (const listener of listeners) listener(message);
  });
  const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]).then(
    ([[code, signal]]) => signal ?? code,
  );
  return {
    messages,
    message: (matches) =>
      new Promise((resolve, reject) => {
        const check = (message: unknown): void => {
          if (matches(message)) resolve(message);
        };
        messages.forEach(check);
        listeners.add(check);
        void ended.then((reason) => reject(new Error(`The child ended with ${reason} and never sent the message.`)));
      }),
    onMessage: (listener) => {
      listeners.add(listener);
    },
    send: (message) => void child.send(message),
    kill: (signal = "SIGKILL") => void child.kill(signal),
    ended,
  };
}
