/** How a turn's time and heap are measured, for all systems in turn. */
import { type Answer, type Order, SystemProcess } from "./process.ts";
import { turnsPerSession } from "./sessions.ts";
import { slots, type Work } from "./slots.ts";
import { type SystemName, systemNames } from "./system.ts";

/** How much is played. */
export interface Amount {
  readonly rounds: number;
  /** What one system plays in one round. */
  readonly round: Order;
}

export interface Result {
  readonly system: SystemName;
  /** CPU time, the median of all rounds. */
  readonly microsecondsPerTurn: number;
  readonly fastestRound: number;
  readonly slowestRound: number;
  /** Time on the wall, the median of all rounds: more, where other programs wanted the processor too. */
  readonly elapsedMicrosecondsPerTurn: number;
  readonly kilobytesPerTurn: number;
}

/** Uncounted rounds, after which the code is compiled as far as it will be. */
const warmUpRounds = 10;
/**
 * Garbage is collected before bytes are counted, and none while they are: the young generation is that large, in megabytes.
 * Where time is measured, nobody asks for a collection: it would throw away compiled code too.
 */
const countedHeap = ["--expose-gc", "--min-semi-space-size=256", "--max-semi-space-size=256"];
const bytesPerKilobyte = 1_024;

/** @throws Error when a system did other work than it was asked for, or when its heap could not be measured. */
export async function measure(amount: Amount): Promise<Result[]> {
  const rounds = await playRounds(amount);
  const turns = amount.round.sessions * turnsPerSession;
  const kilobytes = await Promise.all(systemNames.map((system) => kilobytesPerTurn(system, amount)));
  return systemNames.map((system, index) => {
    const answers = rounds.map((round) => round[system]);
    const times = sorted(answers.map(({ cpuMicroseconds }) => cpuMicroseconds / turns));
    return {
      system,
      microsecondsPerTurn: median(times),
      fastestRound: times.at(0) ?? Number.NaN,
      slowestRound: times.at(-1) ?? Number.NaN,
      elapsedMicrosecondsPerTurn: median(sorted(answers.map((answer) => answer.elapsedMicroseconds / turns))),
      kilobytesPerTurn: kilobytes[index] ?? Number.NaN,
    };
  });
}

/** Systems take turns, so that a slow moment of the machine is everybody's. */
async function playRounds({ rounds, round }: Amount): Promise<Record<SystemName, Answer>[]> {
  const processes = systemNames.map((system) => new SystemProcess(system));
  try {
    const answers: Record<SystemName, Answer>[] = [];
    for (let index = -warmUpRounds; index < rounds; index += 1) {
      const played: [SystemName, Answer][] = [];
      for (const process of processes) played.push([process.system, await play(process, round)]);
      if (index >= 0) answers.push(Object.fromEntries(played) as Record<SystemName, Answer>);
    }
    return answers;
  } finally {
    for (const process of processes) process.end();
  }
}

async function kilobytesPerTurn(system: SystemName, { round }: Amount): Promise<number> {
  const process = new SystemProcess(system, countedHeap);
  try {
    for (let index = 0; index < warmUpRounds; index += 1) await play(process, round);
    for (let sessions = round.sessions; sessions >= 1; sessions = Math.floor(sessions / 2)) {
      const { heapGrowthBytes } = await play(process, { ...round, sessions });
      if (heapGrowthBytes !== null) return heapGrowthBytes / (sessions * turnsPerSession) / bytesPerKilobyte;
    }
    throw new Error(`Garbage of ${system} was collected even within one session, so that its heap cannot be measured.`);
  } finally {
    process.end();
  }
}

async function play(process: SystemProcess, order: Order): Promise<Answer> {
  const answer = await process.play(order);
  const expected = JSON.stringify(expectedWork(order.sessions));
  const done = JSON.stringify(answer.work);
  if (done !== expected) throw new Error(`The work of ${process.system} was ${done} instead of ${expected}.`);
  return answer;
}

/** Every provider is asked three times a turn. It is shown what was said before, then also the input, then also the answer. */
function expectedWork(sessions: number): Work {
  const calls = sessions * turnsPerSession * Object.keys(slots).length;
  const messagesBefore = turnsPerSession - 1; // two a turn, and on average half of the session's other turns have passed
  return { recalls: calls, toolSets: calls, captures: calls, messages: calls * (3 * messagesBefore + 1 + 2) };
}

function sorted(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

function median(sortedValues: readonly number[]): number {
  const upper = sortedValues[Math.floor(sortedValues.length / 2)] ?? Number.NaN;
  const lower = sortedValues[Math.ceil(sortedValues.length / 2) - 1] ?? Number.NaN;
  return (upper + lower) / 2;
}
