/** The caller's end of a process that judges. When the provider ends the process, another one takes its place. */
import type { Facts } from "./drive/facts.ts";
import type { Case, Look } from "./judge-process.ts";
import type { PlanOptions } from "./plan.ts";
import { type ChildProcessHandle, ProcessEnded, siblingModule, startProcess } from "./process/rpc.ts";
import type { CheckHeading, CheckResult } from "./result.ts";

/** A provider that ends its processes more often than this is not tried any further. */
const mostEndings = 5;

export class JudgeWorker {
  readonly #execArgv: readonly string[];
  #starting: Promise<ChildProcessHandle>;
  #case: Case | undefined;
  #endings = 0;
  #isOver = false;

  /** Starts a process at once; whether that worked is seen by the first call. */
  constructor(execArgv: readonly string[]) {
    this.#execArgv = execArgv;
    this.#starting = this.#start();
  }

  /** @throws TypeError where the module exports no subject, and what loading it throws. */
  async look(moduleUrl: string, plan: PlanOptions): Promise<Look> {
    const look = (await this.#call("look", moduleUrl, plan)) as Look; // our own process's
    if (look.timeMode === "global") await this.#restart(); // time has to be replaced before the subject is loaded
    return look;
  }

  /** Loads the subject that is judged here from now on. */
  async meet(about: Case): Promise<Facts> {
    const facts = (await this.#call("meet", about)) as Facts;
    this.#case = { ...about, facts };
    return facts;
  }

  async try(heading: CheckHeading): Promise<CheckResult> {
    try {
      return (await this.#call("try", heading.check)) as CheckResult;
    } catch (error) {
      if (!(error instanceof ProcessEnded) || this.#isOver || this.#endings === mostEndings) throw error;
      this.#endings += 1;
      await this.#restart();
      return { ...heading, state: "fail", reason: "process-ended", saw: error.message, durationMs: 0 };
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

  async #call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    const process = await this.#starting;
    return process.call(method, ...args);
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
