/** Whether JSON can hold a value: what a host can hand to a model, keep and send. */

/** `undefined` counts as `null`; a member that is `undefined` counts as left out. */
export function isJson(value: unknown, within: readonly unknown[] = []): boolean {
  if (value === undefined || value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || within.includes(value)) return false;
  if (typeof Reflect.get(value, "toJSON") === "function") return true; // such as a Date
  const hasMore = [Symbol.iterator, Symbol.asyncIterator, "then"].some((name) => Reflect.has(value, name));
  if (hasMore && !Array.isArray(value)) return false;
  return Object.values(value).every((each) => isJson(each, [...within, value]));
}
