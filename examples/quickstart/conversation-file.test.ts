import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readConversationFile } from "./conversation-file.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-conversation-file-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function write(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, content);
  return file;
}

const session = { date: "May 8", turns: [{ speaker: "Ann", text: "I adopted a cat." }] };
const conversation = { speakers: ["Ann", "Bea"], sessions: [session] };

it("gives the first conversation and the number of all, gzipped or not, whatever ends the lines", async () => {
  const text = `\ufeff\r\n${JSON.stringify(conversation)}\r\n\r\nnot looked at\r\n`;
  const files = [await write("a.jsonl", text), await write("a.jsonl.gz", gzipSync(text))];
  const read = await Promise.all(files.map(readConversationFile));
  expect(read).toEqual(files.map((file) => ({ file, total: 2, first: conversation })));
});

it.each([
  ['{"speakers":', "it is not JSON."],
  [null, "it must be an object."],
  [[], "speakers must be a list."],
  [{ sessions: [] }, "speakers must be a list."],
  [{ speakers: [], sessions: [] }, "speakers must start with a name."],
  [{ speakers: [" "], sessions: [] }, "speakers must start with a name."],
  [{ speakers: ["Ann", 7], sessions: [] }, "speakers[1] must be text."],
  [{ speakers: ["Ann"] }, "sessions must be a list."],
  [{ speakers: ["Ann"], sessions: [session, null] }, "sessions[1] must be an object."],
  [{ speakers: ["Ann"], sessions: [session, { turns: [] }] }, "sessions[1].date must be text."],
  [{ speakers: ["Ann"], sessions: [{ date: "" }] }, "sessions[0].turns must be a list."],
  [
    { speakers: ["Ann"], sessions: [{ date: "", turns: [{ text: "" }] }] },
    "sessions[0].turns[0].speaker must be text.",
  ],
  [
    { speakers: ["Ann"], sessions: [{ date: "", turns: [{ speaker: "" }] }] },
    "sessions[0].turns[0].text must be text.",
  ],
])("refuses %j", async (line, reason) => {
  const file = await write("wrong.jsonl", typeof line === "string" ? line : JSON.stringify(line));
  const message = `The first line of ${file} is not a conversation: ${reason}`;
  await expect(readConversationFile(file)).rejects.toThrow(new Error(message));
});

it("names a file that is missing, a folder, empty or not gzipped", async () => {
  await mkdir(join(folder, "folder"));
  await write("empty.jsonl", "\n");
  await write("plain.jsonl.gz", JSON.stringify(conversation));
  const at = (name: string): string => join(folder, name);
  const fault = (name: string): Promise<unknown> => readConversationFile(at(name)).catch((error: unknown) => error);
  expect(await fault("missing")).toEqual(new Error(`There is no file ${at("missing")}.`));
  expect(await fault("folder")).toEqual(new Error(`${at("folder")} cannot be read: EISDIR.`));
  expect(await fault("empty.jsonl")).toEqual(new Error(`${at("empty.jsonl")} holds no conversation: it is empty.`));
  expect(await fault("plain.jsonl.gz")).toEqual(new Error(`${at("plain.jsonl.gz")} is not a whole gzip file.`));
});
