/** Breaking a backend under an operation, and letting both recover. */
import { type Fault, faults, isEndless } from "../backend.ts";
import type { Bench } from "../bench.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { Hung, quiet } from "../time/wait.ts";
import { ProviderThrew } from "./handle.ts";
import { type Operation, type OperationName, operationsOf, ready } from "./operations.ts";

/** Faults of this backend under which an operation ends by itself. */
export function endingFaults({ facts, time }: Bench): readonly Fault[] {
  const known = facts.backend === "none" ? [] : faults[facts.backend];
  // Who honours a Retry-After in real time takes longer than anybody waits for it here.
  return known.filter((fault) => !isEndless(fault)).map((fault) => (time.mode === "real" ? hasty(fault) : fault));
}

/** Of those, the ones that say nothing true: a service may answer 404 for what is gone already, and 409 for what is there. */
export function plainFaults(bench: Bench): readonly Fault[] {
  return endingFaults(bench).filter((fault) => fault.kind !== "status" || ![404, 409].includes(fault.status));
}

/** Faults of this backend under which nothing ends but by a deadline or an abort. */
export function endlessFaults({ facts }: Bench): readonly Fault[] {
  return facts.backend === "none" ? [] : faults[facts.backend].filter(isEndless);
}

/** A fault after which trying again is the right thing to do. */
export function passingFault(bench: Bench): Fault {
  const wanted = { http: "HTTP 503", tcp: "connection reset", directory: "EIO", none: "" }[bench.facts.backend];
  const found = endingFaults(bench).find(({ name }) => name === wanted);
  if (found === undefined) throw new TypeError("A check that breaks the backend has to need one.");
  return found;
}

/** After how many of its requests an operation meets a fault: each of them, or so many, evenly spread. */
export function moments(requests: number, most: number): readonly number[] {
  const count = Math.min(requests, most);
  return Array.from({ length: count }, (_, index) => Math.floor((index * requests) / count));
}

export interface Met {
  readonly fault: Fault;
  readonly operation: Operation;
  /** `pending` only under real time, where nobody waits for longer than ten seconds. */
  readonly outcome: Outcome<unknown>;
  /** How many requests it made meanwhile. */
  readonly sent: number;
}

/** Has an operation meet each of the faults in turn, each time by somebody new; all is well again when `see` is called. */
export async function meetFaults(
  bench: Bench,
  name: OperationName,
  see: (met: Met) => Promise<void>,
  met: readonly Fault[] = endingFaults(bench),
): Promise<void> {
  const handle = await bench.open();
  const meant = operationsOf(bench, [name]).length > 0 ? await meaningful(bench, name) : new Set<number>();
  for (const fault of met) {
    if (fault.kind === "status" && meant.has(fault.status)) continue;
    const operation = await ready(bench, handle, name);
    if (operation === undefined)
      bench.notApplicable("It shows no effect that could be missing, even while all is well.");
    bench.backend.inject(fault);
    const before = bench.backend.observed().length;
    const outcome = await attempt(bench, () => operation.run());
    const sent = bench.backend.observed().length - before;
    await recover(bench);
    await see({ fault, operation, outcome, sent });
  }
}

/** How an operation ends while something is wrong. */
export async function attempt<T>(bench: Bench, call: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return await bench.outcome(call);
  } catch (error) {
    if (error instanceof Hung && bench.time.mode === "real") return { state: "pending" };
    throw error;
  }
}

/** Heals the backend, and gives a provider that leaves it alone for a while the time to come back. */
export async function recover(bench: Bench): Promise<void> {
  bench.backend.heal();
  if (bench.time.mode !== "real") await bench.time.advance(coolDownMs);
}

/**
 * The same where calls were given up: what they leave behind, such as a socket that closes and is made once more, belongs
 * to this check, and would be blamed on the next.
 */
export async function recoverFromAbandoned(bench: Bench): Promise<void> {
  bench.backend.heal();
  await quiet(bench.busy);
  await recover(bench);
  await quiet(bench.busy);
}

/** What should work again. Under real time nobody waits for a cool-down to end. */
export async function recovered<T>(bench: Bench, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (bench.time.mode !== "real" || !(error instanceof ProviderThrew)) throw error;
    return bench.advise("Not decided: its time is real, and it still refused right after its backend had recovered.");
  }
}

const coolDownMs = 300_000;

function hasty(fault: Fault): Fault {
  return fault.kind === "status" && fault.retryAfterSeconds !== undefined
    ? { name: fault.name, kind: fault.kind, status: fault.status }
    : fault;
}

/**
 * Statuses that this service uses to say something true: 404 to who asks for what is not there, 409 to who writes what is
 * there already. Where it does, an injected one cannot be told from the truth.
 */
async function meaningful(bench: Bench, name: OperationName): Promise<ReadonlySet<number>> {
  const status = name === "capture" || name === "save" ? 409 : 404;
  if (bench.facts.backend !== "http") return new Set();
  const person = bench.someone(await bench.open());
  const memory = bench.canary();
  await person.recalls(memory.query);
  if (bench.facts.searchTool !== undefined) await person.search(memory.query).catch(() => {});
  if (status === 409) await person.repeat(await person.write(memory.text)).catch(() => {});
  return new Set(bench.backend.observed().some((exchange) => exchange.status === status) ? [status] : []);
}
