/**
 * Replays one real conversation through the host, session by session. The scripted model keeps one line of each session;
 * the next session shows what memory makes of hundreds of turns, and what its bounds refused.
 */
import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { defineMemory, type ModelMessage } from "@keepsake/core";
import { fixed } from "@keepsake/core/scope";
import { directory, fileMemory } from "@keepsake/file";
import { createMemoryHost, type MemoryHost } from "@keepsake/host";
import { recalledText } from "./agent.ts";
import { heading, line, paint } from "./print.ts";

interface Conversation {
  readonly id: string;
  readonly speakers: readonly string[];
  readonly sessions: readonly Session[];
}

interface Session {
  readonly date: string;
  readonly turns: readonly { readonly speaker: string; readonly text: string }[];
}

/** One exchange: what the user said, and what the agent answered. */
interface Exchange {
  readonly input: string;
  readonly answer: string;
}

export async function replayConversation(file: string, root: string): Promise<void> {
  const { speakers, sessions } = await readConversation(file);
  const user = speakers[0] ?? "user";
  const host = createMemoryHost({
    slots: {
      diary: defineMemory({
        provider: fileMemory({ backend: directory({ root }) }),
        scope: fixed(user),
        namespace: "replay",
      }),
    },
  });
  console.log(paint("bold", `${user} and the agent: ${sessions.length} sessions`));
  let turns = 0;
  let saved = 0;
  const refusals = new Map<string, number>();
  for (const session of sessions) {
    const exchanges = toExchanges(session, user);
    turns += exchanges.length;
    const refused = await replaySession(host, session, exchanges);
    if (refused === undefined) saved += 1;
    else refusals.set(refused, (refusals.get(refused) ?? 0) + 1);
    line(
      "session",
      `${session.date}: ${exchanges.length} turns, ${refused === undefined ? "one line kept" : "refused"}`,
    );
  }

  heading(`The next session, after ${turns} turns, starts with this:`);
  const turn = await host.session().startTurn("Hello again.");
  const recalled = recalledText(turn.messages) ?? "nothing";
  for (const row of recalled.split("\n")) line("", row, "cyan");

  heading("What the bounds did");
  line("kept", `${saved} of ${sessions.length} lines, ${recalled.length} characters in the prompt`);
  for (const [reason, count] of refusals) line("refused", `${count} x ${reason}`, "yellow");
  line(
    "why",
    "Memory in the prompt has a price each turn. Nothing is cut behind your back: a full memory says so.",
    "dim",
  );
}

/** Plays the session's turns; in the last one the model saves a line. Answers why it was refused, if it was. */
async function replaySession(
  host: MemoryHost,
  session: Session,
  exchanges: readonly Exchange[],
): Promise<string | undefined> {
  const memory = host.session();
  let refused: string | undefined;
  for (const [index, { input, answer }] of exchanges.entries()) {
    const turn = await memory.startTurn(input);
    if (index === exchanges.length - 1) {
      const text = `${session.date}: ${longest(exchanges.map((exchange) => exchange.input))}`;
      refused = await turn.tools.diary__save_memory?.execute({ text }).then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : "The tool failed."),
      );
    }
    const responseMessages: ModelMessage[] = [{ role: "assistant", content: answer }];
    await memory.completeTurn({ responseMessages });
  }
  return refused;
}

/** Neighbouring lines of one speaker are one message; where the agent speaks first, the user only joins. */
function toExchanges({ turns }: Session, user: string): Exchange[] {
  const exchanges: { input: string; answer: string }[] = [];
  for (const { speaker, text } of turns) {
    const last = exchanges.at(-1);
    if (speaker === user) {
      if (last?.answer === "") last.input += `\n${text}`;
      else exchanges.push({ input: text, answer: "" });
    } else if (last === undefined) exchanges.push({ input: "(joins)", answer: text });
    else last.answer += last.answer === "" ? text : `\n${text}`;
  }
  return exchanges.map(({ input, answer }) => ({ input, answer: answer === "" ? "(listens)" : answer }));
}

function longest(texts: readonly string[]): string {
  return texts.reduce((best, text) => (text.length > best.length ? text : best), "");
}

async function readConversation(file: string): Promise<Conversation> {
  const bytes = await readFile(file).catch(() => {
    throw new Error("The conversation file cannot be read.");
  });
  try {
    const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
    const conversation = JSON.parse(text.split("\n", 1)[0] ?? "") as Conversation;
    if (conversation.sessions.every(({ turns }) => Array.isArray(turns))) return conversation;
  } catch {
    // falls through to the one message for whatever is wrong with it
  }
  throw new Error("The file is not a conversation: one JSON object a line, with speakers and sessions of turns.");
}
