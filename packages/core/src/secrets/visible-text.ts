/**
 * A secret can be split by characters that nobody sees (zero-width spaces, soft hyphens, joiners, control characters), and is
 * whole again where somebody drops them. Rules look at the text without them; positions are mapped back to the text as it
 * came.
 */

export interface VisibleText {
  readonly text: string;
  /** The span of the original text that a span of the visible text came from, end exclusive. */
  readonly toOriginal: (span: { readonly start: number; readonly end: number }) => {
    readonly start: number;
    readonly end: number;
  };
}

// Unicode's own list, rather than ours, of characters that show nothing, and the control characters that are no space.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is left out
const invisible = /[\p{Default_Ignorable_Code_Point}\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f]+/gu;

/** The text without invisible characters, or `undefined` when it has none. */
export function visibleText(text: string): VisibleText | undefined {
  const offsets: number[] = [];
  let visible = "";
  let position = 0;
  const keep = (end: number): void => {
    visible += text.slice(position, end);
    for (; position < end; position++) offsets.push(position);
  };
  for (const match of text.matchAll(invisible)) {
    keep(match.index);
    position = match.index + match[0].length;
  }
  if (position === 0) return undefined;
  keep(text.length);
  const original = (offset: number): number => offsets[offset] ?? text.length;
  return {
    text: visible,
    toOriginal: ({ start, end }) => ({
      start: original(start),
      end: end > start ? original(end - 1) + 1 : original(start),
    }),
  };
}
