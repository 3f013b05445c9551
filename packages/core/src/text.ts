/** Text that memory keeps and shows: one rule each for odd characters, limits, cuts, escaping and the frame of recall. */

const utf8 = new TextEncoder();

/** Length in UTF-8 bytes. */
export function byteLength(text: string): number {
  return utf8.encode(text).length;
}

// Whitespace of any kind, and what some program somewhere takes for a line break (U+0085, U+001C to U+001E).
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const whitespace = /[\s\u0085\u001c-\u001f]+/g;
// Control characters that are not whitespace, and bidirectional controls that can make text read as something else.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const invisibleControls = /[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u202a-\u202e\u2066-\u2069]/g;

// Tag characters spell text that nobody sees. After a black flag they name a region, which is what they are for.
const flagOrTags = /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f})|[\u{e0000}-\u{e007f}]+/gu;

/**
 * One line of well-formed text: trimmed, every run of whitespace or line breaks one space, control and bidirectional
 * control characters and hidden tag characters removed, lone surrogates replaced by U+FFFD. Case and normal form stay.
 */
export function toSingleLine(text: string): string {
  return text
    .toWellFormed()
    .replace(flagOrTags, (_, flag = "") => flag)
    .replace(invisibleControls, "")
    .replace(whitespace, " ")
    .trim();
}

/**
 * At most `maxCharacters` UTF-16 code units from the start, cut between graphemes, so that no emoji, accent or surrogate
 * pair is split; lone surrogates become U+FFFD. A caller that cuts must say so beside the text.
 */
export function cutText(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text.toWellFormed();
  // The window holds any grapheme that crosses the limit but for absurdly long ones, which are dropped whole.
  const window = text.slice(0, maxCharacters + 64);
  let end = 0;
  for (const { index, segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(window)) {
    if (index + segment.length > maxCharacters) break;
    end = index + segment.length;
  }
  return text.slice(0, end).toWellFormed();
}

/** Stored text as it stands inside a frame: one line, and unable to open or close a tag. Escaping twice is escaping once. */
export function escapeText(text: string): string {
  return toSingleLine(text).replace(/</g, "&lt;");
}

export interface RecallFrame {
  readonly slot: string;
  /** The provider's own words: what the lines are and how to treat them. */
  readonly guidance: string;
  /** Stored texts, as they are: each becomes one line, escaped. */
  readonly lines?: readonly string[];
}

/** Recalled memory as the model sees it: one element that says whose it is, and nothing inside can close it. */
export function frameRecall({ slot, guidance, lines = [] }: RecallFrame): string {
  const body = [guidance, ...lines].map(escapeText);
  return [`<keepsake-memory slot="${slot}">`, ...body, "</keepsake-memory>"].join("\n");
}

const wholeFrame = /^<keepsake-memory slot="[A-Za-z0-9_-]{1,64}">\n[^<]*\n<\/keepsake-memory>$/;

/**
 * Whether a text is a frame of ours from its first character to its last, of the given slot or of any. Text that quotes a
 * frame among other words is not: a person wrote it.
 */
export function isRecallFrame(text: string, slot?: string): boolean {
  if (slot !== undefined && !text.startsWith(`<keepsake-memory slot="${slot}">\n`)) return false;
  return wholeFrame.test(text);
}
