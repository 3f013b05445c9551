/**
 * The quickstart: an agent that remembers across processes. `--conversation FILE` replays a long conversation instead.
 * Needs no key and no service; everything is kept in a temporary folder and removed at the end.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { heading, line, paint } from "./print.ts";
import { replayConversation } from "./replay.ts";

const usage = "Usage: pnpm start [--conversation FILE]   (FILE: .jsonl or .jsonl.gz, see the README)";

const root = await mkdtemp(join(tmpdir(), "keepsake-quickstart-"));
try {
  const { values } = readArguments();
  if (values.conversation === undefined) await tour();
  else await replayConversation(values.conversation, root);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  await rm(root, { recursive: true });
}

function readArguments() {
  try {
    return parseArgs({ options: { conversation: { type: "string" } } });
  } catch {
    throw new Error(usage);
  }
}

async function tour(): Promise<void> {
  console.log(paint("bold", "Keepsake: an agent that remembers, and knows what not to"));
  // Put together here, so that no scanner of this repository takes it for a real one.
  const token = `ghp_${"x7Qp2LmZ9".repeat(4)}`;

  heading("1  Ann talks to the agent. The model decides what is worth keeping.");
  await converse("Ann", "Remember: Ann drinks oolong tea, never coffee.", "Remember: Ann lives in Turku.");
  line("why", "The scope comes from who is signed in. The model never chooses whose memory it is.", "dim");

  heading("2  Ann pastes a token. The model tries to save it; memory refuses.");
  await converse("Ann", `Remember: my GitHub token is ${token}`);
  line("why", "Secrets are refused before they are stored, indexed or sent anywhere.", "dim");

  heading("3  A new process, a new session: it recalls what the first one learned.");
  await converse("Ann", "Which tea do I like?");
  line("why", "Recall comes before the model runs, framed as data and not as instructions.", "dim");

  heading("4  Ben asks the same agent about the same thing.");
  await converse("Ben", "Which tea does Ann drink?");
  line("why", "Another user is another scope: Ann's memory does not exist for Ben.", "dim");

  heading("5  Ann changes her mind. The model removes the memory by its number.");
  await converse("Ann", "Forget my tea.", "Which tea do I like?");
  line("why", "Forgotten is forgotten: the next recall replaces what the model saw before.", "dim");

  heading("All that is stored about Ann, in a file that you could open and edit:");
  for (const name of await readdir(root)) {
    const document = await readFile(join(root, name, "memory.md"), "utf8").catch(() => "");
    for (const row of document.trimEnd().split("\n")) line("", row.length > 66 ? `${row.slice(0, 63)}...` : row, "dim");
  }
  console.log("\nThe ten lines that put this into your agent: packages/host/README.md");
}

/** Runs one session in a process of its own. */
async function converse(user: string, ...said: readonly string[]): Promise<void> {
  const script = join(import.meta.dirname, "conversation.ts");
  const child = spawn(process.execPath, [script, root, user, ...said], { stdio: "inherit" });
  line("process", String(child.pid), "dim");
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error("The conversation failed.");
}
