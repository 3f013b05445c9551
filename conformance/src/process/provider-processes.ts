/**
 * Processes in which the provider runs, each used for one check after another: to start one costs more than most checks do.
 * To a check it is another process all the same, which has not seen this one's people.
 */
import { type ChildProcessHandle, siblingModule, startProcess } from "./rpc.ts";

export type Environment = Readonly<Record<string, string>>;

export class ProviderProcesses {
  readonly #idle: ChildProcessHandle[] = [];

  /** One that is idle, or a new one. */
  async take(): Promise<ChildProcessHandle> {
    return this.#idle.pop() ?? (await startProviderProcess());
  }

  /** For the next check. Nothing is open in it any more. */
  give(process: ChildProcessHandle): void {
    this.#idle.push(process);
  }
}

export function startProviderProcess(env: Environment = {}): Promise<ChildProcessHandle> {
  return startProcess({ module: siblingModule("provider-process", import.meta.url), env });
}
