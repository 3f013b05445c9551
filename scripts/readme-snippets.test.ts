import { globSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readSnippets, runSnippet } from "./readme-snippets.ts";

const project = join(import.meta.dirname, "..");
const readmes = ["README.md", ...globSync(["packages/*/README.md", "conformance/README.md"], { cwd: project }).sort()];

/** A package's examples run inside the package; the project's own where every package can be imported. */
const folderOf = (readme: string): string =>
  join(project, readme === "README.md" ? "packages/host" : dirname(readme), ".readme-snippets");

afterAll(() => Promise.all(readmes.map((readme) => rm(folderOf(readme), { recursive: true, force: true }))));

describe.each(readmes)("%s", async (readme) => {
  const snippets = await readSnippets(readme);

  it("has examples", () => expect(snippets.length).toBeGreaterThan(0));

  it.each(snippets)("$name prints what it says", async (snippet) => {
    const printed = await runSnippet(snippet, folderOf(readme));
    if (snippet.expected === undefined) expect(printed).toBe("");
    else expect(printed).toBe(snippet.expected);
  });
});

describe("the loop in the README of the host", () => {
  it("is ten lines long", async () => {
    const [snippet] = await readSnippets("packages/host/README.md");
    const loop = /^async function chat.*?^\}$/ms.exec(snippet?.code ?? "")?.[0];
    expect(loop?.split("\n")).toHaveLength(10);
  });
});
