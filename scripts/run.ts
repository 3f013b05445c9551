/** Runs commands in the project. What they print is kept, for whoever wants to show it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

export const project: string = join(import.meta.dirname, "..");

export interface Outcome {
  readonly succeeded: boolean;
  readonly stdout: string;
  /** Standard output and standard error, in the order in which they came. */
  readonly output: string;
}

export async function run(command: string, args: readonly string[], cwd: string = project): Promise<Outcome> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code] = await once(child, "close");
  return { succeeded: code === 0, stdout, output };
}
