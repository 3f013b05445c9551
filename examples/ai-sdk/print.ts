/** What the chat prints: the answer as it comes, and quieter lines about it. Colours only on a terminal. */
import { stripVTControlCharacters, styleText } from "node:util";

// Whoever reads may stop reading, as `head` does; that is no failure.
process.stdout.on("error", () => {});

type Style = "bold" | "dim" | "yellow";

let isMidLine = false;

/** A piece of a line, or of several. */
export function printPiece(text: string): void {
  const shown = printable(text);
  if (shown === "") return;
  process.stdout.write(shown);
  isMidLine = !shown.endsWith("\n");
}

/** A line of its own. */
export function printLine(text = "", style?: Style): void {
  endLine();
  process.stdout.write(`${style === undefined ? printable(text) : paint(style, printable(text))}\n`);
}

/** The next thing printed starts a new line. */
export function endLine(): void {
  if (isMidLine) process.stdout.write("\n");
  isMidLine = false;
}

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** What a terminal would obey instead of showing is left out. */
function printable(text: string): string {
  return stripVTControlCharacters(text).replace(/[^\P{Cc}\n\t]/gu, "");
}
