/** What a person types, line by line, at a terminal or through a pipe. */
import { createInterface } from "node:readline/promises";
import { endLine, paint, printLine } from "./print.ts";

export interface Lines {
  /** The next line, `null` when there are no more. */
  next(prompt: string): Promise<string | null>;
  /** The answer to a question: at a terminal only what is typed after it was put. @throws The signal's reason. */
  answer(question: string, signal: AbortSignal): Promise<string | null>;
  close(): void;
}

/** @param interrupt Called for Ctrl-C; answers whether there was anything to interrupt. */
export function openLines(interrupt: () => boolean): Lines {
  const { stdin: input, stdout: output } = process;
  const isTerminal = input.isTTY && output.isTTY;
  const reader = createInterface({ input, ...(isTerminal ? { output } : {}), terminal: isTerminal });
  const early: string[] = []; // typed before anybody waited
  let waiting: ((line: string | null) => void) | undefined;
  let isClosed = false;

  const deliver = (line: string | null): void => {
    const deliverTo = waiting;
    waiting = undefined;
    if (deliverTo !== undefined) deliverTo(line);
    else if (line !== null) early.push(line);
  };
  const onInterrupt = (): void => {
    if (interrupt()) return;
    if (!isTerminal) {
      reader.close();
      return;
    }
    reader.write(null, { ctrl: true, name: "e" });
    reader.write(null, { ctrl: true, name: "u" }); // what was typed so far is given up
    process.stdout.write("\n");
    printLine("Ctrl-D or /quit ends the chat.", "dim");
    reader.prompt();
  };
  reader.on("line", deliver);
  reader.on("close", () => {
    isClosed = true;
    if (isTerminal && waiting !== undefined) process.stdout.write("\n"); // away from the prompt
    deliver(null);
  });
  reader.on("SIGINT", onInterrupt); // the key, which a terminal in raw mode does not turn into a signal
  process.on("SIGINT", onInterrupt);

  const wait = async (prompt: string, signal?: AbortSignal): Promise<string | null> => {
    signal?.throwIfAborted();
    if (isClosed) return null;
    if (isTerminal) {
      endLine();
      reader.setPrompt(paint("bold", prompt));
      reader.prompt();
    }
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    waiting = resolve;
    const onAbort = (): void => {
      waiting = undefined;
      if (isTerminal) process.stdout.write("\n"); // away from the question
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", onAbort));
  };

  return {
    next: async (prompt) => {
      const line = early.shift();
      if (line === undefined) return wait(prompt);
      if (isTerminal) printLine(`${prompt}${line}`, "bold");
      return line;
    },
    answer: async (question, signal) => {
      if (isTerminal) return wait(question, signal);
      printLine(question.trim());
      return early.shift() ?? wait(question, signal);
    },
    close: () => {
      process.off("SIGINT", onInterrupt);
      reader.close();
    },
  };
}
