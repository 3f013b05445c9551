/**
 * What a user gets: packs every public package, installs the files in an empty project, type-checks the READMEs' examples
 * there and runs them, on the oldest Node that the packages support.
 */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import projectManifest from "../package.json" with { type: "json" };
import hostManifest from "../packages/host/package.json" with { type: "json" };
import { pack, publicPackages } from "./packages.ts";
import { readSnippets, runSnippet, type Snippet } from "./readme-snippets.ts";
import { project, run } from "./run.ts";

const oldestNode = "22.12.0";
/** What examples import beside the packages themselves. */
const imported = [`ai@${hostManifest.devDependencies.ai}`, `eve@${hostManifest.devDependencies.eve}`];
const vitest = `vitest@${projectManifest.devDependencies.vitest}`;
/** Providers that are certified there, by both runners: one written in an evening, and eve's own. */
const subjects = [
  ["examples/bring-your-own-provider/notes.ts", "notes.ts"],
  ["examples/bring-your-own-provider/notes.subject.ts", "notes.subject.ts"],
  ["conformance/src/test-support/eve-file-memory.ts", "eve.subject.ts"],
] as const;

const room = await mkdtemp(join(tmpdir(), "keepsake-smoke-"));
try {
  const packages = await publicPackages();
  const tarballs = await Promise.all(packages.map((publicPackage) => pack(publicPackage, room)));
  await writeFile(join(room, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const installed = await run(
    "npm",
    [
      "install",
      "--no-audit",
      "--no-fund",
      "--loglevel=error",
      `node@${oldestNode}`,
      "@types/node@22",
      vitest,
      ...imported,
      ...tarballs,
    ],
    room,
  );
  if (!installed.succeeded) throw new Error(`The packed packages cannot be installed.\n${installed.output}`);

  const readmes = ["README.md", ...packages.map(({ folder }) => join(folder, "README.md"))];
  const snippets = (await Promise.all(readmes.map(readSnippets))).flat();
  await copyFile(join(project, "scripts/smoke-packed.tsconfig.json"), join(room, "tsconfig.json"));
  // Our declarations are checked in full; those of a library that an example brings along need not be as strict.
  const { alone = [], together = [] } = Object.groupBy(snippets, ({ code }) =>
    /from "ai\b/.test(code) ? "together" : "alone",
  );
  await checkTypes("alone", alone);
  await checkTypes("together", together, ["--skipLibCheck"]);

  const node = join(room, "node_modules/node/bin/node");
  for (const snippet of snippets) {
    const printed = await runSnippet(snippet, room, { node, flags: ["--experimental-strip-types"] });
    if (printed !== (snippet.expected ?? "")) throw new Error(`${snippet.name} printed something else:\n${printed}`);
  }
  await certify(node);
  console.log(`ok: ${packages.length} packed packages, ${snippets.length} examples on Node ${oldestNode}`);
} finally {
  await rm(room, { recursive: true });
}

/** Certifies the subjects as a third party does: one call in a test file, in vitest and in node:test. */
async function certify(node: string): Promise<void> {
  for (const [source, name] of subjects) await copyFile(join(project, source), join(room, name));
  const runners = {
    vitest: ["node_modules/vitest/vitest.mjs", "run", "vitest.test.ts"],
    "node-test": ["--experimental-strip-types", "--test", "node-test.test.ts"],
  };
  for (const [runner, args] of Object.entries(runners)) {
    const calls = subjects
      .filter(([, name]) => name.endsWith(".subject.ts"))
      .map(([, name]) => `describeConformance(new URL("./${name}", import.meta.url));`);
    const test = [`import { describeConformance } from "@keepsake/conformance/${runner}";`, ...calls, ""].join("\n");
    await writeFile(join(room, `${runner}.test.ts`), test);
    const { succeeded, output } = await run(node, args, room);
    if (!succeeded) throw new Error(`A provider is not certified by ${runner}.\n${output}`);
    console.log(`ok: ${calls.length} providers certified by ${runner}`);
  }
}

async function checkTypes(group: string, snippets: readonly Snippet[], flags: readonly string[] = []): Promise<void> {
  for (const [index, { code }] of snippets.entries()) await writeFile(join(room, `example-${group}-${index}.ts`), code);
  const { succeeded, output } = await run("tsc", ["-p", room, ...flags]);
  if (!succeeded) throw new Error(`An example does not type-check against the packed packages.\n${output}`);
}
