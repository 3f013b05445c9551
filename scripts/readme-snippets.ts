/**
 * The examples in the READMEs, as programs: every block fenced as `ts`, with the block fenced as `text` right after it as
 * what the program prints.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface Snippet {
  /** Such as `packages/file/README.md, example 2`. */
  readonly name: string;
  readonly code: string;
  /** What it prints; `undefined` where the README does not say. */
  readonly expected: string | undefined;
}

const fenced = /```ts\n(?<code>.*?)```(?:\n+```text\n(?<expected>.*?)```)?/gs;

/** @param readme Its path within the project. */
export async function readSnippets(readme: string): Promise<Snippet[]> {
  const text = await readFile(join(import.meta.dirname, "..", readme), "utf8");
  return [...text.matchAll(fenced)].map(({ groups }, index) => ({
    name: `${readme}, example ${index + 1}`,
    code: groups?.code ?? "",
    expected: groups?.expected,
  }));
}

/** Runs a snippet as a file in `folder`, from where its imports resolve, with a home folder of its own. Answers what it printed. */
export async function runSnippet(
  snippet: Snippet,
  folder: string,
  { node = process.execPath, flags = [] }: { node?: string; flags?: readonly string[] } = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${snippet.name.replace(/\W+/g, "-")}.ts`);
  const home = await mkdtemp(join(tmpdir(), "keepsake-readme-"));
  await writeFile(file, snippet.code);
  try {
    const env = { PATH: process.env.PATH, HOME: home, KEEPSAKE_HOME: join(home, "keepsake"), NODE_NO_WARNINGS: "1" };
    const { stdout } = await promisify(execFile)(node, [...flags, file], { env });
    return stdout;
  } finally {
    await rm(file);
    await rm(home, { recursive: true });
  }
}
