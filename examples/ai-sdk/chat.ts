/** The chat: lines in, answers out, a conversation for each person that outlives the process. */
import { join } from "node:path";
import type { MemoryHost, MemorySession } from "@keepsake/host";
import { readName } from "./arguments.ts";
import { type Lines, openLines } from "./lines.ts";
import { personCalled } from "./memory.ts";
import type { ChosenModel } from "./model.ts";
import { endLine, printLine, printPiece } from "./print.ts";
import { openSession, saveSession } from "./saved-session.ts";
import { errorText, type TurnView, takeTurn } from "./turn.ts";

const help = `/new        a new session: what was said is gone, what was remembered is not
/user NAME  somebody else talks, with a memory and a session of their own
/help       this
/quit       ends the chat, as Ctrl-D does; Ctrl-C stops an answer`;

export interface ChatOptions {
  readonly host: MemoryHost;
  readonly model: ChosenModel["model"];
  /** The folder that sessions are kept in. */
  readonly sessions: string;
  /** Who talks first. */
  readonly user: string;
}

interface Conversation {
  readonly user: string;
  readonly session: MemorySession;
  readonly file: string;
}

/** Runs until the person ends it, or there are no more lines. @throws Error when the first session cannot be read. */
export async function chat({ host, model, sessions, user }: ChatOptions): Promise<void> {
  const enter = async (name: string): Promise<Conversation> => {
    const file = join(sessions, `session-${name}.json`);
    const { session, setAside } = await openSession(host, personCalled(name), file);
    if (setAside !== undefined) {
      printLine(`The saved session of ${name} cannot be understood. It was moved to ${setAside}.`, "yellow");
    }
    const turns = session.state.nextSequence;
    printLine(turns === 0 ? `${name}: a new session` : `${name}: going on after turn ${turns}`, "dim");
    return { user: name, session, file };
  };
  let conversation = await enter(user);

  let running: AbortController | undefined;
  const lines = openLines(() => {
    running?.abort();
    return running !== undefined;
  });

  const say = async (text: string): Promise<void> => {
    running = new AbortController();
    const { signal: abortSignal } = running;
    try {
      await takeTurn(conversation.session, text, { model, view: turnView(lines, abortSignal), abortSignal });
    } catch (error) {
      if (abortSignal.aborted) printLine("(stopped)", "dim");
      else printLine(`That failed: ${errorText(error)}`, "yellow");
    } finally {
      running = undefined;
      endLine();
    }
    await save();
  };
  const save = async (): Promise<void> => {
    try {
      await saveSession(conversation.session.state, conversation.file);
    } catch (error) {
      printLine(`The session could not be saved, and goes on here only: ${errorText(error)}`, "yellow");
    }
  };

  /** Answers whether the chat goes on. */
  const command = async (line: string): Promise<boolean> => {
    const [name, argument = "", ...more] = line.split(/\s+/);
    if (name === "/quit") return false;
    if (name === "/user" && argument !== "" && more.length === 0) {
      try {
        conversation = await enter(readName(argument));
      } catch (error) {
        printLine(errorText(error), "yellow");
      }
    } else if (name === "/new" && argument === "") {
      conversation = { ...conversation, session: host.session({ auth: personCalled(conversation.user) }) };
      await save();
      printLine(`${conversation.user}: a new session`, "dim");
    } else {
      if (name !== "/help") printLine(`"${line}" is none of these:`, "yellow");
      printLine(help);
    }
    return true;
  };

  for (let goesOn = true; goesOn; ) {
    const line = (await lines.next(`${conversation.user}> `))?.trim();
    if (line === undefined) goesOn = false;
    else if (line.startsWith("/")) goesOn = await command(line);
    else if (line !== "") await say(line);
  }
  lines.close();
}

function turnView(lines: Lines, signal: AbortSignal): TurnView {
  return {
    recalled: (memories) => {
      for (const memory of memories) printLine(`  recalled ${memory}`, "dim");
      if (memories.length === 0) printLine("  recalled nothing", "dim");
    },
    text: printPiece,
    tool: (toolName, outcome) => printLine(`  ${toolName}: ${outcome}`, "dim"),
    approve: async ({ toolCall }, memories) => {
      const index = String(Reflect.get(Object(toolCall.input), "index"));
      const memory = memories.find((line) => line.startsWith(`${index}: `));
      const what = memory === undefined ? `memory ${index}` : `"${memory.slice(index.length + 2)}"`;
      const answer = await lines.answer(`Forget ${what}? [y/N] `, signal);
      return /^y(es)?$/i.test(answer?.trim() ?? "");
    },
  };
}
