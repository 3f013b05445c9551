/**
 * The document of one scope, as a person can read and edit it:
 *
 *     <!-- keepsake-memory v1 next=4 -->
 *     0: likes tea
 *     3: prefers aisle seats
 *     <!-- keepsake-calls ... -->
 *
 * `next` is the index the next memory gets; no index is ever given twice. The last line holds digests of recent tool
 * calls, so that one that is repeated changes nothing. A line that a person adds without an index gets the next one.
 * Documents that eve's file memory wrote are read too, and become this on the first write.
 */
import { MemoryError, toSingleLine } from "@keepsake/core";

export interface MemoryEntry {
  readonly index: number;
  readonly text: string;
}

export type CallOutcome = "saved" | "duplicate" | "removed" | "absent";

/** A tool call that has been carried out. */
export interface RecordedCall {
  /** 22 characters of base64url. */
  readonly digest: string;
  readonly outcome: CallOutcome;
  readonly index: number;
}

export interface FileDocument {
  /** In ascending order of index. */
  readonly entries: readonly MemoryEntry[];
  readonly nextIndex: number;
  /** Oldest first. */
  readonly calls: readonly RecordedCall[];
}

export const emptyDocument: FileDocument = { entries: [], nextIndex: 0, calls: [] };

const header = /^<!-- keepsake-memory v1 next=(0|[1-9][0-9]{0,14}) -->\s*$/;
const otherVersion = /^<!-- keepsake-memory v(?!1 )[0-9]+ /;
const eveHeader = /^<!-- eve-memory-file-v1 lastAllocatedIndex=(-1|0|[1-9][0-9]{0,14}) -->\s*$/;
const numberedLine = /^([0-9]{1,15}):(.*)$/s;
/** A person may number lines ahead of `next`, but not so far that the numbers run out. */
const largestIndexAhead = 999_999_999;
const largestNext = 999_999_999_999_999;
const callsComment = /^<!-- keepsake-calls([^<>]*)-->[ \t]*$/gm;
const callToken = /([A-Za-z0-9_-]{22})\.([sdra])([0-9]{1,15})(?=\s|$)/g;

const outcomeLetters: Readonly<Record<CallOutcome, string>> = { saved: "s", duplicate: "d", removed: "r", absent: "a" };

/**
 * Reads a document. Windows line ends, a byte order mark, blank and wrapped lines are taken in stride.
 * @throws MemoryError `corrupt_store` for anything else that does not start with a header, `unsupported_version` for one
 * of a newer version.
 */
export function parseDocument(content: string): FileDocument {
  const calls: RecordedCall[] = [];
  const [first = "", ...lines] = content
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .replace(callsComment, (_, tokens: string) => {
      calls.push(...parseCalls(tokens));
      return tokens.split("\n").filter(isWritten).join("\n");
    })
    .split("\n");
  const numbered = new Map<number, string>();
  const unnumbered: string[] = [];
  const declaredNext = parseHeader(first);
  const largestIndex = Math.max(declaredNext - 1, largestIndexAhead);
  let nextIndex = declaredNext;
  for (const line of lines) {
    const [, digits, rest = ""] = numberedLine.exec(line) ?? [];
    const index = digits === undefined ? Number.NaN : Number(digits);
    const usable = index <= largestIndex && !numbered.has(index);
    const text = toSingleLine(usable ? rest : line);
    if (text === "") continue;
    if (!usable) {
      unnumbered.push(text);
      continue;
    }
    numbered.set(index, text);
    nextIndex = Math.max(nextIndex, index + 1);
  }
  for (const text of unnumbered) {
    numbered.set(nextIndex, text);
    nextIndex += 1;
  }
  if (nextIndex > largestNext) throw corrupt();
  const entries = [...numbered].map(([index, text]) => ({ index, text })).sort((a, b) => a.index - b.index);
  return { entries, nextIndex, calls };
}

/** Writes a document. Reading it back gives the same. */
export function formatDocument({ entries, nextIndex, calls }: FileDocument): string {
  const lines = [`<!-- keepsake-memory v1 next=${nextIndex} -->`, ...entries.map(entryLine)];
  if (calls.length > 0) lines.push(`<!-- keepsake-calls ${calls.map(formatCall).join(" ")} -->`);
  return `${lines.join("\n")}\n`;
}

/** An entry as it stands in a document. */
export function entryLine({ index, text }: MemoryEntry): string {
  return `${index}: ${text}`;
}

function parseHeader(line: string): number {
  const next = header.exec(line)?.[1];
  const last = eveHeader.exec(line)?.[1];
  const nextIndex = next !== undefined ? Number(next) : last !== undefined ? Number(last) + 1 : Number.NaN;
  if (Number.isSafeInteger(nextIndex)) return nextIndex;
  if (otherVersion.test(line)) {
    throw new MemoryError("unsupported_version", "The memory document was written by a newer version of this package.");
  }
  throw corrupt();
}

/** A word that is none of ours is let go: it can only cost the answer to a repeated call. */
function parseCalls(tokens: string): RecordedCall[] {
  const outcomes = Object.keys(outcomeLetters) as CallOutcome[];
  return [...tokens.matchAll(callToken)].flatMap(([, digest = "", letter, index]) => {
    const outcome = outcomes.find((key) => outcomeLetters[key] === letter);
    return outcome === undefined ? [] : [{ digest, outcome, index: Number(index) }];
  });
}

/** Whether a line within the comment of calls is not of ours: a person wrote it there. */
function isWritten(line: string): boolean {
  return line.trim() !== "" && !/[A-Za-z0-9_-]{22}/.test(line);
}

function formatCall({ digest, outcome, index }: RecordedCall): string {
  return `${digest}.${outcomeLetters[outcome]}${index}`;
}

function corrupt(): MemoryError {
  return new MemoryError("corrupt_store", "The memory document cannot be understood. It was left as it is.");
}
