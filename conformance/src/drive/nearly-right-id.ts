/** Ids that are like one that exists, as a model has them that remembers half of one. */

export interface NearlyRight {
  readonly id: string | number;
  /** In which way, to be told. */
  readonly how: string;
  /** Whether it can be read as the very id that it is like. */
  readonly isSame: boolean;
}

/** None that is the same in the provider's eyes for sure: hexadecimal ids, such as UUIDs, have no case. */
export function nearlyRight(id: string | number): readonly NearlyRight[] {
  if (/^\d{1,9}$/.test(String(id))) {
    const negative = -Number(id);
    const near = {
      id: typeof id === "number" ? negative : `-${id}`,
      how: "the negative of one",
      isSame: negative === 0,
    };
    return near.isSame ? [] : [near];
  }
  const text = String(id);
  const swapped = text === text.toLowerCase() ? text.toUpperCase() : text.toLowerCase();
  const hasCase = /[a-z]/.test(text) && /[A-Z]/.test(text);
  const variants: readonly NearlyRight[] = [
    { id: text.slice(0, Math.ceil(text.length / 2)), how: "the first half of one", isSame: false },
    { id: text.slice(0, -1), how: "one without its last character", isSame: false },
    ...(hasCase ? [{ id: swapped, how: "one in another case", isSame: false }] : []),
    { id: ` ${text} `, how: "one with spaces around it", isSame: true },
  ];
  return variants.filter((variant) => variant.id !== "" && variant.id !== text);
}

/** The input with another id where this one stands. */
export function withId(input: unknown, from: string | number, to: string | number): unknown {
  if (input === from) return to;
  if (Array.isArray(input)) return input.map((each) => withId(each, from, to));
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, withId(value, from, to)]));
}
