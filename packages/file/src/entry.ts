/** What may become an entry: one line, not too long, no secret, and within what recall can show. */
import { byteLength, MemoryError, toSingleLine } from "@keepsake/core";
import { assertNoSecrets, type SecretPolicy } from "@keepsake/core/secrets";
import type { FileDocument } from "./document.ts";
import { fullRecallText } from "./recall.ts";

export const maxEntryBytes = 2_048;

/**
 * The text as it is kept: on one line.
 * @throws MemoryError `invalid_input` when nothing is left, `limit_exceeded` over 2,048 bytes, `secret_refused`.
 */
export function entryText(input: string, secrets: SecretPolicy): string {
  const text = toSingleLine(input);
  if (text === "") throw new MemoryError("invalid_input", "There is no text to remember.");
  if (byteLength(text) > maxEntryBytes) {
    throw new MemoryError("limit_exceeded", "A memory may have at most 2,048 bytes. Save something shorter.");
  }
  assertNoSecrets([input, text], secrets);
  return text;
}

/**
 * The document with one more entry, under the next index.
 * @throws MemoryError `limit_exceeded` when the recalled message would outgrow `maxCharacters`.
 */
export function addEntry(
  document: FileDocument,
  text: string,
  { slot, maxCharacters, index = document.nextIndex }: { slot: string; maxCharacters: number; index?: number },
): FileDocument {
  const nextIndex = index + 1;
  if (!Number.isSafeInteger(nextIndex)) throw new MemoryError("limit_exceeded", "This memory has no index left.");
  const grown = { ...document, entries: [...document.entries, { index, text }], nextIndex };
  if (fullRecallText(slot, grown).length > maxCharacters) {
    throw new MemoryError(
      "limit_exceeded",
      `Memory is full: it would exceed ${maxCharacters.toLocaleString("en-US")} characters. ` +
        "Remove a memory that is out of date by its number, then save again.",
    );
  }
  return grown;
}
