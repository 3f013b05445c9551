/** Judges one subject in this process: each check on a backend of its own, each failure blamed on whom it concerns. */
import type { Backend } from "./backend.ts";
import { bounded } from "./backends/bounded.ts";
import { watchNetwork } from "./backends/net-guard.ts";
import { Bench, type BenchOptions } from "./bench.ts";
import { type Check, commonReasons, Verdict, Violation } from "./check.ts";
import type { Facts } from "./drive/facts.ts";
import { ProviderThrew } from "./drive/handle.ts";
import { allChecks, clauseOf } from "./families/index.ts";
import { missing } from "./needs.ts";
import { headingOf } from "./plan.ts";
import { ProviderProcesses } from "./process/provider-processes.ts";
import type { CheckResult } from "./result.ts";
import type { Subject } from "./subject/define.ts";
import { survey, unknownFacts } from "./survey.ts";
import type { KitClock } from "./time/kit-clock.ts";
import { Hung, realNowMs } from "./time/wait.ts";

export interface JudgeOptions {
  /** From where the subject can be loaded again, in another process. */
  readonly moduleUrl: string;
  readonly time: KitClock;
  /** Feeds the random checks. */
  readonly seed: number;
  /** What is known of the provider already. Default: it is got to know first. */
  readonly facts?: Facts | undefined;
}

export interface Judge {
  readonly facts: Facts;
  /** One at a time. Never fails: what goes wrong is the result. */
  try(check: Check): Promise<CheckResult>;
}

export async function createJudge({ backend, ...rest }: Subject, options: JudgeOptions): Promise<Judge> {
  const { moduleUrl, time, seed } = options;
  const subject: Subject = { ...rest, backend: backend === "none" ? backend : bounded(backend) };
  const base = { subject, moduleUrl, time, seed, processes: new ProviderProcesses() };
  const first: BenchOptions = { ...base, facts: unknownFacts(subject), occasion: { name: "survey", number: 0 } };
  const facts = options.facts ?? (await onBench(first, survey));
  return {
    facts,
    try: (check) =>
      resultOf(check, { ...base, facts, occasion: { name: check.id, number: 1 + allChecks.indexOf(check) } }),
  };
}

async function resultOf(check: Check, options: BenchOptions): Promise<CheckResult> {
  const startedAt = realNowMs();
  const about = headingOf(check);
  const ended = (rest: Pick<CheckResult, "state"> & Partial<CheckResult>): CheckResult => ({
    ...about,
    ...rest,
    durationMs: Math.round(realNowMs() - startedAt),
  });
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
    const likelyCause = { ...commonReasons, ...check.reasons }[reason];
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
