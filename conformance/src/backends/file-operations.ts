/** The operations of `node:fs` that the kit watches: what each works on, what it writes, and which faults it can have. */
import { constants as fileConstants } from "node:fs";
import { constants as systemConstants } from "node:os";
import { getSystemErrorMap } from "node:util";
import type { DirectoryFault } from "../backend.ts";

export type DirectoryFaultKind = DirectoryFault["kind"];

export interface FileOperation {
  /** As in `node:fs/promises` and without `Sync`. Those on open files have the names that they have on a handle. */
  readonly name: string;
  /** Which arguments are paths, or the open file. */
  readonly targets: readonly number[];
  /** Which argument is what it writes. */
  readonly data?: number;
  /** It takes up room. `whenWriting`: if it opens for writing. */
  readonly fills?: true | "whenWriting";
  /** It makes, changes or removes a name. */
  readonly names?: true | "whenWriting";
  /** It opens something. */
  readonly opens?: true;
  /** Where it is no operation of `node:fs`: what is told of it, and the faults that it can have. */
  readonly other?: {
    sent(self: unknown, args: readonly unknown[]): string;
    suffers(fault: DirectoryFaultKind, self: unknown, args: readonly unknown[]): boolean;
    error(fault: DirectoryFaultKind): Error;
  };
}

const changesNames = { fills: true, names: true } as const;

/** By their names on `fs.promises`, on `fs` and, with `Sync`, on `fs` again. */
export const pathOperations: readonly FileOperation[] = [
  { name: "appendFile", targets: [0], data: 1, ...changesNames, opens: true },
  { name: "copyFile", targets: [1, 0], ...changesNames, opens: true },
  { name: "cp", targets: [1, 0], ...changesNames, opens: true },
  { name: "link", targets: [1, 0], ...changesNames },
  { name: "mkdir", targets: [0], ...changesNames },
  { name: "mkdtemp", targets: [0], ...changesNames },
  { name: "open", targets: [0], fills: "whenWriting", names: "whenWriting", opens: true },
  { name: "opendir", targets: [0], opens: true },
  { name: "readFile", targets: [0], opens: true },
  { name: "readdir", targets: [0], opens: true },
  { name: "rename", targets: [1, 0], names: true },
  { name: "rm", targets: [0], names: true },
  { name: "rmdir", targets: [0], names: true },
  { name: "symlink", targets: [1], ...changesNames },
  { name: "truncate", targets: [0], ...changesNames, opens: true },
  { name: "unlink", targets: [0], names: true },
  { name: "writeFile", targets: [0], data: 1, ...changesNames, opens: true },
  ...["access", "chmod", "chown", "lchmod", "lchown", "lstat", "lutimes", "readlink", "realpath", "stat", "statfs"].map(
    (name) => ({ name, targets: [0] }),
  ),
  { name: "utimes", targets: [0] },
];

const openFileOperations: readonly (Omit<FileOperation, "targets" | "data"> & { writes?: true })[] = [
  ...["chmod", "chown", "close", "datasync", "read", "readv", "stat", "sync", "utimes"].map((name) => ({ name })),
  { name: "truncate", fills: true },
  { name: "write", fills: true, writes: true },
  { name: "writev", fills: true, writes: true },
];

/** On a `FileHandle`, which is `this`. */
export const handleOperations: readonly FileOperation[] = [
  ...openFileOperations,
  { name: "readFile" },
  { name: "writeFile", fills: true, writes: true } as const,
  { name: "appendFile", fills: true, writes: true } as const,
].map(({ writes, ...operation }: (typeof openFileOperations)[number]) => ({
  ...operation,
  targets: [],
  ...(writes ? { data: 0 } : {}),
}));

/** On a file descriptor, by their names on `fs`. */
export const descriptorOperations: ReadonlyMap<string, FileOperation> = new Map(
  openFileOperations.map(({ writes, ...operation }) => [
    /^(close|read|readv|write|writev)$/.test(operation.name) ? operation.name : `f${operation.name}`,
    { ...operation, targets: [0], ...(writes ? { data: 1 } : {}) },
  ]),
);

/** Whether this operation is one that a fault makes fail. `onPath` is false where the file is open already. */
export function suffers(
  { fills, names, opens, data }: FileOperation,
  fault: DirectoryFaultKind,
  { args, onPath }: { readonly args: readonly unknown[]; readonly onPath: boolean },
): boolean {
  const applies = (trait: true | "whenWriting" | undefined): boolean =>
    trait === true || (trait === "whenWriting" && isForWriting(args[1]));
  switch (fault) {
    case "EIO":
    case "hang":
      return true;
    case "ENOSPC":
      return applies(fills);
    case "EACCES": // of a folder that may not be searched, which nothing in it escapes
      return onPath;
    case "EPERM":
      return onPath && applies(names);
    case "EMFILE":
      return onPath && opens === true;
    case "torn-write":
      return data !== undefined;
  }
}

const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND } = fileConstants;

function isForWriting(flags: unknown): boolean {
  if (typeof flags === "number") return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)) !== 0;
  return typeof flags === "string" && /[wa+]/.test(flags);
}

const syscalls: Readonly<Record<string, string>> = {
  readdir: "scandir",
  sync: "fsync",
  datasync: "fdatasync",
  rm: "unlink",
};

/** An error as Node would make it. The faults that are not codes show as a failing disk. */
export function fileError(
  { name }: FileOperation,
  fault: DirectoryFaultKind,
  paths: readonly string[],
): NodeJS.ErrnoException {
  const code = fault === "torn-write" || fault === "hang" ? "EIO" : fault;
  const errno = -systemConstants.errno[code];
  const wholeFile = /^(read|write|append)File$/.exec(name);
  const inside = wholeFile?.[1] === "read" ? "read" : "write";
  const isOpening = code === "EACCES" || code === "EPERM" || code === "EMFILE";
  const syscall = wholeFile === null ? (syscalls[name] ?? name.toLowerCase()) : isOpening ? "open" : inside;
  // Of an operation on an open file the system names no path, nor of the reading in `readFile`.
  const [dest, path] = wholeFile !== null && !isOpening ? [] : paths.length > 1 ? paths : [undefined, paths[0]];
  const where = path === undefined ? "" : ` '${path}'${dest === undefined ? "" : ` -> '${dest}'`}`;
  return Object.assign(new Error(`${code}: ${getSystemErrorMap().get(errno)?.[1]}, ${syscall}${where}`), {
    errno,
    code,
    syscall,
    ...(path === undefined ? {} : { path }),
    ...(dest === undefined ? {} : { dest }),
  });
}
