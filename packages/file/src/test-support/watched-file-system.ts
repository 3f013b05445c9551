/** Node's file system with someone watching: the watcher may count an operation, fail it, or end the process before it. */
import * as nodeFileSystem from "node:fs/promises";
import type { FileSystem } from "../backends/file-system.ts";

export interface FileOperation {
  /** `open`, `rename` and so on; work on an open file is `handle.writeFile`, `handle.sync`, `handle.close`. */
  readonly name: string;
  /** What is changed or read: for `rename` and `link` the new name. */
  readonly path: string;
}

export type Watcher = (operation: FileOperation) => void;

export function watchedFileSystem(watch: Watcher): FileSystem {
  return watched<FileSystem>({ ...nodeFileSystem }, (name, args) => {
    const path = String(name === "rename" || name === "link" ? args[1] : args[0]);
    watch({ name, path });
    if (name !== "open") return undefined;
    return (handle) =>
      watched(handle, (member) => {
        watch({ name: `handle.${member}`, path });
        return undefined;
      });
  });
}

/** Fails operations of one name on matching paths with a system error: the first `times`, or all. */
export function failing(
  name: string,
  code: string,
  { path = /./, times = Number.POSITIVE_INFINITY, text = "" }: { path?: RegExp; times?: number; text?: string } = {},
): Watcher {
  let failed = 0;
  return (operation) => {
    if (operation.name !== name || !path.test(operation.path) || failed >= times) return;
    failed += 1;
    throw Object.assign(new Error(`${code}: ${name} failed ${text}`), { code });
  };
}

/** Ends this process, as a power failure would, before the first operation that matches. */
export function dying(matches: (operation: FileOperation) => boolean): Watcher {
  return (operation) => {
    if (!matches(operation)) return;
    process.kill(process.pid, "SIGKILL");
    for (;;); // the signal may take a moment; nothing more may happen until then
  };
}

type Adopt = (result: object) => object;

/** Calls `before` ahead of every method; it may answer what to make of the method's result. */
function watched<T extends object>(target: T, before: (name: string, args: unknown[]) => Adopt | undefined): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function" || typeof name !== "string") return member;
      return async (...args: unknown[]): Promise<unknown> => {
        // A file that fails to close is closed all the same.
        if (name === "close") await Reflect.apply(member, target, args);
        const adopt = before(name, args);
        if (name === "close") return undefined;
        const result: unknown = await Reflect.apply(member, target, args);
        return adopt !== undefined && typeof result === "object" && result !== null ? adopt(result) : result;
      };
    },
  });
}
