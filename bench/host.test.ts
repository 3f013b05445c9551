/** The benchmark runs, compares three systems, and says in one line what is wrong. No figure is judged here. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";

async function bench(...args: readonly string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "host.ts"), ...args]);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code, stdout, stderr };
}

describe("bench:host", { timeout: 120_000 }, () => {
  it("prints one JSON object with the figures of three systems", async () => {
    const { code, stdout, stderr } = await bench("--json", "--turns", "40", "--rounds", "1");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const positive = expect.toSatisfy((value: unknown) => Number.isFinite(value) && Number(value) > 0);
    const figures = { microsecondsPerTurn: positive, elapsedMicrosecondsPerTurn: positive, kilobytesPerTurn: positive };
    expect(JSON.parse(stdout)).toMatchObject({
      results: ["keepsake", "by-hand", "eve"].map((system) => ({ system, ...figures })),
      slots: 4,
      turnsPerRound: 40,
      rounds: 1,
    });
  });

  it("says in one line what it cannot read or do", async () => {
    const missing = join(tmpdir(), "keepsake-bench-missing.jsonl");
    expect(await bench("--data", missing)).toEqual({ code: 1, stdout: "", stderr: `There is no file ${missing}.\n` });
    const stderr = "--rounds needs a whole number above zero.\n";
    expect(await bench("--rounds", "0")).toEqual({ code: 1, stdout: "", stderr });
  });
});
