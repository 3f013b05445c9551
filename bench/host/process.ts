/** Processes that each run one system, and take orders one at a time. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Work } from "./slots.ts";
import type { SystemName } from "./system.ts";

/** Plays sessions and measures them. */
export interface Order {
  readonly sessions: number;
  /** What users say. */
  readonly texts: readonly string[];
}

export interface Answer {
  /** All threads of the process together: garbage is collected and code compiled beside the main one. */
  readonly cpuMicroseconds: number;
  readonly elapsedMicroseconds: number;
  /** `null` where a collection of garbage has made some room in between. */
  readonly heapGrowthBytes: number | null;
  readonly work: Work;
}

export class SystemProcess {
  readonly system: SystemName;
  readonly #child: ChildProcess;
  /** Rejects when the process ends. */
  readonly #ended: Promise<never>;

  constructor(system: SystemName, nodeOptions: readonly string[] = []) {
    this.system = system;
    this.#child = fork(join(import.meta.dirname, "worker.ts"), [system], {
      execArgv: [...nodeOptions],
      stdio: ["ignore", process.stderr, process.stderr, "ipc"], // standard output is the benchmark's alone
    });
    this.#ended = once(this.#child, "exit").then(() => {
      throw new Error(`The process of ${system} ended before it had played.`);
    });
    this.#ended.catch(() => {}); // after the last order it may end
  }

  /** @throws Error when the process ends instead of answering. */
  async play(order: Order): Promise<Answer> {
    const answered = once(this.#child, "message").then(([answer]): Answer => answer);
    this.#child.send(order, () => {}); // one that cannot be sent finds the process ended
    return Promise.race([answered, this.#ended]);
  }

  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
