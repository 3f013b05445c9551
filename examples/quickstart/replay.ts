/**
 * Replays one real conversation through the host, session by session. The scripted model keeps one line of each session;
 * the next session shows what memory makes of hundreds of turns, and what its bounds refused.
 */
import { defineMemory } from "@keepsake/core";
import { fixed } from "@keepsake/core/scope";
import { directory, fileMemory } from "@keepsake/file";
import { createMemoryHost, type MemoryHost, runTool } from "@keepsake/host";
import { recalledText, type ToolOutcome, toolAnswer } from "./agent.ts";
import type { ConversationFile, Session } from "./conversation-file.ts";
import { count, heading, line, title } from "./print.ts";

/** One exchange: what the user said, and what the agent answered. */
interface Exchange {
  readonly input: string;
  readonly answer: string;
}

/** @param root An empty folder, where memory is kept. */
export async function replayConversation({ file, total, first }: ConversationFile, root: string): Promise<void> {
  const { speakers, sessions } = first;
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
  title(`${user} and the agent: ${count(sessions.length, "session")}`);
  line("playing", `conversation 1 of ${total} in ${file}`);
  let turns = 0;
  let kept = 0;
  const refusals: string[] = [];
  for (const session of sessions) {
    const exchanges = toExchanges(session, user);
    turns += exchanges.length;
    const saving = await replaySession(host, session.date, exchanges);
    if (saving?.failed === false) kept += 1;
    if (saving?.failed) refusals.push(saving.answer);
    line("session", `${session.date}: ${describeSession(exchanges.length, saving)}`);
  }

  heading(`The next session, after ${count(turns, "turn")}, starts with this:`);
  const { messages } = await host.session().startTurn("Hello again.");
  const recalled = recalledText(messages);
  line("", recalled ?? "nothing", "cyan");

  heading("What the bounds did");
  const offered = count(kept + refusals.length, "line");
  line("kept", `${kept} of ${offered}, ${count(recalled?.length ?? 0, "character")} in the prompt`);
  for (const [reason, refused] of Map.groupBy(refusals, (answer) => answer)) {
    line("refused", `${refused.length} x ${reason}`, "yellow");
  }
  line(
    "why",
    "Memory in the prompt has a price each turn. Nothing is cut behind your back: a full memory says so.",
    "dim",
  );
}

/** Plays the session's turns; in the last one the model saves a line. Answers what came of it, if there was a turn. */
async function replaySession(
  host: MemoryHost,
  date: string,
  exchanges: readonly Exchange[],
): Promise<ToolOutcome | undefined> {
  const memory = host.session();
  const toolName = "diary__save_memory";
  let saving: ToolOutcome | undefined;
  for (const [index, { input, answer }] of exchanges.entries()) {
    const turn = await memory.startTurn(input);
    if (index === exchanges.length - 1) {
      const text = `${date}: ${longest(exchanges.map((exchange) => exchange.input))}`;
      const result = await runTool(turn.tools, { toolCallId: "keep", toolName, input: { text } });
      saving = { toolName, ...toolAnswer(result) };
    }
    await memory.completeTurn({ responseMessages: [{ role: "assistant", content: answer }] });
  }
  return saving;
}

function describeSession(turns: number, saving: ToolOutcome | undefined): string {
  if (saving === undefined) return "no turns";
  return `${count(turns, "turn")}, ${saving.failed ? "refused" : "one line kept"}`;
}

/** Neighbouring lines of one speaker are one message; where the agent speaks first, the user only joins. */
function toExchanges({ turns }: Session, user: string): Exchange[] {
  const exchanges: { input: string; answer: string }[] = [];
  for (const { speaker, text } of turns.filter((turn) => turn.text.trim() !== "")) {
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
