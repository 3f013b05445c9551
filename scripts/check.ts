/** Everything that guards the project beside its tests. Goes on after a failure, and names all of them at the end. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack, publicPackages, run } from "./packages.ts";

const failed: string[] = [];

async function check(name: string, command: string, args: readonly string[]): Promise<void> {
  const succeeded = await run(command, args);
  console.log(`${succeeded ? "ok" : "FAILED"}: ${name}`);
  if (!succeeded) failed.push(name);
}

await check("format and lint", "biome", ["check", "--error-on-warnings"]);
await check("types of what is published", "tsc", ["-b", "tsconfig.build.json"]);
await check("types of tests, examples and scripts", "tsc", ["-p", "tsconfig.json"]);
await check("unused code and dependencies", "knip", []);
const packed = await mkdtemp(join(tmpdir(), "keepsake-packed-"));
try {
  for (const publicPackage of await publicPackages()) {
    const tarball = await pack(publicPackage, packed);
    await check(`package shape of ${publicPackage.name}`, "publint", ["run", tarball, "--strict"]);
    await check(`package types of ${publicPackage.name}`, "attw", [
      tarball,
      "--profile",
      "esm-only",
      "--format",
      "ascii",
    ]);
  }
} finally {
  await rm(packed, { recursive: true });
}
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join("; ")}`);
  process.exitCode = 1;
}
