/** A chat in the terminal on the AI SDK, with a memory. Starts here. */
import { homedir } from "node:os";
import { join } from "node:path";
import { readArguments, usage } from "./arguments.ts";
import { chat } from "./chat.ts";
import { createChatMemory } from "./memory.ts";
import { chooseModel } from "./model.ts";
import { printLine } from "./print.ts";

try {
  const { help, user, model: named } = readArguments(process.argv.slice(2));
  if (help) printLine(usage);
  else {
    const { model, description } = chooseModel(named, process.env.AI_GATEWAY_API_KEY);
    const home = process.env.KEEPSAKE_HOME?.trim() || join(homedir(), ".keepsake");
    const memories = join(home, "file");
    const sessions = join(home, "example-ai-sdk");
    printLine("Keepsake on the AI SDK. /help lists what there is.", "bold");
    for (const row of [`model     ${description}`, `memory    ${memories}`, `sessions  ${sessions}`])
      printLine(row, "dim");
    await chat({ host: createChatMemory(memories), model, sessions, user });
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
