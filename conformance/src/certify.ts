/** One call certifies a provider: its subject is judged in processes of its own, whoever calls. */
import { availableParallelism } from "node:os";
import { z } from "zod";
import { clauseSet, type Profile } from "./clause.ts";
import type { Judged } from "./judge.ts";
import type { JudgeNote, JudgeTask, Look } from "./judge-process.ts";
import { type ChildProcessHandle, ProcessEnded, siblingModule, startProcess } from "./process/rpc.ts";
import type { Certificate, CheckHeading, CheckResult } from "./result.ts";
import { verdict } from "./verdict.ts";

export interface CertifyOptions {
  /** Default `base`. */
  readonly profile?: Profile | undefined;
  /** Ids of checks (`replay/quiet`) or families (`replay`). A run of some never certifies. Default: all. */
  readonly only?: readonly string[] | undefined;
  /** Shuffles the checks and feeds the random ones. Default: another each time; it is in the certificate. */
  readonly seed?: number | undefined;
  readonly onResult?: ((result: CheckResult) => void) | undefined;
  /**
   * Options of Node for the processes, such as `["--import", "tsx"]`. Default: those of this process, and what Node needs
   * to load TypeScript.
   */
  readonly execArgv?: readonly string[] | undefined;
}

const knownOptions = z.strictObject({
  profile: z.enum(["base", "strict"]).optional(),
  only: z.array(z.string().min(1)).min(1).optional(),
  seed: z.int().min(0).optional(),
  onResult: z.custom((value) => value === undefined || typeof value === "function", "must be a function").optional(),
  execArgv: z.array(z.string()).optional(),
});

/** @throws TypeError naming what cannot be used. */
export function checkOptions(options: CertifyOptions): void {
  const { success, error } = knownOptions.safeParse(options);
  if (!success) throw new TypeError(`A provider cannot be certified with these options.\n${z.prettifyError(error)}`);
}

/** For fewer than these a further process does not pay. */
const fewestChecks = 20;

/** A provider that ends the process more often than this is not tried any further. */
const mostEndings = 5;

/**
 * Judges the subject that a module exports as its default.
 * @throws TypeError for options that cannot be used, where the module exports no subject, and what loading it throws.
 */
export async function certify(module: URL | string, options: CertifyOptions = {}): Promise<Certificate> {
  checkOptions(options);
  const { profile = "base", only, onResult = () => {}, execArgv = nodeOptions() } = options;
  const moduleUrl = String(module);
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const judge = await startJudge(execArgv);
  const judged = await lookAndJudge(judge).finally(() => end(judge));
  const [first] = judged;
  if (first === undefined) throw new Error("Nothing was judged."); // there always is a first part
  const today = new Date().toISOString().slice(0, 10);
  const results = judged.flatMap(({ results: own }, index) => (index === 0 ? own : own.slice(1)));
  const complete = only === undefined;
  const { understanding, deviations } = first;
  return { understanding, clauseSet, seed, ...verdict({ results, complete, deviations, today }) };

  async function lookAndJudge(judge: Judge): Promise<readonly Judged[]> {
    const { timeMode, planned } = (await judge.process.call("look", moduleUrl, { profile, only })) as Look;
    const count = Math.min(availableParallelism(), Math.ceil(planned / fewestChecks));
    return Promise.all(
      Array.from({ length: count }, (_, index) => {
        // Where time is to be replaced, this process has loaded the subject too early.
        const ready = index === 0 && timeMode !== "global" ? judge : undefined;
        const task = { moduleUrl, profile, only, seed, part: { index, count }, timeMode };
        return judgePart(task, { execArgv, onResult, ready });
      }),
    );
  }
}

interface Judge {
  readonly process: ChildProcessHandle;
  listen(listener: (message: JudgeNote) => void): void;
}

interface PartOptions {
  readonly execArgv: readonly string[];
  readonly onResult: (result: CheckResult) => void;
  /** A process that is there already. */
  readonly ready: Judge | undefined;
}

/** One part of the run, in a process of its own; in another, without the check that did it, when the provider ends it. */
async function judgePart(task: Omit<JudgeTask, "done">, { execArgv, onResult, ready }: PartOptions): Promise<Judged> {
  const done: CheckResult[] = [];
  let running: CheckHeading | undefined;
  const take = (result: CheckResult): void => {
    running = undefined;
    done.push(result);
    if (task.part?.index === 0 || done.length > 1) onResult(result); // the first check is part of every part
  };
  for (let endings = 0; ; endings += 1) {
    const judge = endings === 0 && ready !== undefined ? ready : await startJudge(execArgv);
    judge.listen((message) => {
      if ("started" in message) running = message.started;
      else take(message.result);
    });
    try {
      return (await judge.process.call("judge", { ...task, done: [...done] } satisfies JudgeTask)) as Judged;
    } catch (error) {
      if (!(error instanceof ProcessEnded) || running === undefined || endings === mostEndings) throw error;
      take({ ...running, state: "fail", reason: "process-ended", saw: error.message, durationMs: 0 });
    } finally {
      await end(judge);
    }
  }
}

async function startJudge(execArgv: readonly string[]): Promise<Judge> {
  let listener = (_: JudgeNote): void => {};
  const module = siblingModule("judge-process", import.meta.url);
  const onNote = (message: unknown): void => listener(message as JudgeNote); // our own process's
  const process = await startProcess({ module, execArgv, onNote });
  return {
    process,
    listen(next) {
      listener = next;
    },
  };
}

async function end({ process }: Judge): Promise<void> {
  process.kill();
  await process.ended;
}

/** Options that say what a process is to run, or that two of them cannot share: another one must not inherit them. */
const notInherited =
  /^(?:-(?:e|p|pe|c|i)|--(?:eval|print|check|interactive|input-type|test|watch|inspect|cpu-prof|heap-prof)\b.*)$/;

/** This process's, as far as another can have them. Before 22.18, Node strips types only when asked to. */
function nodeOptions(): readonly string[] {
  const inherited = process.execArgv.filter(
    (option, index, all) =>
      !notInherited.test(option) && !/^(?:-(?:e|p|pe)|--eval|--print)$/.test(all[index - 1] ?? ""),
  );
  const strips = process.features.typescript !== false || inherited.includes("--experimental-strip-types");
  return strips ? inherited : [...inherited, "--experimental-strip-types"];
}
