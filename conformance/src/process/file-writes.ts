/** Which files somebody writes. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import { replaceMethod } from "./replace-method.ts";

export interface FileRecord {
  /** Paths, as they were given. */
  readonly written: ReadonlySet<string>;
  stop(): void;
}

/** Functions whose first argument is changed; those of two paths count for the second where that is the one written. */
const changingFirst = [
  ...["appendFile", "chmod", "chown", "lchown", "lutimes", "mkdir", "mkdtemp", "rm", "rmdir", "truncate", "unlink"],
  ...["utimes", "writeFile", "createWriteStream"],
];
const changingSecond = ["copyFile", "cp", "link", "rename", "symlink"];
const { O_APPEND, O_CREAT, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants;
const writingFlags = O_APPEND | O_CREAT | O_RDWR | O_TRUNC | O_WRONLY;

/**
 * Notes what is written through `node:fs` and `node:fs/promises` until it is stopped.
 * @param onConsole Called when something is written to stdout or stderr by their descriptors.
 */
export function recordFiles(onConsole: () => void): FileRecord {
  const written = new Set<string>();
  const note = (path: unknown): void => {
    if (path === 1 || path === 2) onConsole();
    const name = pathOf(path);
    if (name !== undefined) written.add(name);
  };
  const watch = (name: string, before: (...args: readonly unknown[]) => void): (() => void)[] => [
    replaceMethod(fs, name, before),
    replaceMethod(fs, `${name}Sync`, before),
    replaceMethod(fs.promises, name, before),
  ];
  const restore = [
    ...changingFirst.flatMap((name) => watch(name, (path) => note(path))),
    ...changingSecond.flatMap((name) => watch(name, (_from, path) => note(path))),
    ...watch("open", (path, flags) => {
      if (opensForWriting(flags)) note(path);
    }),
    ...["write", "writev"].flatMap((name) =>
      watch(name, (descriptor) => {
        if (descriptor === 1 || descriptor === 2) onConsole();
      }),
    ),
  ];
  syncBuiltinESMExports();
  return {
    written,
    stop() {
      for (const undo of restore) undo();
      syncBuiltinESMExports();
    },
  };
}

/** Without flags, `open` reads. */
function opensForWriting(flags: unknown): boolean {
  if (typeof flags === "number") return (flags & writingFlags) !== 0;
  return typeof flags === "string" && !["r", "rs", "sr"].includes(flags);
}

function pathOf(path: unknown): string | undefined {
  if (typeof path === "string") return path;
  if (path instanceof URL) return fileURLToPath(path);
  return path instanceof Uint8Array ? Buffer.from(path).toString() : undefined;
}
