/** The styles in which `node:fs` has each operation, as watched functions: promises, callbacks, and at once. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Plan } from "./file-faults.ts";
import type { FileOperation } from "./file-operations.ts";
import { collect, isStreamed } from "./written-data.ts";

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;

/** The way from a watched function to what it stands for. */
export interface Through {
  isWatched(operation: FileOperation, self: unknown, args: readonly unknown[]): boolean;
  /** What is to happen; nothing where the call is to be let through as it is. */
  plan(
    operation: FileOperation,
    self: unknown,
    args: readonly unknown[],
    options: { readonly canWait: boolean },
  ): Plan | undefined;
  /** Runs Node's own function so that what it calls in turn is not seen. */
  within<T>(work: () => T): T;
}

/** Makes a watched function of one of Node's. */
export type Style = (original: CallableFunction, operation: FileOperation, through: Through) => AnyFunction;

// The kit may replace it later.
const { nextTick } = process;

export const promised: Style = (original, operation, { isWatched, plan, within }) =>
  function (...given) {
    const { data: index, name } = operation;
    const data = index === undefined ? undefined : given[index];
    // To be seen, and to be torn, it has to be whole.
    if (index !== undefined && name !== "writev" && isStreamed(data) && isWatched(operation, this, given)) {
      const collected = collect(data, given[index + 1]);
      return collected.then((bytes) => run(this, given.toSpliced(index, 1, bytes)));
    }
    return run(this, given);

    function run(self: unknown, args: unknown[]): unknown {
      const planned = plan(operation, self, args, { canWait: true });
      return planned === undefined ? Reflect.apply(original, self, args) : fulfil(self, planned);
    }

    async function fulfil(self: unknown, { args, error, held, watch, opened }: Plan): Promise<unknown> {
      try {
        const result: unknown =
          args === undefined ? undefined : await within(() => Reflect.apply(original, self, args));
        if (held) await watch.hold();
        if (error !== undefined) throw error;
        opened(result);
        return result;
      } finally {
        await watch.held?.untilReleased();
        watch.end();
      }
    }
  };

export const callback: Style = (original, operation, { plan, within }) =>
  function (...given) {
    const done = given.at(-1);
    const planned =
      typeof done === "function" ? plan(operation, this, given.slice(0, -1), { canWait: true }) : undefined;
    if (typeof done !== "function" || planned === undefined) return Reflect.apply(original, this, given);
    const { args, error, held, watch, opened } = planned;
    const asCaller = AsyncLocalStorage.snapshot();
    const settle = (results: unknown[]): void => {
      watch.end();
      if (!results[0]) opened(results[1]);
      asCaller(() => Reflect.apply(done, undefined, results));
    };
    const fail = (): void => {
      if (held) void watch.hold().then(() => settle([error]));
      else nextTick(settle, [error]);
    };
    if (args === undefined) return fail();
    const settled = (...results: unknown[]): void => {
      if (error !== undefined && !results[0]) fail();
      else if (watch.held === undefined) settle(results);
      else void watch.held.untilReleased().then(() => settle(results));
    };
    try {
      return within(() => Reflect.apply(original, this, [...args, settled]));
    } catch (refusal) {
      watch.end(); // such as of arguments that cannot be
      throw refusal;
    }
  };

/** There is no waiting here: what would hang fails. */
export const synchronous: Style = (original, operation, { plan, within }) =>
  function (...given) {
    const planned = plan(operation, this, given, { canWait: false });
    if (planned === undefined) return Reflect.apply(original, this, given);
    const { args, error, watch, opened } = planned;
    try {
      const result: unknown = args === undefined ? undefined : within(() => Reflect.apply(original, this, args));
      if (error !== undefined) throw error;
      opened(result);
      return result;
    } finally {
      watch.end();
    }
  };

/** A class, whose instances are what it opens. */
export const constructing: Style = (original, operation, through) =>
  new Proxy(original as AnyFunction, {
    construct: (target, given, newTarget) => {
      const construct = (...args: unknown[]): unknown => Reflect.construct(target, args, newTarget);
      return Object(synchronous(construct, operation, through).apply(undefined, given));
    },
  });

/** The only question that cannot fail: what cannot be looked at is not there. */
export const exists: { readonly callback: Style; readonly synchronous: Style } = {
  callback: (original, operation, through) =>
    function (...given) {
      const done = given.at(-1);
      if (typeof done !== "function") return Reflect.apply(original, this, given);
      const probe = callback(adapted, operation, through);
      function adapted(this: unknown, ...args: unknown[]): void {
        const answered = args.at(-1) as (error: undefined, isThere: unknown) => void;
        Reflect.apply(original, this, [...args.slice(0, -1), (isThere: unknown) => answered(undefined, isThere)]);
      }
      return Reflect.apply(probe, this, [
        ...given.slice(0, -1),
        (error: unknown, isThere: unknown) => Reflect.apply(done, undefined, [error ? false : isThere]),
      ]);
    },
  synchronous: (original, operation, through) => {
    const probe = synchronous(original, operation, through);
    return function (...given) {
      try {
        return Reflect.apply(probe, this, given);
      } catch {
        return false;
      }
    };
  },
};
