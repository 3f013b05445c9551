/** The chat as a person's program: a child process whose input and output are pipes. For tests. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** How long anything may take before a test says what never came. */
const guardMs = 20_000;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  /** The folder that everything is kept in. */
  readonly home: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export class Program {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<unknown>;
  #stdout = "";
  #stderr = "";
  /** How much of the output tests have looked at. */
  #seen = 0;
  #onOutput = (): void => {};

  constructor({ home, args = [], env = {} }: ProgramOptions) {
    this.#child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), ...args], {
      env: { PATH: process.env.PATH, HOME: home, KEEPSAKE_HOME: home, ...env },
    });
    this.#child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      this.#stdout += piece;
      this.#onOutput();
    });
    this.#child.stderr.setEncoding("utf8").on("data", (piece: string) => {
      this.#stderr += piece;
    });
    this.#ended = once(this.#child, "close").then(() => this.#onOutput());
  }

  /** Types lines, and answers what is printed up to and with `expected`. */
  async say(lines: string | readonly string[], expected: string): Promise<string> {
    for (const line of [lines].flat()) this.#child.stdin.write(`${line}\n`);
    return this.see(expected);
  }

  /** What is printed up to and with `expected`, from where the last one ended. */
  async see(expected: string): Promise<string> {
    await this.#guarded(`"${expected}"`, async () => {
      while (!this.#stdout.includes(expected, this.#seen)) {
        if (this.#child.exitCode !== null) throw new Error(this.#report(`The program ended without "${expected}"`));
        await new Promise<void>((resolve) => {
          this.#onOutput = resolve;
        });
      }
    });
    const end = this.#stdout.indexOf(expected, this.#seen) + expected.length;
    const shown = this.#stdout.slice(this.#seen, end);
    this.#seen = end;
    return shown;
  }

  /** Ctrl-C, as a program without a terminal gets it. */
  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  /** Ends the input, as Ctrl-D does. */
  endInput(): Promise<Ended> {
    this.#child.stdin.end();
    return this.end();
  }

  /** Waits for the program's own end. */
  async end(): Promise<Ended> {
    await this.#guarded("the end of the program", () => this.#ended);
    return { code: this.#child.exitCode, stdout: this.#stdout, stderr: this.#stderr };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #guarded(what: string, wait: () => Promise<unknown>): Promise<void> {
    const guard = Promise.withResolvers<never>();
    const timer = setTimeout(() => guard.reject(new Error(this.#report(`${what} never came`))), guardMs);
    try {
      await Promise.race([wait(), guard.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  #report(what: string): string {
    return `${what}. After what was seen so far it printed:\n${this.#stdout.slice(this.#seen)}\n${this.#stderr}`;
  }
}
