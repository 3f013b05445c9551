/** The packages that are published, and their packed files. */
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { project, run } from "./run.ts";

export interface PublicPackage {
  readonly name: string;
  readonly version: string;
  /** Relative to the project. */
  readonly folder: string;
}

export async function publicPackages(): Promise<PublicPackage[]> {
  const manifests = globSync(["packages/*/package.json", "conformance/package.json"], { cwd: project }).sort();
  const packages = await Promise.all(
    manifests.map(async (path) => {
      const manifest = JSON.parse(await readFile(join(project, path), "utf8"));
      return {
        name: manifest.name,
        version: manifest.version,
        folder: dirname(path),
        isPrivate: manifest.private === true,
      };
    }),
  );
  return packages.filter(({ isPrivate }) => !isPrivate);
}

/**
 * Builds and packs as publishing does. Answers the path of the tarball.
 * @throws Error with all that was printed.
 */
export async function pack({ name, folder }: PublicPackage, destination: string): Promise<string> {
  const args = ["pack", "--json", "--pack-destination", destination];
  const { succeeded, stdout, output } = await run("pnpm", args, join(project, folder));
  if (!succeeded) throw new Error(`${name} cannot be packed.\n${output}`);
  return JSON.parse(stdout.slice(stdout.indexOf("{"))).filename;
}
