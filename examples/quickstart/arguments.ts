/** What the quickstart can be asked to do. */
import { parseArgs } from "node:util";

const synopsis = "Usage: npx pnpm@12.4.2 start [--conversation FILE]";

export const usage = `${synopsis}

  --conversation FILE   replay a long conversation instead of the tour
  --help                print this

FILE is .jsonl or .jsonl.gz with one conversation a line; the first is played:
{ "speakers": ["Ann", ...],
  "sessions": [{ "date": "May 8",
                 "turns": [{ "speaker": "Ann", "text": "Hi" }, ...] }, ...] }
The first speaker is the user; whoever else speaks is the agent.`;

export interface Arguments {
  readonly help: boolean;
  /** The path of a file to replay. */
  readonly conversation: string | undefined;
}

/** @throws Error that names the argument that is wrong. */
export function readArguments(given: readonly string[]): Arguments {
  const args = given[0] === "--" ? given.slice(1) : [...given]; // pnpm hands on what npm swallows
  try {
    const { values } = parseArgs({ args, options: { help: { type: "boolean" }, conversation: { type: "string" } } });
    const { help = false, conversation } = values;
    if (conversation === "") throw new Error("Option '--conversation' needs the path of a file.");
    return { help, conversation };
  } catch (error) {
    const [reason] = error instanceof Error ? error.message.split("\n") : []; // further lines are advice on dashes
    throw new Error(`${reason}\n${synopsis}`);
  }
}
