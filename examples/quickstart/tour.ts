/** Five short conversations, each in a process of its own, and what is stored in the end. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { heading, line, title } from "./print.ts";

/** @param root An empty folder, where memory is kept. */
export async function tour(root: string): Promise<void> {
  title("Keepsake: an agent that remembers, and knows what not to");
  // Put together here, so that no scanner of this repository takes it for a real one.
  const token = `ghp_${"x7Qp2LmZ9".repeat(4)}`;

  heading("1  Ann talks to the agent. The model decides what is worth keeping.");
  await converse(root, "Ann", ["Remember: Ann drinks oolong tea, never coffee.", "Remember: Ann lives in Turku."]);
  const [annsFolder = ""] = await readdir(root); // each scope has one, and nobody else has spoken yet
  line("why", "The scope comes from who is signed in. The model never chooses whose memory it is.", "dim");

  heading("2  Ann pastes a token. The model tries to save it; memory refuses.");
  await converse(root, "Ann", [`Remember: my GitHub token is ${token}`]);
  line("why", "Secrets are refused before they are stored, indexed or sent anywhere.", "dim");

  heading("3  A new process, a new session: it recalls what the first one learned.");
  await converse(root, "Ann", ["Which tea do I like?"], { showRecall: true });
  line("why", "Recall comes before the model runs, framed as data and not as instructions.", "dim");

  heading("4  Ben asks the same agent about the same thing.");
  await converse(root, "Ben", ["Which tea does Ann drink?"]);
  line("why", "Another user is another scope: Ann's memory does not exist for Ben.", "dim");

  heading("5  Ann changes her mind. The model removes the memory by its number.");
  await converse(root, "Ann", ["Forget my tea.", "Which tea do I like?"]);
  line("why", "Forgotten is forgotten: the next recall replaces what the model saw before.", "dim");

  heading("All that is stored about Ann, in a file that you could open and edit:");
  const document = await readFile(join(root, annsFolder, "memory.md"), "utf8");
  for (const row of document.trimEnd().split("\n")) line("", row.length > 66 ? `${row.slice(0, 63)}...` : row, "dim");
  line("why", "The last line lets a repeated tool call act once.", "dim");
  line(
    "where",
    "In a temporary folder, which is deleted now. Unless told otherwise, memory is kept in ~/.keepsake/file, or in " +
      "$KEEPSAKE_HOME/file.",
    "dim",
  );
  console.log("\nThe ten lines that put this into your agent: packages/host/README.md");
}

/** Runs one session in a process of its own. */
async function converse(
  root: string,
  user: string,
  said: readonly string[],
  { showRecall = false }: { readonly showRecall?: boolean } = {},
): Promise<void> {
  const script = join(import.meta.dirname, "conversation.ts");
  const options = showRecall ? ["--show-recall"] : [];
  const child = spawn(process.execPath, [script, ...options, root, user, ...said], { stdio: "inherit" });
  line("process", String(child.pid), "dim");
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error("The conversation failed.");
}
