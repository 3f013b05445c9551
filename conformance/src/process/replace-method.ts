/** Looks on as a method is called. */

/** Calls `before` with the arguments of each call, which then goes on as it would have. Answers what undoes it. */
export function replaceMethod(owner: object, name: string, before: (...args: readonly unknown[]) => void): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  const method: unknown = Reflect.get(owner, name);
  if (typeof method !== "function") return () => {};
  const watched = function (this: unknown, ...args: unknown[]): unknown {
    before(...args);
    return Reflect.apply(method, this, args);
  };
  // What hangs on the method, such as its form for `promisify` or `realpath.native`, stays there.
  Object.defineProperties(watched, Object.getOwnPropertyDescriptors(method));
  Object.defineProperty(owner, name, { configurable: true, writable: true, enumerable: true, value: watched });
  return () => {
    if (own === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, own);
  };
}
