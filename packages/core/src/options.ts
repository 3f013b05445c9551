/** Options, checked once where they are given, so that a misspelt one does not wait for its day. */
import { MemoryError } from "./errors.ts";

export type OptionChecks = Readonly<Record<string, (value: unknown) => boolean>>;

/**
 * Refuses options that are unknown or cannot be used. One that is `undefined` counts as left out.
 * @param owner The function they were given to, as its caller writes it: `fileMemory()`.
 * @throws MemoryError `invalid_options`, naming the options and never their values.
 */
export function checkOptions(owner: string, options: unknown, checks: OptionChecks): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new MemoryError("invalid_options", `${owner} takes an object of options.`);
  }
  const wrong: string[] = [];
  // Inherited members too: they would be used like one's own.
  for (const name in options) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined && !(Object.hasOwn(checks, name) && checks[name]?.(value))) wrong.push(name);
  }
  if (wrong.length > 0) {
    const names = wrong.join(", ");
    const known = Object.keys(checks).join(", ");
    throw new MemoryError(
      "invalid_options",
      `${owner} cannot use these options as given: ${names}. It knows ${known}.`,
    );
  }
}

/** What an option may be. */
export const optionIs: {
  readonly text: (value: unknown) => boolean;
  readonly flag: (value: unknown) => boolean;
  readonly positive: (value: unknown) => boolean;
  readonly duration: (value: unknown) => boolean;
  readonly callable: (value: unknown) => boolean;
  readonly clock: (value: unknown) => boolean;
  readonly having: (...methods: readonly string[]) => (value: unknown) => boolean;
} = {
  text: (value) => typeof value === "string" && value.trim() !== "",
  flag: (value) => typeof value === "boolean",
  positive: (value) => typeof value === "number" && value > 0,
  duration: (value) => typeof value === "number" || typeof value === "string",
  callable: (value) => typeof value === "function",
  clock: (value) => hasMethod(value, "now") && (hasMethod(value, "setTimer") || !("setTimer" in Object(value))),
  having:
    (...methods) =>
    (value) =>
      methods.every((method) => hasMethod(value, method)),
};

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}
