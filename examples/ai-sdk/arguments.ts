/** What the chat can be told when it is started. */
import { parseArgs } from "node:util";

const synopsis = "Usage: npx pnpm@12.4.2 --filter example-ai-sdk start [--user NAME] [--model PROVIDER/NAME]";

export const usage = `${synopsis}

  --user NAME             who talks; default ann
  --model PROVIDER/NAME   a model of the AI Gateway, which needs AI_GATEWAY_API_KEY
  --model script          the script, also where a key is set
  --help                  print this`;

export interface Arguments {
  readonly help: boolean;
  readonly user: string;
  readonly model: string | undefined;
}

/** @throws Error that names the argument that is wrong. */
export function readArguments(given: readonly string[]): Arguments {
  const args = given[0] === "--" ? given.slice(1) : [...given]; // pnpm hands on what npm swallows
  try {
    const { values } = parseArgs({
      args,
      options: { help: { type: "boolean" }, user: { type: "string" }, model: { type: "string" } },
    });
    return { help: values.help ?? false, user: readName(values.user ?? "ann"), model: values.model };
  } catch (error) {
    const [reason] = error instanceof Error ? error.message.split("\n") : []; // further lines are advice on dashes
    throw new Error(`${reason}\n${synopsis}`);
  }
}

/**
 * A person's name, in one spelling: it is also the name of a file.
 * @throws Error for anything but letters, digits, - and _.
 */
export function readName(given: string): string {
  const name = given.normalize("NFC").toLowerCase();
  if (/^[\p{L}\p{N}_-]{1,32}$/u.test(name)) return name;
  throw new Error("A name has 1 to 32 letters, digits, - or _.");
}
