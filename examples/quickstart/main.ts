/**
 * The quickstart: an agent that remembers across processes. `--conversation FILE` replays a long conversation instead.
 * Needs no key and no service; everything is kept in a temporary folder and removed at the end.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readArguments, usage } from "./arguments.ts";
import { readConversationFile } from "./conversation-file.ts";
import { complain } from "./print.ts";
import { tour } from "./tour.ts";

try {
  const { help, conversation } = readArguments(process.argv.slice(2));
  if (help) console.log(usage);
  else if (conversation === undefined) await inTemporaryFolder(tour);
  else {
    const opened = await readConversationFile(conversation);
    const { replayConversation } = await import("./replay.ts"); // loads all of memory, so only when there is a use for it
    await inTemporaryFolder((root) => replayConversation(opened, root));
  }
} catch (error) {
  complain(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function inTemporaryFolder(run: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "keepsake-quickstart-"));
  try {
    await run(root);
  } finally {
    await rm(root, { recursive: true });
  }
}
