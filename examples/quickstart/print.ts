/** Lines for a person: at most 80 columns, colours only on a terminal. */
import { styleText } from "node:util";

// Whoever reads may stop reading, as `head` does; that is no failure, and what was begun is still tidied up.
process.stdout.on("error", () => {});

const columns = 80;
type Style = "bold" | "dim" | "green" | "yellow" | "cyan";

export function title(text: string): void {
  for (const row of wrap(text, columns)) console.log(paint("bold", row));
}

export function heading(text: string): void {
  console.log();
  title(text);
}

/** Prints a label and text beside it, wrapped. */
export function line(label: string, text: string, style?: Style): void {
  const indent = `   ${label.padEnd(8)}`;
  for (const [index, row] of wrap(text, columns - indent.length).entries()) {
    const painted = style === undefined ? row : paint(style, row);
    console.log(`${index === 0 ? indent : " ".repeat(indent.length)}${painted}`);
  }
}

/** Prints what went wrong, apart from what was asked for. */
export function complain(text: string): void {
  for (const row of wrap(text, columns)) console.error(row);
}

/** Such as `1 turn` or `3 turns`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const rows: string[] = [];
    let row = "";
    for (const word of printable(paragraph)
      .split(" ")
      .flatMap((word) => split(word, width))) {
      if (row !== "" && widthOf(row) + 1 + widthOf(word) > width) {
        rows.push(row);
        row = "";
      }
      row = row === "" ? word : `${row} ${word}`;
    }
    return [...rows, row];
  });
}

/** Pieces of a word that is wider than a row. */
function split(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (widthOf(piece + character) > width) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}

/** An upper bound of the columns a text takes: symbols, emoji and East Asian letters may take two. */
function widthOf(text: string): number {
  return text.replace(/[\u2600-\u{10ffff}]/gu, "  ").length;
}

/** What a terminal would obey instead of showing is left out. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "");
}
