/**
 * What importing the provider's module does, which is nothing if it can be imported by a build, a test, or on the edge.
 * Real packages opened connections, started timers, printed banners and took keys from the environment by being imported.
 */
import { createServer } from "node:net";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { defineFamily, type Family } from "../family.ts";
import { siblingModule, startProcess } from "../process/rpc.ts";
import type { SideEffects } from "../process/side-effects.ts";

const acts = defineCheck({
  id: "importing/acts",
  clause: "MEM-IMP-01",
  title: "The subject's module is imported, and nothing else is done",
  slow: true,
  reasons: {
    acts: "Something is begun at the top level of a module: begin it when the provider is made, or at its first use.",
  },
  async run(bench, fail) {
    const { timers, handles, files, connections, console } = await effectsOfImport(bench);
    const seen = [
      ...(timers > 0 ? ["it left timers running"] : []),
      ...(handles.length > 0 ? [`it left handles open (${handles.join(", ")})`] : []),
      ...(files.length > 0 ? ["it wrote files"] : []),
      ...(connections > 0 ? ["it connected"] : []),
      ...(console ? ["it printed"] : []),
    ];
    if (seen.length > 0) fail("acts", `When it was imported, ${seen.join(", ")}.`);
  },
});

const reads = defineCheck({
  id: "importing/reads",
  clause: "MEM-IMP-02",
  title: "The subject's module is imported, and what it reads and leaves in the global scope is noted",
  slow: true,
  reasons: {
    environment: "Variables are read at the top level of a module. Let the provider be given what it needs.",
    globals: "Something is put into the global scope at the top level of a module.",
  },
  async run(bench, fail) {
    const { environment, globals } = await effectsOfImport(bench);
    if (environment.length > 0) fail("environment", `When it was imported, it read ${environment.join(", ")}.`);
    if (globals.length > 0) fail("globals", `When it was imported, it left ${globals.length} new global names.`);
  },
});

export const importing: Family = defineFamily({
  name: "importing",
  clauses: [
    {
      id: "MEM-IMP-01",
      level: "MUST",
      profile: "base",
      sentence: "Importing a provider's module starts no timer, opens nothing, writes no file and prints nothing.",
      source: "C11, K12",
    },
    {
      id: "MEM-IMP-02",
      level: "SHOULD",
      profile: "base",
      sentence: "Importing a provider's module reads no environment variable and adds nothing to the global scope.",
      source: "C11, K12",
    },
  ],
  checks: [acts, reads],
  mutants: [
    {
      id: "importing/opens-a-server",
      flaw: "Listens on a port as soon as it is imported.",
      kills: { "importing/acts": "acts" },
      spares: ["importing/reads", "idempotency/capture-twice"],
      imported: () => void createServer().listen(0, "127.0.0.1"),
    },
    {
      id: "importing/starts-a-timer",
      flaw: "Starts sweeping what has expired as soon as it is imported.",
      kills: { "importing/acts": "acts" },
      spares: ["importing/reads", "idempotency/capture-twice"],
      imported: () => void setInterval(() => {}, 60_000),
    },
    {
      id: "importing/reads-the-environment",
      flaw: "Takes its address from the environment as soon as it is imported.",
      kills: { "importing/reads": "environment" },
      spares: ["importing/acts", "idempotency/capture-twice"],
      imported: () => void process.env.REFERENCE_URL,
    },
    {
      id: "importing/leaves-a-global",
      flaw: "Keeps its instances in the global scope.",
      kills: { "importing/reads": "globals" },
      spares: ["importing/acts", "idempotency/capture-twice"],
      imported: () => void Object.assign(globalThis, { referenceInstances: [] }),
    },
  ],
});

/** In a process that has imported the kit before, which the subject's module imports too. */
async function effectsOfImport({ moduleUrl }: Bench): Promise<SideEffects> {
  const child = await startProcess({ module: siblingModule("../process/import-process", import.meta.url) });
  try {
    return (await child.call("load", moduleUrl)) as SideEffects;
  } finally {
    child.kill();
    await child.ended;
  }
}
