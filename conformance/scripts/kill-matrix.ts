/**
 * Puts every mutant through the checks that it names and writes down what came of it: which checks fail which mutants
 * (KILLS.md), and which checks and mutants stand behind each clause (CLAUSES.md). Fails for a mutant that survives, a check
 * that kills nothing, a clause that nothing proves, and a mutant that fails what it has nothing to do with. With `--check`
 * it also fails where the two are not what this run makes of them, and writes nothing. With `--lists` nothing is run: the lists
 * are written as the mutants claim, for a run to prove. With `--full` every mutant is put
 * through all checks that start no processes, and KILLS.md says what else failed it; that takes long.
 */
import { readFile, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { certify } from "../src/certify.ts";
import type { Check } from "../src/check.ts";
import { allChecks, allClauses, allMutants, firstCheck } from "../src/families/index.ts";
import type { Mutant } from "../src/family.ts";
import { JudgeWorker } from "../src/judge-worker.ts";
import { headingOf, plannedChecks } from "../src/plan.ts";
import type { CheckResult } from "../src/result.ts";

/** What a run showed of one mutant: the reason by the check that failed it. */
interface Seen {
  readonly mutant: Mutant;
  readonly failed: ReadonlyMap<string, string>;
  readonly passed: ReadonlySet<string>;
  /** What the checks saw that did not pass, for whoever looks for the fault. */
  readonly saw: ReadonlyMap<string, string>;
}

const subject = new URL("../src/reference/subject.ts", import.meta.url);
const seed = 1;
const mutantsPerProcess = 25;
const folder = join(import.meta.dirname, "..");
const isChecking = process.argv.includes("--check");
const isFull = process.argv.includes("--full");
const isListing = process.argv.includes("--lists");

const seen = isListing ? allMutants.map(claimed) : await allSeen();
const faults = [...seen.flatMap(faultsOf), ...uncovered(seen)];
for (const [name, content] of Object.entries({ "CLAUSES.md": clausesPage(seen), "KILLS.md": killsPage(seen) })) {
  if (!isChecking) await writeFile(join(folder, name), content);
  else if ((await readFile(join(folder, name), "utf8").catch(() => "")) !== content) {
    faults.push(`${name} is not up to date: run pnpm kill-matrix.`);
  }
}
const excluded = allClauses.filter((clause) => clause.excluded !== undefined).length;
console.log(
  `${allClauses.length} clauses (${excluded} excluded), ${allChecks.length} checks, ${seen.length} mutants, ${faults.length} faults`,
);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

async function allSeen(): Promise<readonly Seen[]> {
  const waiting = [...allMutants];
  const found: Seen[] = [];
  const work = async (): Promise<void> => {
    let judge = new JudgeWorker(process.execArgv);
    let judged = 0;
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      found.push(needsItsOwnProcess(mutant) ? await certified(mutant) : await judgedBy(judge, mutant));
      judged += 1;
      if (judged % mutantsPerProcess > 0) continue;
      await judge.end();
      judge = new JudgeWorker(process.execArgv);
    }
    await judge.end();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return allMutants.flatMap((mutant) => found.filter((each) => each.mutant === mutant));
}

function claimed(mutant: Mutant): Seen {
  return {
    mutant,
    failed: new Map(Object.entries(mutant.kills)),
    passed: new Set(allChecks.map(({ id }) => id)),
    saw: new Map(),
  };
}

function needsItsOwnProcess({ imported, time }: Mutant): boolean {
  return imported !== undefined || time === "global";
}

async function certified(mutant: Mutant): Promise<Seen> {
  const { results } = await certify(urlOf(mutant), { profile: "strict", only: checksFor(mutant), seed });
  return seenOf(mutant, results);
}

/** As {@link certify} does, in a process that has judged other mutants before: to start one takes longer than to judge. */
async function judgedBy(judge: JudgeWorker, mutant: Mutant): Promise<Seen> {
  await judge.meet({ moduleUrl: String(urlOf(mutant)), timeMode: mutant.time ?? "injected", seed });
  const planned = plannedChecks({ profile: "strict", only: checksFor(mutant) }).map(headingOf);
  const results: CheckResult[] = [];
  for (const heading of planned) {
    results.push(await judge.try(heading));
    if (results[0]?.state !== "pass") break;
  }
  return seenOf(mutant, results);
}

function urlOf({ id }: Mutant): URL {
  return new URL(`?mutant=${encodeURIComponent(id)}`, subject);
}

function checksFor({ kills, spares }: Mutant): readonly string[] {
  const named = [...Object.keys(kills), ...spares];
  return isFull ? [...named, ...allChecks.filter(({ slow }) => !slow).map(({ id }) => id)] : named;
}

function seenOf(mutant: Mutant, results: readonly CheckResult[]): Seen {
  const failed = results.filter(({ state }) => state === "fail" || state === "advisory");
  return {
    mutant,
    failed: new Map(failed.map(({ check, reason = "" }) => [check, reason])),
    passed: new Set(results.filter(({ state }) => state === "pass").map(({ check }) => check)),
    saw: new Map(results.map(({ check, state, reason = state, saw = "" }) => [check, `${reason}: ${saw}`])),
  };
}

function faultsOf({ mutant, failed, passed, saw }: Seen): readonly string[] {
  const { id, kills, spares } = mutant;
  const wanted = [...spares, ...(firstCheck.id in kills ? [] : [firstCheck.id])];
  const seenBy = (check: string): string => saw.get(check) ?? "not run";
  return [
    ...Object.entries(kills)
      .filter(([check, reason]) => failed.get(check) !== reason)
      .map(([check, reason]) => `${id} does not fail ${check} for ${reason} (${seenBy(check)})`),
    ...wanted.filter((check) => !passed.has(check)).map((check) => `${id} does not pass ${check} (${seenBy(check)})`),
  ];
}

function uncovered(all: readonly Seen[]): readonly string[] {
  const proved = new Set(allChecks.map(({ clause }) => clause));
  return [
    ...allClauses
      .filter(({ id, excluded: why }) => !proved.has(id) && why === undefined)
      .map(({ id }) => `${id} has no check`),
    ...allClauses
      .filter(({ id, excluded: why }) => proved.has(id) && why !== undefined)
      .map(({ id }) => `${id} is excluded and has a check`),
    ...allChecks.filter((check) => killersOf(check, all).length === 0).map(({ id }) => `${id} kills no mutant`),
  ];
}

/** Mutants that a check fails for the reason that they name. */
function killersOf({ id }: Check, all: readonly Seen[]): readonly string[] {
  return all
    .filter(({ mutant, failed }) => id in mutant.kills && failed.get(id) === mutant.kills[id])
    .map(({ mutant }) => mutant.id);
}

function clausesPage(all: readonly Seen[]): string {
  const rows = allClauses.map(({ id, level, profile, sentence, source, excluded: why }) => {
    const checks = allChecks.filter(({ clause }) => clause === id);
    const proof = checks.map(
      (check) =>
        `\`${check.id}\` kills ${killersOf(check, all)
          .map((each) => `\`${each}\``)
          .join(", ")}`,
    );
    return `| ${id} | ${level} | ${profile} | ${sentence} | ${source} | ${why === undefined ? proof.join("<br>") : `Not shown: ${why}`} |`;
  });
  return page("Clauses, the checks that prove them, and the mutants that prove the checks", [
    "| clause | level | profile | what is demanded | source | proof |",
    "| --- | --- | --- | --- | --- | --- |",
    ...rows,
  ]);
}

function killsPage(all: readonly Seen[]): string {
  const rows = all.map(({ mutant, failed }) => {
    const named = Object.entries(mutant.kills).map(([check, reason]) => `\`${check}\` (${reason})`);
    const spared = mutant.spares.map((check) => `\`${check}\``);
    const others = [...failed.keys()].filter((check) => !(check in mutant.kills)).sort();
    const row = [`\`${mutant.id}\``, mutant.flaw, named.join("<br>"), spared.join(" ")];
    return `| ${[...row, ...(isFull ? [others.map((check) => `\`${check}\``).join(" ")] : [])].join(" | ")} |`;
  });
  const columns = ["mutant", "flaw", "failed, as it must", "passed, as it must", ...(isFull ? ["failed too"] : [])];
  return page("Mutants: the reference provider, wrong in one way, and the checks that fail it", [
    `| ${columns.join(" | ")} |`,
    `| ${columns.map(() => "---").join(" | ")} |`,
    ...rows,
  ]);
}

function page(title: string, lines: readonly string[]): string {
  return [`# ${title}`, "", "Generated by `pnpm kill-matrix` from a run of every mutant.", "", ...lines, ""].join("\n");
}
