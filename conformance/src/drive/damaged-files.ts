/** Files as a crash or a failing disk leaves them: changed at rest, behind the provider's back. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unwatched } from "../backends/file-faults.ts";
import type { Bench } from "../bench.ts";
import { type Canary, holds } from "./canary.ts";
import { collect, type Person } from "./person.ts";

/** What becomes of a file's bytes. */
export type Damage = (bytes: Buffer) => Buffer;

export const asItWas: Damage = (bytes) => bytes;
/** Nothing of it can be read any more. */
export const unreadable: Damage = (bytes) => Buffer.alloc(bytes.length, 0xff);
export const cutInHalf: Damage = (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2));
/** Most of it can be read, by a person. */
export const garbledStart: Damage = (bytes) => Buffer.concat([Buffer.alloc(16, 0xff), bytes.subarray(16)]);
export const cutEnd: Damage = (bytes) => bytes.subarray(0, -8);

export interface StoredFile {
  readonly path: string;
  readonly bytes: Buffer;
}

/** The files that hold any of these memories, and none of those. Ends the check where the provider keeps no such files. */
export async function filesHolding(
  { backend, notApplicable }: Bench,
  memories: readonly Canary[],
  others: readonly Canary[],
): Promise<readonly StoredFile[]> {
  const { connection } = backend;
  if (connection.kind !== "directory") return notApplicable("It keeps no files.");
  const files = await unwatched(() => filesBelow(connection.root));
  const found = files.filter(({ bytes }) => {
    const texts = [bytes.toString()];
    return memories.some(({ word }) => holds(texts, word)) && !others.some(({ word }) => holds(texts, word));
  });
  return found.length > 0 ? found : notApplicable("No file holds one person's memory alone, as text.");
}

export async function damage({ path, bytes }: StoredFile, change: Damage): Promise<void> {
  await unwatched(() => writeFile(path, change(bytes)));
}

/** Whether a file is one whole in JSON, which half of it is not. */
export function isJson({ bytes }: StoredFile): boolean {
  try {
    return typeof JSON.parse(bytes.toString()) === "object";
  } catch {
    return false;
  }
}

/** Every way to read that the person has. */
export function readPaths(person: Person, query: string): ReadonlyMap<string, () => Promise<string>> {
  const { searchTool, maintenance } = person.handle.facts ?? {};
  const asText = async (answer: Promise<unknown>): Promise<string> => JSON.stringify(await answer) ?? "";
  return new Map([
    ["recall", () => person.recalls(query)],
    ...(searchTool === undefined ? [] : [["search", () => asText(person.search(query))] as const]),
    ...(maintenance === true
      ? ([
          ["list", () => asText(person.maintain("list", (its, key) => its.list({ key, limit: 1_000 })))],
          ["export", () => asText(person.maintain("export", (its, key) => collect(its.export({ key }))))],
        ] as const)
      : []),
  ]);
}

async function filesBelow(root: string): Promise<readonly StoredFile[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(paths.sort().map(async (path) => ({ path, bytes: await readFile(path) })));
}
