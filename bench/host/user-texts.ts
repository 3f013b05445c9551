/** What users say in the benchmark: the words of a real conversation, or generated ones. */
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { z } from "zod";

const conversationSchema = z.object({
  speakers: z.array(z.string()).min(1),
  sessions: z.array(z.object({ turns: z.array(z.object({ speaker: z.string(), text: z.string() })) })),
});

/**
 * All that the first speaker says in the first conversation of a file: JSON Lines, plain or gzipped, each line
 * `{ speakers, sessions: [{ turns: [{ speaker, text }] }] }`.
 * @throws Error that names the file and what is wrong with it, in one line.
 */
export async function readUserTexts(file: string): Promise<readonly string[]> {
  const [line = ""] = (await readText(file)).split("\n", 1);
  const conversation = parseConversation(line);
  if (conversation === undefined) throw new Error(`The first line of ${file} is not a conversation.`);
  const { speakers, sessions } = conversation;
  const texts = sessions
    .flatMap(({ turns }) => turns)
    .filter(({ speaker, text }) => speaker === speakers[0] && text.trim() !== "")
    .map(({ text }) => text);
  if (texts.length === 0) throw new Error(`The first speaker of ${file} says nothing.`);
  return texts;
}

/** Fifty texts of some 80 characters, the same each time. */
export function generatedTexts(): readonly string[] {
  const things = ["oolong tea", "the harbour", "my sister", "a long walk", "the garden"];
  const times = ["last week", "in the morning", "on Sunday", "two years ago", "after work"];
  const ends = ["and it was better than I had expected.", "but I would rather not do so again."];
  return things.flatMap((thing) =>
    times.flatMap((time) => ends.map((end) => `I spent some time with ${thing} ${time}, ${end}`)),
  );
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === "ENOENT" ? `There is no file ${file}.` : `${file} cannot be read: ${error.code}.`);
  });
  try {
    return new TextDecoder().decode(file.endsWith(".gz") ? gunzipSync(bytes) : bytes);
  } catch {
    throw new Error(`${file} is not a whole gzip file.`);
  }
}

function parseConversation(line: string): z.infer<typeof conversationSchema> | undefined {
  try {
    return conversationSchema.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}
