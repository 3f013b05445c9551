/**
 * The same scripts through the real eve and through this host: what the model is shown, what providers are called with, how
 * calls end. Where ours does something else on purpose, what both do is pinned.
 */
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { eveAgent, keepsakeAgent } from "./test-support/parity/agents.ts";
import { commits } from "./test-support/parity/commits.ts";
import { compactions } from "./test-support/parity/compactions.ts";
import { contexts } from "./test-support/parity/contexts.ts";
import { failures } from "./test-support/parity/failures.ts";
import { providers } from "./test-support/parity/providers.ts";
import { scopes } from "./test-support/parity/scopes.ts";
import type { ParityScript, Trace } from "./test-support/parity/script.ts";
import { tools } from "./test-support/parity/tools.ts";

const scripts = { scopes, contexts, commits, failures, compactions, tools, providers };

beforeEach(() => {
  // eve tells of every failure on the console, and of a run that it cannot put attributes on.
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(() => vi.restoreAllMocks());

async function play(
  { scene, appRoot = "/app" }: ParityScript,
  createAgent: typeof eveAgent,
): Promise<readonly Trace[]> {
  const traces: Trace[] = [];
  const { slots, play } = scene((note) => void traces.push({ note }));
  await play(createAgent(slots, traces, appRoot));
  return traces;
}

describe.each(Object.entries(scripts))("%s", (_name, group) => {
  it.each(group.map((script) => [`${script.clause}  ${script.title}`, script] as const))(
    "%s",
    async (_title, script) => {
      const { look = (traces: readonly Trace[]) => traces, differs } = script;
      const eves = look(await play(script, eveAgent));
      const ours = look(await play(script, keepsakeAgent));
      if (differs === undefined) {
        expect(ours).toEqual(eves);
        expect(JSON.stringify(ours).length).toBeGreaterThan(2); // nothing would equal nothing
      } else {
        expect(eves).toEqual(differs.eve);
        expect(ours).toEqual(differs.keepsake);
        expect(ours).not.toEqual(eves);
      }
    },
  );
});

it("the README lists every difference, by its clause", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const listed = [...readme.matchAll(/^\| (\d+\.\d+) \|/gm)].map(([, clause]) => clause);
  const differing = Object.values(scripts).flatMap((group) =>
    group.filter(({ differs }) => differs !== undefined).map(({ clause }) => clause),
  );
  expect(differing.length).toBeGreaterThan(0);
  expect(differing.filter((clause) => !listed.includes(clause))).toEqual([]);
});

it("there are at least sixty", () => {
  expect(Object.values(scripts).flat().length).toBeGreaterThanOrEqual(60);
});
