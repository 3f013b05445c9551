import { describe, expect, it } from "vitest";
import { type ConformanceOptions, registerConformance } from "./binding.ts";
import { allChecks, clauseOf } from "./families/index.ts";
import { siblingModule } from "./process/rpc.ts";

interface Registered {
  readonly name: string;
  readonly run: (skip: (reason: string) => void, say: (text: string) => void) => Promise<void>;
}

/** What a runner is given, run in order: `ok`, or why not. */
async function outcomes(subject: string, options: ConformanceOptions): Promise<ReadonlyMap<string, string>> {
  const tests: Registered[] = [];
  registerConformance(new URL(subject, siblingModule("reference/subject", import.meta.url)), options, {
    describe: (_, body) => body(),
    it: (name, run) => void tests.push({ name, run }),
  });
  const ended = new Map<string, string>();
  for (const { name, run } of tests) {
    ended.set(name, "ok");
    await run(
      (reason) => void ended.set(name, `skipped: ${reason}`),
      () => {},
    ).catch((error: unknown) => ended.set(name, `failed: ${Object(error).message}`));
  }
  return ended;
}

describe("a test runner", () => {
  it("is given a test for each check of the profile, and one for the whole", async () => {
    const names: string[] = [];
    registerConformance(
      "file:///subject.ts",
      { profile: "base" },
      { describe: (_, body) => body(), it: (name) => void names.push(name) },
    );
    const base = allChecks.filter(({ clause }) => clauseOf(clause).profile === "base");
    expect(names).toEqual([...base.map(({ id, title }) => `${id}: ${title}`), "is as declared, all in all"]);
  });

  it("sees a check pass, and a run of some checks certify nothing", async () => {
    const ended = [...(await outcomes("subject.ts", { only: ["remembering"] }))];
    expect(ended).toEqual([
      [expect.stringMatching(/^remembering\/first: /), "ok"],
      ["is as declared, all in all", expect.stringMatching(/^skipped: .*never certifies/)],
    ]);
  });

  it("sees a check fail with the clause, what was seen, the likely cause and how to run it alone", async () => {
    const [first] = await outcomes("subject.ts?mutant=remembering/shares-one-store", { only: ["remembering"] });
    expect(first?.[1]).toMatch(
      /^failed: remembering\/first: fail \(other-memory\)\n {2}MEM-REM-01 MUST: .*\n {2}Seen: .*\n {2}Likely cause: .*\n.*\n {2}Alone: only: \["remembering\/first"\]$/,
    );
  });

  it("is told at once of options that cannot be used, and of checks that there are none of", () => {
    const runner = { describe: (_: string, body: () => void) => body(), it: () => {} };
    const register = (options: object) => () => registerConformance("file:///subject.ts", options, runner);
    expect(register({ profile: "strcit" })).toThrow(/profile/);
    expect(register({ profil: "strict" })).toThrow(/profil/);
    expect(register({ only: "replay" })).toThrow(/only/);
    expect(register({ only: [] })).toThrow(/only/);
    expect(register({ only: ["replay/quite"] })).toThrow(/There is no check or family "replay\/quite"/);
  });

  it("sees every test fail when the subject cannot be loaded", async () => {
    const ended = await outcomes("missing.ts", {});
    expect(ended.size).toBe(allChecks.filter(({ clause }) => clauseOf(clause).profile === "base").length + 1);
    const [first, ...others] = ended.values();
    expect(first).toMatch(/^failed: .*missing\.ts/);
    expect(new Set(others.slice(0, -1))).toEqual(
      new Set(["failed: The subject could not be judged: the first test says why."]),
    );
  });
});
