/** What may become an entry: one line, not too long, no secret, and within what recall can show. */
import { byteLength, MemoryError, toSingleLine } from "@keepsake/core";
import { assertNoSecrets, type SecretPolicy } from "@keepsake/core/secrets";
import { entryLine, type FileDocument, formatDocument } from "./document.ts";
import { recalledLength, recallLine } from "./recall.ts";

export const maxEntryBytes = 2_048;
const maxDocumentBytes = 65_536;
/** Of these, what is left to the record of calls, so that no number of entries crowds it out. */
const callsBytes = 10_752;
const largestIndex = 99_999_999_999_999;
const invisible = /[\s\p{Default_Ignorable_Code_Point}]+/gu;

/**
 * The text as it is kept: on one line.
 * @throws MemoryError `invalid_input` when nothing is left, `limit_exceeded` over 2,048 bytes, `secret_refused`.
 */
export function entryText(input: string, secrets: SecretPolicy): string {
  const text = toSingleLine(input);
  if (text.replace(invisible, "") === "") throw new MemoryError("invalid_input", "There is no text to remember.");
  if (byteLength(text) > maxEntryBytes) {
    throw new MemoryError("limit_exceeded", "A memory may have at most 2,048 bytes. Save something shorter.");
  }
  assertNoSecrets([input, text], secrets);
  return text;
}

/** A document that takes entries as long as there is room: in what is recalled, and in what is stored. */
export interface GrowingDocument {
  /**
   * Adds an entry, under the next index unless another is given, and answers its index.
   * @throws MemoryError `limit_exceeded`; the document is then as before.
   */
  add(text: string, index?: number): number;
  readonly document: FileDocument;
}

export function growing(
  start: FileDocument,
  { slot, maxCharacters }: { readonly slot: string; readonly maxCharacters: number },
): GrowingDocument {
  const entries = [...start.entries];
  let nextIndex = start.nextIndex;
  let characters = recalledLength(slot, start.entries);
  let bytes = byteLength(formatDocument({ ...start, calls: [] }));
  return {
    add(text, index = nextIndex) {
      if (index > largestIndex) throw new MemoryError("limit_exceeded", "This memory has no index left.");
      const entry = { index, text };
      const grownCharacters = characters + recallLine(entry).length + 1;
      if (grownCharacters > maxCharacters) {
        throw new MemoryError(
          "limit_exceeded",
          `Memory is full: it would exceed ${maxCharacters.toLocaleString("en-US")} characters. ` +
            "Remove a memory that is out of date by its number, then save again.",
        );
      }
      const grownBytes = bytes + byteLength(entryLine(entry)) + 1;
      if (grownBytes > maxDocumentBytes - callsBytes) {
        throw new MemoryError(
          "limit_exceeded",
          "Memory is full: its document would exceed 65,536 bytes. Remove a memory that is out of date, then save again.",
        );
      }
      entries.push(entry);
      nextIndex = index + 1;
      characters = grownCharacters;
      bytes = grownBytes;
      return index;
    },
    get document() {
      return { ...start, entries, nextIndex };
    },
  };
}
