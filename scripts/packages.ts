/** The packages that are published, and their packed files. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

export const project: string = join(import.meta.dirname, "..");

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

/** Builds and packs as publishing does. Answers the path of the tarball. */
export async function pack({ folder }: PublicPackage, destination: string): Promise<string> {
  const { stdout } = await promisify(execFile)("pnpm", ["pack", "--json", "--pack-destination", destination], {
    cwd: join(project, folder),
  });
  return JSON.parse(stdout.slice(stdout.indexOf("{"))).filename;
}

/** Runs a command in the project with its output shown. Answers whether it succeeded. */
export async function run(command: string, args: readonly string[], cwd: string = project): Promise<boolean> {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return code === 0;
}
