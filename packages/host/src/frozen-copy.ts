import { MemoryError } from "@keepsake/core";

const deepest = 200;

/**
 * A deep copy that nobody can change, for what several slots and turns share. Plain objects, arrays and bytes are copied, and
 * frozen where that can be done; anything else, such as a URL, is kept as it is.
 * @throws MemoryError `invalid_input` for what is nested without end.
 */
export function frozenCopy<T>(value: T, depth = 0): T {
  if (depth > deepest) throw new MemoryError("invalid_input", `Messages may be nested ${deepest} levels deep.`);
  const copy = (member: unknown): unknown => frozenCopy(member, depth + 1);
  if (Array.isArray(value)) return Object.freeze(Array.from(value, copy)) as T;
  if (value instanceof Uint8Array) return value.slice() as T;
  if (!isPlainObject(value)) return value;
  return Object.freeze(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copy(member)]))) as T;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
