/** The caller's end of a process that judges. When the provider ends the process or keeps it busy, another one takes its place. */
import { commonReasons } from "./check.ts";
import type { Facts } from "./drive/facts.ts";
import type { Case, Look } from "./judge-process.ts";
import type { PlanOptions } from "./plan.ts";
import { type ChildProcessHandle, ProcessEnded, siblingModule, startProcess } from "./process/rpc.ts";
import type { CheckHeading, CheckResult } from "./result.ts";
import { settlesWithin } from "./time/wait.ts";

/** A provider that ends its processes, or keeps them busy, more often than this is not tried any further. */
const mostEndings = 5;

/** A check takes seconds at most: everything in it that waits has an end. What keeps the process from waiting has none. */
const longestCallMs = 120_000;

/** The process answered nothing for as long as that: something in it never lets go. */
class Stuck extends Error {
  constructor(limitMs: number) {
    super(`The process was kept busy for ${limitMs / 1_000} s, and had to be ended.`);
    this.name = "Stuck";
  }
}

export class JudgeWorker {
  readonly #execArgv: readonly string[];
  readonly #longestCheckMs: number;
  #starting: Promise<ChildProcessHandle>;
  #case: Case | undefined;
  #endings = 0;
  #isOver = false;

  /** Starts a process at once; whether that worked is seen by the first call. */
  constructor(execArgv: readonly string[], longestCheckMs: number = longestCallMs) {
    this.#execArgv = execArgv;
    this.#longestCheckMs = longestCheckMs;
    this.#starting = this.#start();
  }

  /** @throws TypeError where the module exports no subject, and what loading it throws. */
  async look(moduleUrl: string, plan: PlanOptions): Promise<Look> {
    const look = (await this.#call(longestCallMs, "look", moduleUrl, plan)) as Look; // our own process's
    if (look.timeMode === "global") await this.#restart(); // time has to be replaced before the subject is loaded
    return look;
  }

  /** Loads the subject that is judged here from now on. */
  async meet(about: Case): Promise<Facts> {
    const facts = (await this.#call(longestCallMs, "meet", about)) as Facts;
    this.#case = { ...about, facts };
    return facts;
  }

  async try(heading: CheckHeading): Promise<CheckResult> {
    try {
      return (await this.#call(this.#longestCheckMs, "try", heading.check)) as CheckResult;
    } catch (error) {
      const isStuck = error instanceof Stuck;
      if (!(isStuck || error instanceof ProcessEnded) || this.#isOver || this.#endings === mostEndings) throw error;
      this.#endings += 1;
      await this.#restart();
      const reason = isStuck ? "stuck" : "process-ended";
      return {
        ...heading,
        state: "fail",
        reason,
        saw: error.message,
        likelyCause: commonReasons[reason],
        durationMs: 0,
      };
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const process = await this.#starting.catch(() => undefined);
    process?.kill();
    await process?.ended;
  }

  async #call(limitMs: number, method: string, ...args: readonly unknown[]): Promise<unknown> {
    const process = await this.#starting;
    const answer = process.call(method, ...args);
    const { state } = await settlesWithin(answer, limitMs);
    if (state !== "pending") return answer;
    process.kill();
    throw new Stuck(limitMs);
  }

  async #restart(): Promise<void> {
    await this.#stop();
    this.#starting = this.#start();
    if (this.#case !== undefined) await this.meet(this.#case);
  }

  #start(): Promise<ChildProcessHandle> {
    const starting = startProcess({
      module: siblingModule("judge-process", import.meta.url),
      execArgv: this.#execArgv,
    });
    starting.catch(() => {}); // whoever calls is told
    return starting;
  }
}
