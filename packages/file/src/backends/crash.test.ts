/** Processes are killed while they save. What was acknowledged is kept, nothing is torn, nothing is there twice. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scopeKey, storageName } from "@keepsake/core/keys";
import { afterEach, expect, test } from "vitest";
import { parseDocument } from "../document.ts";
import { fileMemory } from "../file-memory.ts";
import { type Child, startChild } from "../test-support/child.ts";
import { type MemoryOf, memoryOf } from "../test-support/memory-of.ts";
import type { SavingChildMessage, SavingChildOptions } from "../test-support/saving-child.ts";
import { directory } from "./directory.ts";

const { KEEPSAKE_CRASH_ROUNDS = "3", KEEPSAKE_CRASH_SEED = "20260" } = process.env;
const rounds = Number(KEEPSAKE_CRASH_ROUNDS);
const seed = Number(KEEPSAKE_CRASH_SEED);
const savesPerProcess = 20;
const key = scopeKey({ namespace: "tests", scope: "crash" });
const children: Child[] = [];
const roots: string[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill();
    await child.ended;
  }
  for (const root of roots.splice(0)) await rm(root, { recursive: true });
});

interface Round {
  readonly acknowledged: readonly string[];
  readonly conflicts: number;
  readonly kills: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
}

test(`two processes with ${savesPerProcess} saves each keep all 40, or say which were in conflict`, {
  timeout: 60_000,
}, async () => {
  const { acknowledged, conflicts, kills, lost, doubled } = await playRound(() => {});
  expect({ kills, lost, doubled }).toEqual({ kills: 0, lost: [], doubled: [] });
  expect(acknowledged.length + conflicts).toBe(2 * savesPerProcess);
});

test(`${rounds} rounds with killed processes (seed ${seed}) lose and double nothing`, {
  timeout: 60_000 + rounds * 20_000,
}, async () => {
  const random = randomNumbers(seed);
  const start = performance.now();
  const total = { acknowledged: 0, conflicts: 0, kills: 0, lost: 0, doubled: 0 };
  for (let round = 1; round <= rounds; round += 1) {
    const { acknowledged, conflicts, kills, lost, doubled } = await playRound((saving) => arrangeKills(saving, random));
    expect({ round, lost, doubled }).toEqual({ round, lost: [], doubled: [] });
    total.acknowledged += acknowledged.length;
    total.conflicts += conflicts;
    total.kills += kills;
  }
  const seconds = Math.round((performance.now() - start) / 1_000);
  console.log(`Crash test: ${JSON.stringify({ rounds, seed, ...total, seconds })}`);
  expect(total.kills).toBeGreaterThan(0);
  expect(total.acknowledged).toBeGreaterThan(0);
});

/** A process about to save. */
interface Saving {
  readonly options: SavingChildOptions;
  /** What ends it early; without one it saves to the end. */
  death?: { readonly atOperation: number } | { readonly afterSaves: number } | { readonly afterMs: number };
}

/** One process or both die: before a certain file operation, after some of both's saves, or after some time. */
function arrangeKills(saving: readonly Saving[], random: (below: number) => number): void {
  const victims = [[0], [1], [0, 1]][random(3)] ?? [];
  for (const victim of victims) {
    const process = saving[victim];
    if (process === undefined) continue;
    const deaths = [
      { atOperation: 1 + random(savesPerProcess * 25) },
      { afterSaves: random(2 * savesPerProcess) },
      { afterMs: random(200) },
    ];
    process.death = deaths[random(deaths.length)] ?? { afterSaves: 0 };
  }
}

async function playRound(arrange: (saving: readonly Saving[]) => void): Promise<Round> {
  const root = await mkdtemp(join(tmpdir(), "keepsake-crash-"));
  roots.push(root);
  const saving: Saving[] = ["first", "second"].map((name) => ({
    options: {
      root,
      key,
      sessionId: name,
      texts: Array.from({ length: savesPerProcess }, (_, index) => `${name}-${index};`),
    },
  }));
  arrange(saving);
  const { acknowledged, conflicts, kills } = await saveAndKill(saving);

  // Whatever was under way when the process died is there once or not at all.
  const after = await savedTexts(root);
  const texts = saving.flatMap(({ options }) => options.texts);
  const lost = acknowledged.filter((text) => !after.includes(text));
  const doubled = after.filter((text, index) => after.indexOf(text) !== index);
  expect(after.filter((text) => !texts.includes(text))).toEqual([]);
  expect(after.length).toBeLessThanOrEqual(acknowledged.length + kills + conflicts);

  // One is forgotten. Then the calls come again, as they do when nobody knows how they ended, and life goes on.
  const forgotten = after[0];
  const later = memoryIn(root, "later");
  await later.remove(0);
  for (const { options } of saving) {
    const { save } = memoryIn(root, options.sessionId);
    for (const text of options.texts) await save(text, { callId: text });
  }
  await later.save("later;");
  const expected = [...texts.filter((text) => text !== forgotten), "later;"];
  expect((await savedTexts(root)).toSorted()).toEqual(expected.toSorted());
  const recalled = await later.recall();
  for (const text of expected) expect(recalled?.split(` ${text}`), text).toHaveLength(2);
  expect(await readdir(join(root, storageName(key)))).toEqual(["memory.md"]);

  await rm(root, { recursive: true });
  roots.splice(roots.indexOf(root), 1);
  return { acknowledged, conflicts, kills, lost, doubled };
}

function memoryIn(root: string, sessionId: string): MemoryOf {
  return memoryOf(fileMemory({ backend: directory({ root }), maxCharacters: 1_000_000 }), key, sessionId);
}

async function saveAndKill(saving: readonly Saving[]): Promise<Pick<Round, "acknowledged" | "conflicts" | "kills">> {
  const started = saving.map(({ options, death }) => {
    const atOperation = death !== undefined && "atOperation" in death ? { diesBeforeOperation: death.atOperation } : {};
    return startChild("saving-child.ts", { ...options, ...atOperation });
  });
  children.push(...started);
  await Promise.all(started.map((child) => child.message((message) => "ready" in Object(message))));

  const acknowledged: string[] = [];
  const failures: string[] = [];
  const killAfterSaves = (): void => {
    for (const [index, { death }] of saving.entries()) {
      if (death !== undefined && "afterSaves" in death && acknowledged.length >= death.afterSaves)
        started[index]?.kill();
    }
  };
  for (const child of started) {
    child.onMessage((message) => {
      const result = message as SavingChildMessage;
      if ("saved" in result) acknowledged.push(result.saved);
      if ("failed" in result) failures.push(result.code);
      killAfterSaves();
    });
    child.send("start");
  }
  killAfterSaves();
  const timers = saving.flatMap(({ death }, index) =>
    death !== undefined && "afterMs" in death ? [setTimeout(() => started[index]?.kill(), death.afterMs)] : [],
  );
  const endings = await Promise.all(started.map(({ ended }) => ended));
  for (const timer of timers) clearTimeout(timer);
  children.splice(0);

  // Both may be too fast for each other for a while; nothing else may go wrong.
  expect(failures.filter((code) => code !== "conflict")).toEqual([]);
  const kills = endings.filter((ending) => ending === "SIGKILL").length;
  expect(endings.filter((ending) => ending !== "SIGKILL" && ending !== 0)).toEqual([]);
  return { acknowledged, conflicts: failures.length, kills };
}

async function savedTexts(root: string): Promise<string[]> {
  let content: string;
  try {
    content = await readFile(join(root, storageName(key), "memory.md"), "utf8");
  } catch (error) {
    if (Reflect.get(Object(error), "code") === "ENOENT") return []; // killed before the first save
    throw error;
  }
  return parseDocument(content).entries.map(({ text }) => text);
}

/** Numbers that only depend on the seed (mulberry32). */
function randomNumbers(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
