import { MemoryError } from "@keepsake/core";

const deepest = 200;

/**
 * A deep copy that nobody can change, for what several slots and turns share. Plain objects, arrays, bytes and URLs are
 * copied, and frozen where that can be done, which bytes and URLs cannot be; anything else is kept as it is.
 * @throws MemoryError `invalid_input` for what is nested without end.
 */
export function frozenCopy<T>(value: T, depth = 0): T {
  if (depth > deepest) throw new MemoryError("invalid_input", `Messages may be nested ${deepest} levels deep.`);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(Array.from(value, (member) => frozenCopy(member, depth + 1))) as T;
  if (value instanceof Uint8Array) return new Uint8Array(value) as T; // a slice of a Buffer would share its bytes
  if (value instanceof ArrayBuffer) return value.slice(0) as T;
  if (value instanceof URL) return new URL(value) as T;
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const copied = frozenCopy(value[key as keyof T], depth + 1);
    if (key === "__proto__")
      Object.defineProperty(copy, key, { value: copied, enumerable: true }); // a name like any other
    else copy[key] = copied;
  }
  return Object.freeze(copy) as T;
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
