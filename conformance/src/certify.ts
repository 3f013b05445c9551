/** One call certifies a provider: its subject is judged in processes of its own, whoever calls. */
import { availableParallelism } from "node:os";
import { checkOptions as checkThem, optionIs } from "@keepsake/core";
import { clauseSet, type Profile } from "./clause.ts";
import { JudgeWorker } from "./judge-worker.ts";
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

const isText = (value: unknown): boolean => typeof value === "string";
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** @throws MemoryError `invalid_options`, naming what cannot be used. */
export function checkOptions(options: CertifyOptions): void {
  checkThem("certify()", options, {
    profile: (value) => value === "base" || value === "strict",
    only: (value) => areTexts(value) && (value as string[]).length > 0,
    seed: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
    onResult: optionIs.callable,
    execArgv: areTexts,
  });
}

/** For fewer than these a further process does not pay. */
const fewestChecks = 20;
const mostProcesses = 8;

/**
 * Judges the subject that a module exports as its default.
 * @throws MemoryError `invalid_options`; TypeError where the module exports no subject; and what loading it throws.
 */
export async function certify(module: URL | string, options: CertifyOptions = {}): Promise<Certificate> {
  checkOptions(options);
  const { profile = "base", only, onResult = () => {}, execArgv = nodeOptions() } = options;
  const moduleUrl = String(module);
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const most = Math.min(availableParallelism(), mostProcesses);
  // All at once, as starting takes a while; a run of some checks may do with fewer.
  const workers = Array.from({ length: only === undefined ? most : 1 }, () => new JudgeWorker(execArgv));
  try {
    return await judged();
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
  }

  async function judged(): Promise<Certificate> {
    const [first] = workers as [JudgeWorker];
    const { name = nameOf(moduleUrl), timeMode, deviations, planned } = await first.look(moduleUrl, { profile, only });
    const count = Math.min(most, Math.ceil(planned.length / fewestChecks));
    while (workers.length < count) workers.push(new JudgeWorker(execArgv));
    const about = { moduleUrl, seed, timeMode };
    const facts = await first.meet(about);
    const results: CheckResult[] = [];
    const take = (result: CheckResult): void => {
      results.push(result);
      onResult(result);
    };
    const [opening, ...others] = planned as readonly [CheckHeading, ...CheckHeading[]];
    const opened = await first.try(opening);
    take(opened);
    const waiting = shuffled(others, seed);
    const work = async (worker: JudgeWorker): Promise<void> => {
      if (worker !== first) await worker.meet({ ...about, facts });
      for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) take(await worker.try(check));
    };
    if (opened.state === "pass") await Promise.all(workers.map(work));
    else for (const each of waiting) take({ ...each, state: "blocked", blockedBy: opened.check, durationMs: 0 });
    const { capabilities, guesses, backend } = facts;
    const understanding = { name, profile, time: timeMode, backend, capabilities, guesses };
    const byPlan = planned.flatMap(({ check }) => results.filter((result) => result.check === check));
    const today = new Date().toISOString().slice(0, 10);
    const complete = only === undefined;
    return { understanding, clauseSet, seed, ...verdict({ results: byPlan, complete, deviations, today }) };
  }
}

function nameOf(moduleUrl: string): string {
  const file = new URL(moduleUrl).pathname.split("/").at(-1);
  return file?.replace(/\.\w+$/, "") ?? "subject";
}

/** The same order for the same seed. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const mixed = [...items];
  let state = seed >>> 0;
  for (let index = mixed.length - 1; index > 0; index -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (index + 1);
    [mixed[index], mixed[other]] = [mixed[other] as T, mixed[index] as T]; // both indexes are within the array
  }
  return mixed;
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
