/** Everything that guards the project beside its tests. Goes on after a failure, and shows all of them at the end. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PublicPackage, pack, publicPackages } from "./packages.ts";
import { run } from "./run.ts";

const failures: { readonly name: string; readonly output: string }[] = [];

await check("format and lint", "biome", ["check", "--error-on-warnings"]);
await check("types of what is published", "tsc", ["-b", "tsconfig.build.json"]);
await check("types of tests, examples and scripts", "tsc", ["-p", "tsconfig.json"]);
await check("unused code and dependencies", "knip", []);
const packed = await mkdtemp(join(tmpdir(), "keepsake-packed-"));
try {
  for (const publicPackage of await publicPackages()) await checkPacked(publicPackage);
} finally {
  await rm(packed, { recursive: true });
}
if (failures.length > 0) {
  const outputs = failures.map(({ name, output }) => `\n${name}:\n${output.trimEnd()}\n`);
  console.error(`${outputs.join("")}\nFailed: ${failures.map(({ name }) => name).join("; ")}`);
  process.exitCode = 1;
}

async function checkPacked(publicPackage: PublicPackage): Promise<void> {
  const { name } = publicPackage;
  try {
    const tarball = await pack(publicPackage, packed);
    await check(`package shape of ${name}`, "publint", ["run", tarball, "--strict"]);
    await check(`package types of ${name}`, "attw", [tarball, "--profile", "esm-only", "--format", "ascii"]);
  } catch (error) {
    report(`packing of ${name}`, { succeeded: false, output: error instanceof Error ? error.message : String(error) });
  }
}

async function check(name: string, command: string, args: readonly string[]): Promise<void> {
  report(name, await run(command, args));
}

function report(name: string, { succeeded, output }: { readonly succeeded: boolean; readonly output: string }): void {
  console.log(`${succeeded ? "ok" : "FAILED"}: ${name}`);
  if (!succeeded) failures.push({ name, output });
}
