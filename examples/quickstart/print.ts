/** Lines for a person: at most 80 columns, colours only on a terminal. */
import { styleText } from "node:util";

// Whoever reads may stop reading, as `head` does; that is no failure.
process.stdout.on("error", () => process.exit());

const columns = 80;
type Style = "bold" | "dim" | "green" | "yellow" | "cyan";

/** Prints a label and text beside it, wrapped. Machine-made text is cut to one line where asked. */
export function line(label: string, text: string, style?: Style): void {
  const indent = `   ${label.padEnd(8)}`;
  const rows = wrap(text, columns - indent.length);
  rows.forEach((row, index) => {
    const painted = style === undefined ? row : paint(style, row);
    console.log(`${index === 0 ? indent : " ".repeat(indent.length)}${painted}`);
  });
}

export function heading(text: string): void {
  console.log(`\n${paint("bold", text)}`);
}

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

function wrap(text: string, width: number): string[] {
  const rows: string[] = [];
  for (const paragraph of text.split("\n")) {
    let row = "";
    for (const word of paragraph.split(" ").flatMap((long) => long.match(new RegExp(`.{1,${width}}`, "gu")) ?? [""])) {
      if (row !== "" && row.length + 1 + word.length > width) {
        rows.push(row);
        row = "";
      }
      row = row === "" ? word : `${row} ${word}`;
    }
    rows.push(row);
  }
  return rows;
}
