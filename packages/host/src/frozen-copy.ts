/**
 * A deep copy that nobody can change, for what several slots and turns share. Plain objects and arrays are copied and
 * frozen; anything else, such as bytes or a URL, is kept as it is.
 */
export function frozenCopy<T>(value: T): T {
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, member]) => [key, frozenCopy(member)]);
  return Object.freeze(Object.fromEntries(entries)) as T;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
