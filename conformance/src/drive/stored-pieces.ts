/**
 * What a store puts around memories, learned from what it holds: comments, fences, names of fields, what stands before,
 * behind and between texts. A memory that holds such a piece is read back wrongly by whoever does not escape it.
 */

const longest = 60;
const most = 10;
/** A long token with a digit, as ids and digests are. */
const token = /(?=[\w-]*\d)[\w-]{16,}/g;

/**
 * One of each shape, of every kind some.
 * @param texts What the backend holds. Those of the memories come first.
 * @param memories What was written, to be told from what is around it.
 */
export function piecesOf(texts: readonly string[], memories: readonly string[]): readonly string[] {
  const holdsOne = (text: string): boolean => memories.some((memory) => text.includes(memory));
  const layers = texts.flatMap(layersOf);
  const bare = [...layers.filter(holdsOne), ...layers.filter((layer) => !holdsOne(layer))].map((layer) =>
    memories.reduce((rest, memory) => rest.replaceAll(memory, hole), layer),
  );
  const kinds = finders.map((find) => distinct(bare.flatMap(find).filter(isUsable)));
  const inTurn = Array.from({ length: most }, (_, round) => kinds.flatMap((found) => found.slice(round, round + 1)));
  return distinct(inTurn.flat()).slice(0, most);
}

const hole = "\ufffc";

/** Comments; lines of their own; what stands before, between and behind memories; names, ids and control characters. */
const finders: readonly ((text: string) => readonly string[])[] = [
  (text) => (text.match(/<!--[\s\S]*?-->/g) ?? []).flatMap(comments),
  (text) => lines(text).filter((line) => !line.includes(hole)),
  (text) =>
    around(text).map(({ before }) => {
      const end = before.slice(-longest - 1); // a pattern that is sought from each place in a long text takes very long
      return (end.length > longest ? /\W*\w{0,20}\W*$/.exec(end)?.[0] : end) ?? "";
    }),
  (text) =>
    around(text).map(({ behind }) => {
      const start = behind.slice(0, longest + 1);
      return (start.length > longest ? /^\W*\w{0,20}\W*/.exec(start)?.[0] : start) ?? "";
    }),
  (text) => text.split(hole).slice(1, -1),
  (text) => text.match(/["'][A-Za-z_][\w-]{0,30}["']\s*[:=]/g) ?? [],
  (text) => text.match(/[[(<{]#?[\w.:-]{1,40}[\])}>]/g) ?? [],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: such as delimit records
  (text) => text.match(/[\u0000-\u0008\u000e-\u001f]/g) ?? [],
];

/** As it is, with the first that it lists, and with its name alone. */
function comments(comment: string): readonly string[] {
  const [, name = "", first = ""] = /^<!--\s*([^\s>]+)\s+([^\s>]+)/.exec(comment) ?? [];
  return [comment, `<!-- ${name} ${first} -->`, `<!-- ${name} -->`];
}

/** What stands on one line with the first and the last memory of it. */
function around(text: string): readonly { readonly before: string; readonly behind: string }[] {
  return lines(text)
    .map((line) => line.split(hole))
    .filter((parts) => parts.length > 1)
    .map((parts) => ({ before: parts[0] ?? "", behind: parts.at(-1) ?? "" }));
}

/** The text, and each text that it holds as JSON. The first line may be a name. */
function layersOf(text: string): readonly string[] {
  const parsed = [text, text.slice(text.indexOf("\n") + 1)].map(valueIn).find((value) => value !== undefined);
  return [text, ...leaves(parsed)];
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function leaves(value: unknown): readonly string[] {
  if (typeof value === "string") return /\s/.test(value.trim()) ? layersOf(value) : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [];
}

function lines(text: string): readonly string[] {
  return text.split(/\r\n|[\r\n]/);
}

/** Neither plain words nor what a provider may refuse as a secret. */
function isUsable(piece: string): boolean {
  const isSecret = /(?:key|token|secret|passw\w*|auth\w*|credentials?)["']?\s*[:=]/i.test(piece);
  return piece.length <= longest && !isSecret && !piece.includes(hole) && !/^[\w\s]*$/.test(piece);
}

/** A piece of the same shape that no store has, and a word of each to know it by; `undefined` where it has no words. */
export function twinOf(
  piece: string,
): { readonly twin: string; readonly word: string; readonly twinWord: string } | undefined {
  const [word] = (piece.match(/[A-Za-z]{4,}/g) ?? []).sort((a, b) => b.length - a.length);
  if (word === undefined) return undefined;
  return { twin: piece.replace(/[A-Za-z]{3,}/g, shifted), word, twinWord: shifted(word) };
}

/** Each letter becomes the next one. */
function shifted(word: string): string {
  return word.replace(/[A-Za-z]/g, (letter) =>
    /z/i.test(letter) ? String.fromCharCode(letter.charCodeAt(0) - 25) : String.fromCharCode(letter.charCodeAt(0) + 1),
  );
}

/** The first of each shape: numbers and ids aside. */
function distinct(pieces: readonly string[]): readonly string[] {
  const shapes = new Map<string, string>();
  for (const piece of pieces) {
    const shape = piece.trim().replace(token, "#").replace(/\d+/g, "0");
    if (!shapes.has(shape)) shapes.set(shape, piece);
  }
  return [...shapes.values()];
}
