/** Ids that never existed, made like those that do. */

export interface IdInput {
  readonly input: unknown;
  readonly id: string | number;
}

/**
 * The input for a made-up id, by comparing the inputs that name two real memories: where they differ, there is the id.
 * `undefined` where they do not differ in an id.
 */
export function madeUpInput(
  named: unknown,
  other: unknown,
): (IdInput & { readonly real: string | number }) | undefined {
  let found: { readonly real: string | number; readonly id: string | number } | undefined;
  const walk = (one: unknown, two: unknown): unknown => {
    if (typeof one === "object" && one !== null) {
      const entries = Object.entries(one).map(([key, value]) => [key, walk(value, Reflect.get(Object(two), key))]);
      return Array.isArray(one) ? entries.map(([, value]) => value) : Object.fromEntries(entries);
    }
    if (one === two || (typeof one !== "string" && typeof one !== "number")) return one;
    found = { real: one, id: madeUp(one) };
    return found.id;
  };
  const input = walk(named, other);
  return found === undefined ? undefined : { input, ...found };
}

/** Of the same form: digits become digits, hexadecimal stays so, and only the end changes. */
function madeUp(id: string | number): string | number {
  if (typeof id === "number") return id + 7_001;
  if (/^\d{1,9}$/.test(id)) return String(Number(id) + 7_001);
  const letters = /^[0-9a-f-]+$/i.test(id) ? "abcdef" : "abcdefghijklmnopqrstuvwxyz";
  const next = (row: string, character: string): string => row[(row.indexOf(character) + 1) % row.length] ?? character;
  return id.replace(/(?:[A-Za-z0-9][^A-Za-z0-9]*){1,6}$/, (end) =>
    end.replace(/[A-Za-z0-9]/g, (character) => {
      if (/\d/.test(character)) return next("0123456789", character);
      const lower = next(letters, character.toLowerCase());
      return character === character.toLowerCase() ? lower : lower.toUpperCase();
    }),
  );
}
