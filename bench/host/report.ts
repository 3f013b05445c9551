/** What the benchmark prints: a table for people, or one JSON object. */
import { availableParallelism, cpus } from "node:os";
import type { Amount, Result } from "./measure.ts";
import { turnsPerSession } from "./sessions.ts";
import { slots } from "./slots.ts";
import type { SystemName } from "./system.ts";

interface Ratios {
  readonly time: number;
  readonly memory: number;
}

export interface Report {
  readonly benchmark: "host";
  readonly results: readonly Result[];
  /** Keepsake's figures divided by the other's. */
  readonly keepsakeTo: { readonly eve: Ratios; readonly "by-hand": Ratios };
  readonly slots: number;
  readonly turnsPerSession: number;
  readonly turnsPerRound: number;
  readonly rounds: number;
  readonly machine: { readonly cores: number; readonly processor: string; readonly node: string };
}

export function toReport(results: readonly Result[], { rounds, round: { sessions } }: Amount): Report {
  return {
    benchmark: "host",
    results: results.map((result) => ({
      system: result.system,
      microsecondsPerTurn: rounded(result.microsecondsPerTurn),
      fastestRound: rounded(result.fastestRound),
      slowestRound: rounded(result.slowestRound),
      elapsedMicrosecondsPerTurn: rounded(result.elapsedMicrosecondsPerTurn),
      kilobytesPerTurn: rounded(result.kilobytesPerTurn),
    })),
    keepsakeTo: { eve: ratios(results, "keepsake", "eve"), "by-hand": ratios(results, "keepsake", "by-hand") },
    slots: Object.keys(slots).length,
    turnsPerSession,
    turnsPerRound: sessions * turnsPerSession,
    rounds,
    machine: { cores: availableParallelism(), processor: cpus()[0]?.model ?? "unknown", node: process.version },
  };
}

export function toTable(report: Report): string {
  const { results, turnsPerRound, rounds, machine } = report;
  const rows = results.map((result) => {
    const eve = ratios(results, result.system, "eve");
    const byHand = ratios(results, result.system, "by-hand");
    return [
      result.system,
      result.microsecondsPerTurn.toFixed(1),
      `${result.fastestRound.toFixed(1)}-${result.slowestRound.toFixed(1)}`,
      times(eve.time),
      times(byHand.time),
      result.kilobytesPerTurn.toFixed(1),
      times(eve.memory),
      times(byHand.memory),
    ];
  });
  return [
    `A turn with ${report.slots} slots over providers that do nothing; sessions of ${report.turnsPerSession} turns.`,
    "",
    ...toLines([["system", "µs/turn", "rounds", "to eve", "to hand", "KB/turn", "to eve", "to hand"], ...rows]),
    "",
    `CPU time, the median of ${rounds} interleaved rounds of ${turnsPerRound} turns; heap allocated, in units of 1,024 bytes.`,
    `${machine.cores} cores, ${machine.processor}, Node ${machine.node}.`,
  ].join("\n");
}

function ratios(results: readonly Result[], system: SystemName, to: SystemName): Ratios {
  const figures = (name: SystemName): Result | undefined => results.find((result) => result.system === name);
  const ratio = (key: "microsecondsPerTurn" | "kilobytesPerTurn"): number =>
    rounded((figures(system)?.[key] ?? Number.NaN) / (figures(to)?.[key] ?? Number.NaN));
  return { time: ratio("microsecondsPerTurn"), memory: ratio("kilobytesPerTurn") };
}

function toLines(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join("  "),
  );
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)} x`;
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
