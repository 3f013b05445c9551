/**
 * One process, one session, one user: `node conversation.ts [--show-recall] <memory folder> <user> <line> ...`. The
 * quickstart runs it several times, so that whatever one knows of another went through memory.
 */
import { parseArgs } from "node:util";
import { defineMemory } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { directory, fileMemory } from "@keepsake/file";
import { createMemoryHost } from "@keepsake/host";
import { takeTurn } from "./agent.ts";
import { line } from "./print.ts";
import { scriptedModel } from "./scripted-model.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { "show-recall": { type: "boolean" } } });
const [root = "", user = "", ...said] = positionals;

const profile = defineMemory({
  description: "Lasting facts and preferences of the person you talk to.",
  provider: fileMemory({ backend: directory({ root }) }),
  scope: byPrincipal,
  namespace: "quickstart",
});
const host = createMemoryHost({ slots: { profile } });
const session = host.session({
  auth: { principalType: "user", authenticator: "example", principalId: user, attributes: {} },
});

for (const text of said) {
  line(user, text);
  const { recalled, outcomes, answer } = await takeTurn(session, scriptedModel, text);
  if (values["show-recall"]) line("recall", recalled ?? "nothing", "dim");
  for (const { toolName, answer: result, failed } of outcomes) {
    line("tool", `${toolName} -> ${failed ? "refused: " : ""}${result}`, failed ? "yellow" : "green");
  }
  line("agent", answer, "cyan");
}
