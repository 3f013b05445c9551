/** Reads a file of conversations: JSON Lines, gzipped or not, one conversation a line. */
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";

export interface ConversationFile {
  readonly file: string;
  /** How many conversations there are. Only the first is looked at. */
  readonly total: number;
  readonly first: Conversation;
}

export interface Conversation {
  readonly speakers: readonly string[];
  readonly sessions: readonly Session[];
}

export interface Session {
  readonly date: string;
  readonly turns: readonly { readonly speaker: string; readonly text: string }[];
}

/** @throws Error that names the file and what is wrong with it. */
export async function readConversationFile(file: string): Promise<ConversationFile> {
  const lines = (await readText(file)).split("\n").filter((line) => line.trim() !== "");
  const [firstLine] = lines;
  if (firstLine === undefined) throw new Error(`${file} holds no conversation: it is empty.`);
  try {
    return { file, total: lines.length, first: toConversation(parseJson(firstLine)) };
  } catch (error) {
    throw new Error(
      `The first line of ${file} is not a conversation: ${error instanceof Error ? error.message : error}`,
    );
  }
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === "ENOENT" ? `There is no file ${file}.` : `${file} cannot be read: ${error.code}.`);
  });
  return new TextDecoder().decode(file.endsWith(".gz") ? unzip(bytes, file) : bytes);
}

function unzip(bytes: Uint8Array, file: string): Uint8Array {
  try {
    return gunzipSync(bytes);
  } catch {
    throw new Error(`${file} is not a whole gzip file.`);
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error("it is not JSON.");
  }
}

function toConversation(value: unknown): Conversation {
  const { speakers, sessions } = toObject(value, "it");
  const names = toList(speakers, "speakers").map((speaker, index) => toText(speaker, `speakers[${index}]`));
  if (!names[0]?.trim()) throw new Error("speakers must start with a name.");
  return {
    speakers: names,
    sessions: toList(sessions, "sessions").map((session, index) => toSession(session, `sessions[${index}]`)),
  };
}

function toSession(value: unknown, path: string): Session {
  const { date, turns } = toObject(value, path);
  return {
    date: toText(date, `${path}.date`),
    turns: toList(turns, `${path}.turns`).map((turn, index) => toTurn(turn, `${path}.turns[${index}]`)),
  };
}

function toTurn(value: unknown, path: string): Session["turns"][number] {
  const { speaker, text } = toObject(value, path);
  return { speaker: toText(speaker, `${path}.speaker`), text: toText(text, `${path}.text`) };
}

function toObject(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw new Error(`${path} must be an object.`);
  return { ...value };
}

function toList(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${path} must be a list.`);
  return value;
}

function toText(value: unknown, path: string): string {
  if (typeof value !== "string") throw new Error(`${path} must be text.`);
  return value;
}
