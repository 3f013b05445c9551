/** Judges one subject in this process: every check on a backend of its own, one after another, each blamed on whom it concerns. */
import type { Backend } from "./backend.ts";
import { watchNetwork } from "./backends/net-guard.ts";
import { Bench, type BenchOptions } from "./bench.ts";
import { type Check, commonReasons, Verdict, Violation } from "./check.ts";
import type { Profile } from "./clause.ts";
import { ProviderThrew } from "./drive/handle.ts";
import { allChecks, clauseOf, families, firstCheck } from "./families/index.ts";
import { missing } from "./needs.ts";
import type { CheckHeading, CheckResult, Understanding } from "./result.ts";
import type { Deviation, Subject } from "./subject/define.ts";
import { survey, unknownFacts } from "./survey.ts";
import type { KitClock } from "./time/kit-clock.ts";
import { Hung, realNowMs } from "./time/wait.ts";

export interface JudgeOptions {
  /** From where the subject can be loaded again, in another process. */
  readonly moduleUrl: string;
  readonly time: KitClock;
  readonly profile: Profile;
  /** Default: all of it. */
  readonly part?: Part;
  /** Ids of checks, or of families. Default: all. A run of some never certifies. */
  readonly only?: readonly string[] | undefined;
  /** Shuffles the checks and feeds the random ones. */
  readonly seed: number;
  readonly onResult?: ((result: CheckResult) => void) | undefined;
  /** Checks that need no more trying: those of an earlier process that ended. */
  readonly done?: readonly CheckResult[] | undefined;
  readonly onStart?: ((check: CheckHeading) => void) | undefined;
}

/** A run can be shared out among processes, by families. The first check is part of every part. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

export interface Judged {
  readonly understanding: Understanding;
  readonly deviations: readonly Deviation[];
  readonly results: readonly CheckResult[];
}

/**
 * The checks of a run, or of a part of it. The first check always belongs to it.
 * @throws TypeError where `only` names what there is not.
 */
export function plannedChecks({
  profile,
  only,
  part,
}: Pick<JudgeOptions, "profile" | "only" | "part">): readonly Check[] {
  const isNamed = ({ id }: Check, name: string): boolean => id === name || id.startsWith(`${name}/`);
  for (const name of only ?? []) {
    if (!allChecks.some((check) => isNamed(check, name))) {
      throw new TypeError(`There is no check or family "${name}" (only).`);
    }
  }
  const { index, count } = part ?? { index: 0, count: 1 };
  return families
    .filter((_, place) => place === 0 || place % count === index) // the first family is the first check
    .flatMap(({ checks }) => checks)
    .filter(({ clause }) => profile === "strict" || clauseOf(clause).profile === "base")
    .filter((check) => check === firstCheck || only === undefined || only.some((name) => isNamed(check, name)));
}

export async function judge(subject: Subject, options: JudgeOptions): Promise<Judged> {
  const { moduleUrl, profile, seed, time, onResult, onStart, done = [] } = options;
  const base = { subject, moduleUrl, time, seed };
  const facts = await onBench({ ...base, facts: unknownFacts(subject) }, survey);
  const planned = plannedChecks(options);
  const others = planned.filter((check) => check !== firstCheck);
  const results: CheckResult[] = [];
  for (const check of [firstCheck, ...shuffled(others, seed)]) {
    const first = results[0];
    const blockedBy = first === undefined || first.state === "pass" ? undefined : first.check;
    const before = done.find((result) => result.check === check.id);
    if (before === undefined) onStart?.(headingOf(check));
    const result = before ?? (await resultOf(check, { ...base, facts }, blockedBy));
    results.push(result);
    if (before === undefined) onResult?.(result);
  }
  const { capabilities, guesses, backend } = facts;
  const name = subject.name ?? nameOf(moduleUrl);
  return {
    understanding: { name, profile, time: facts.time, backend, capabilities, guesses },
    deviations: subject.deviations ?? [],
    results,
  };
}

function headingOf(check: Check): CheckHeading {
  const { id, level, sentence } = clauseOf(check.clause);
  return { check: check.id, clause: id, level, sentence };
}

async function resultOf(check: Check, options: BenchOptions, blockedBy: string | undefined): Promise<CheckResult> {
  const startedAt = realNowMs();
  const about = headingOf(check);
  const ended = (rest: Pick<CheckResult, "state"> & Partial<CheckResult>): CheckResult => ({
    ...about,
    ...rest,
    durationMs: Math.round(realNowMs() - startedAt),
  });
  if (blockedBy !== undefined) return ended({ state: "blocked", blockedBy });
  const lacking = missing(check, options.facts);
  if (lacking !== undefined) return ended(lacking);
  return onBench(options, async (bench, backend, watch) => {
    let failure: unknown;
    try {
      await check.run(bench);
    } catch (error) {
      failure = error;
    }
    failure ??= watch();
    if (failure === undefined) return ended({ state: "pass" });
    return ended(explained(failure, check, bench, backend));
  }).catch((error: unknown) => ended({ state: "harness-error", saw: String(Object(error).stack ?? error) }));
}

/** What a failure means, and whose it is. */
function explained(
  failure: unknown,
  check: Check,
  bench: Bench,
  backend: Backend | undefined,
): Pick<CheckResult, "state"> & Partial<CheckResult> {
  if (failure instanceof Verdict) return { state: failure.state, saw: failure.message };
  const state = clauseOf(check.clause).level === "MUST" ? "fail" : "advisory";
  const exchange = (backend?.observed() ?? []).slice(-6).map(({ summary }) => summary);
  const because = (reason: string, saw: string): Pick<CheckResult, "state"> & Partial<CheckResult> => {
    const likelyCause = check.reasons[reason] ?? commonReasons[reason];
    return { state, reason, saw, exchange, ...(likelyCause === undefined ? {} : { likelyCause }) };
  };
  if (failure instanceof Violation) return because(failure.reason, failure.message);
  if (failure instanceof Hung) return because("hung", failure.message);
  if (failure instanceof ProviderThrew) {
    const said = bench.harmless(Reflect.get(Object(failure.error), "message"));
    const words = said === undefined || said === "" ? "" : `: ${said}`;
    return because("threw", `${failure.operation} threw ${nameOfError(failure.error)}${words}`);
  }
  return { state: "harness-error", saw: String(Object(failure).stack ?? failure) };
}

/** Runs something on a bench of its own, and leaves nothing behind. */
async function onBench<T>(
  options: BenchOptions,
  run: (bench: Bench, backend: Backend | undefined, watch: () => Violation | undefined) => Promise<T>,
): Promise<T> {
  const factory = options.subject.backend === "none" ? undefined : options.subject.backend;
  const backend = await factory?.start({ now: options.time.now });
  const detach = backend === undefined ? undefined : await factory?.attach?.(backend.connection);
  const network = watchNetwork({
    allow: (host, port) => isLoopback(host) && bench.backends.some((each) => isOf(each, port)),
  });
  const rejected: unknown[] = [];
  const onRejection = (error: unknown): void => void rejected.push(error);
  process.on("unhandledRejection", onRejection);
  const watch = (): Violation | undefined => {
    if (network.unexpected.length > 0) {
      return new Violation("unhandled-request", `It tried to reach ${[...new Set(network.unexpected)].join(", ")}.`);
    }
    if (rejected.length > 0)
      return new Violation("unhandled-rejection", `${nameOfError(rejected[0])} was not handled.`);
    return undefined;
  };
  const bench = new Bench(options, backend);
  try {
    return await run(bench, backend, watch);
  } finally {
    await bench.close();
    network.stop();
    process.off("unhandledRejection", onRejection);
    await detach?.();
  }
}

function isOf(backend: Backend, port: number): boolean {
  return backend.ports().includes(port);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

function nameOfError(error: unknown): string {
  const name = Reflect.get(Object(error), "name");
  const code = Reflect.get(Object(error), "code");
  const known = typeof name === "string" && /^[A-Za-z]{1,60}$/.test(name) ? name : `a ${typeof error}`;
  return typeof code === "string" && /^[A-Za-z_0-9]{1,40}$/.test(code) ? `${known} (${code})` : known;
}

function nameOf(moduleUrl: string): string {
  return (
    new URL(moduleUrl).pathname
      .split("/")
      .at(-1)
      ?.replace(/\.\w+$/, "") ?? "subject"
  );
}

/** The same order for the same seed. */
function shuffled<T>(items: readonly T[], seed: number): readonly T[] {
  const mixed = [...items];
  let state = seed >>> 0;
  for (let index = mixed.length - 1; index > 0; index -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = state % (index + 1);
    [mixed[index], mixed[other]] = [mixed[other] as T, mixed[index] as T]; // both indexes are within the array
  }
  return mixed;
}
