import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generatedTexts, readUserTexts } from "./user-texts.ts";

const turns = [
  { speaker: "Ann", text: "I drink oolong." },
  { speaker: "Ben", text: "So do I." },
  { speaker: "Ann", text: " " },
];
const lines = `${JSON.stringify({ speakers: ["Ann", "Ben"], sessions: [{ turns }, { turns }] })}\n{"speakers":["Cid"]}\n`;
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-bench-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(name: string, bytes: string | Uint8Array): Promise<readonly string[]> {
  const file = join(folder, name);
  await writeFile(file, bytes);
  return readUserTexts(file);
}

describe("what users say", () => {
  it.each([
    ["plain", "plain.jsonl", lines],
    ["gzipped", "packed.jsonl.gz", gzipSync(lines)],
  ])("is read from a %s file: the first speaker's words in the first conversation", async (_, name, bytes) => {
    expect(await read(name, bytes)).toEqual(["I drink oolong.", "I drink oolong."]);
  });

  it.each([
    ["nothing", "empty.jsonl", "", "is not a conversation"],
    ["no JSON", "text.jsonl", "Ann: hello", "is not a conversation"],
    ["no speakers", "nobody.jsonl", '{"speakers":[],"sessions":[]}', "is not a conversation"],
    ["a silent first speaker", "silent.jsonl", '{"speakers":["Ann"],"sessions":[]}', "says nothing"],
    ["half a gzip file", "half.jsonl.gz", gzipSync(lines).subarray(0, 30), "is not a whole gzip file"],
  ])("is refused in one line that names the file, when it holds %s", async (_, name, bytes, problem) => {
    const message = expect.stringMatching(new RegExp(`^.*${name} ${problem}\\.$`));
    await expect(read(name, bytes)).rejects.toThrow(expect.objectContaining({ message }));
  });

  it("is of a usual length where no file is given", () => {
    const lengths = generatedTexts().map((text) => text.length);
    expect(lengths).toHaveLength(50);
    expect(Math.min(...lengths)).toBeGreaterThan(60);
    expect(Math.max(...lengths)).toBeLessThan(100);
  });
});
