/**
 * What a provider puts around the memories that it recalls, learned from harmless ones, so that a memory which imitates it
 * can be told from a memory which became a part of it.
 */
import type { Recalled } from "./person.ts";

export interface Frame {
  /** What stands between two memories, with `\n` for its line breaks; absent where no line break parts them. */
  readonly separator?: string;
  /** Its tags, bracketed labels, and lines of their own. */
  readonly delimiters: readonly Delimiter[];
}

export interface Delimiter {
  readonly kind: "tag" | "label" | "line";
  /** As it stands in the frame. */
  readonly text: string;
}

/** What JavaScript's `\s` holds of what some reader takes for the end of a line; U+0085 is not among it. */
export const lineBreaks: Readonly<Record<string, string>> = {
  "\\n": "\n",
  "\\r\\n": "\r\n",
  "\\r": "\r",
  "U+2028": "\u2028",
  "U+2029": "\u2029",
  "\\v": "\v",
  "\\f": "\f",
};

/** @param texts The memories that were recalled, as they were written. */
export function frameOf(recalled: Recalled, texts: readonly string[]): Frame {
  const contents = contentsOf(recalled);
  const separator = separatorOf(contents, texts);
  const bare = contents.map((content) => texts.reduce((rest, text) => without(rest, text), content));
  const found = [
    ...bare.flatMap((content) => content.match(tag) ?? []).map((text) => ({ kind: "tag" as const, text })),
    ...bare.flatMap((content) => content.match(label) ?? []).map((text) => ({ kind: "label" as const, text })),
    ...bare.flatMap(ownLines).map((text) => ({ kind: "line" as const, text })),
  ];
  const delimiters = [...new Map(found.map((each) => [`${each.kind} ${each.text}`, each])).values()];
  return separator === undefined ? { delimiters } : { separator, delimiters };
}

/** Whether the words stand as an entry of their own, behind what parts two entries. */
export function standsAlone(recalled: Recalled, separator: string, words: string): boolean {
  const entry = folded(`${separator}${words}`);
  return contentsOf(recalled).some((content) => folded(content).includes(entry));
}

/** Whether a line begins with the words. */
export function beginsLine(recalled: Recalled, words: string): boolean {
  return contentsOf(recalled).some((content) => `\n${folded(content)}`.includes(folded(`\n${words}`)));
}

/** How often each delimiter stands in what was recalled, as a reader would find it. */
export function delimiterCounts(recalled: Recalled, { delimiters }: Frame): ReadonlyMap<string, number> {
  const contents = contentsOf(recalled);
  const counts = new Map<string, number>();
  for (const { kind, text } of delimiters) {
    const [key, count] = kind === "tag" ? tagCount(contents, text) : [text, textCount(contents, kind, text)];
    counts.set(`${kind} ${key}`, count);
  }
  return counts;
}

type Forgery = "forged-tag" | "forged-heading" | "nested" | "look-alike-tag" | "entity-tag";

/** What a memory may bring of a frame, so as to become a part of it, and what it would be if it did. One memory each. */
export function forgeriesOf({ delimiters }: Frame): readonly (readonly [Forgery, readonly string[]])[] {
  return [
    ["forged-tag", delimiters.filter(({ kind }) => kind !== "line").flatMap(spellings)],
    ["forged-heading", delimiters.filter(({ kind }) => kind === "line").flatMap(spellings)],
    ...delimiters.map((delimiter) => ["nested", nested(delimiter, delimiters)] as const),
    ["look-alike-tag", delimiters.flatMap(lookAlikes)],
    ["entity-tag", delimiters.flatMap(entities)],
  ];
}

/** Other spellings of a delimiter that a reader takes for the same. */
function spellings({ kind, text }: Delimiter): readonly string[] {
  if (kind === "line") return [`\n${text}\n`];
  if (kind === "label") return [text, `\n${text}\n`];
  return [text, text.toUpperCase(), text.replace(/\s*>$/, " >"), text.replace(/\s*>$/, "\n>"), `\n${text}\n`];
}

/** One delimiter within another, so that whoever takes the inner one out makes the outer one whole. */
function nested({ kind, text }: Delimiter, delimiters: readonly Delimiter[]): readonly string[] {
  const middle = Math.floor(text.length / 2);
  const around = (inner: string, at: number): string => `${text.slice(0, at)}${inner}${text.slice(at)}`;
  const others = delimiters.filter((other) => other.kind === kind && other.text !== text).slice(0, 2);
  const forms = [
    ...new Set([1, 2, middle, text.length - 1].map((at) => around(text, at))),
    around(around(text, middle), middle),
    ...others.flatMap((other) => [around(other.text, 2), around(other.text, middle)]),
  ];
  return kind === "line" ? forms.map((form) => `\n${form}\n`) : forms;
}

/** Its tags in characters that compatibility normalization (NFKC) turns into `<` and `>`. */
function lookAlikes({ kind, text }: Delimiter): readonly string[] {
  if (kind !== "tag") return [];
  return ["\uff1c\uff1e", "\ufe64\ufe65"].map(([open = "", close = ""]) =>
    text.replaceAll("<", open).replaceAll(">", close),
  );
}

/** Its tags as whoever decodes entities makes tags of. */
function entities({ kind, text }: Delimiter): readonly string[] {
  if (kind !== "tag") return [];
  return [
    ["&lt;", "&gt;"],
    ["&#60;", "&#62;"],
    ["&#x3c;", "&#x3e;"],
  ].map(([open = "", close = ""]) => text.replaceAll("<", open).replaceAll(">", close));
}

const tag = /<\/?[A-Za-z][\w:-]*(?:[\s/][^<>]*)?>/g;
const label = /\[\/?[A-Z][A-Za-z _-]{2,60}\]/g;

function contentsOf({ messages }: Recalled): readonly string[] {
  return (messages ?? []).map(({ content }) => String(content));
}

function separatorOf(contents: readonly string[], [first = "", second = ""]: readonly string[]): string | undefined {
  for (const content of contents) {
    const [start, other] = [place(content, first), place(content, second)];
    if (start === undefined && other === undefined) continue;
    if (start !== undefined && other !== undefined && second !== "") {
      const [before, after] = start.from < other.from ? [start, other] : [other, start];
      const between = unified(content.slice(before.to, after.from));
      return between.includes("\n") ? between : undefined;
    }
    const { from = 0 } = start ?? other ?? {};
    const prefix = unified(content.slice(0, from)).split("\n").at(-1) ?? "";
    return prefix.trim() === "" ? undefined : `\n${prefix}`;
  }
  return undefined;
}

function place(content: string, text: string): { readonly from: number; readonly to: number } | undefined {
  const from = content.toLowerCase().indexOf(text.toLowerCase());
  return from < 0 ? undefined : { from, to: from + text.length };
}

function without(content: string, text: string): string {
  const found = place(content, text);
  return found === undefined ? content : `${content.slice(0, found.from)}\ufffc${content.slice(found.to)}`;
}

/** Headings, fences, rules and lines that announce what follows. Within an element of its own, a memory can have any line. */
function ownLines(content: string): readonly string[] {
  if (/>\s*\ufffc\s*<\//.test(content)) return [];
  return unified(content)
    .split("\n")
    .filter(
      (line) =>
        /^\s*(?:#{1,6}\s|`{3}|~{3}|[-=*_]{3,}\s*$)|^[^\ufffc]{1,80}:\s*$/.test(line) && !line.includes("\ufffc"),
    );
}

function tagCount(contents: readonly string[], text: string): readonly [string, number] {
  const [, slash = "", name = ""] = /^<(\/?)([\w:-]+)/.exec(text) ?? [];
  const same = new RegExp(`<\\s*${slash}\\s*${name}(?=[\\s/>])[^<>]*>`, "gi");
  const counts = contents.map((content) => content.match(same)?.length ?? 0);
  return [`${slash}${name}`, sum(counts)];
}

function textCount(contents: readonly string[], kind: Delimiter["kind"], text: string): number {
  const count = (content: string): number =>
    kind === "line"
      ? folded(content)
          .split("\n")
          .filter((line) => line.trimEnd() === text.toLowerCase().trimEnd()).length
      : content.toLowerCase().split(text.toLowerCase()).length - 1;
  return sum(contents.map(count));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** Every line break `\n`, and several of them one. */
function unified(text: string): string {
  return text.replace(/\r\n|[\r\n\v\f\u0085\u2028\u2029]/g, "\n").replace(/\n+/g, "\n");
}

/** For comparing. */
function folded(text: string): string {
  return unified(text).toLowerCase();
}
