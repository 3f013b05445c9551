/** The operations of `node:sqlite` that the kit watches, as it does those of `node:fs`: which faults each can have. */
import type { DirectoryFaultKind, FileOperation } from "./file-operations.ts";

/** Begins and ends of a transaction that touch no file. An undoing always works, so that what failed can be undone. */
const withoutFiles = /^(?:rollback|savepoint|begin(?:\s+deferred)?(?:\s+transaction)?$)/i;
const reading = /^(?:select|values|explain|pragma|release|begin)\b/i;
const writingWith = /\b(?:insert|update|delete|replace)\b/i;

const errors: Readonly<Record<DirectoryFaultKind, readonly [errcode: number, errstr: string]>> = {
  EIO: [10, "disk I/O error"],
  "torn-write": [10, "disk I/O error"],
  ENOSPC: [13, "database or disk is full"],
  EPERM: [8, "attempt to write a readonly database"],
  EACCES: [14, "unable to open database file"],
  EMFILE: [14, "unable to open database file"],
  hang: [5, "database is locked"], // nothing can wait here: somebody else does not let go of it
};

function sqliteError(fault: DirectoryFaultKind): Error {
  const [errcode, errstr] = errors[fault];
  return Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
}

/** `new DatabaseSync(path)` and `database.open()`. */
export const openDatabase: FileOperation = {
  name: "open",
  targets: [0],
  other: {
    sent: () => "",
    suffers: (fault) => fault !== "torn-write" && fault !== "EPERM" && fault !== "ENOSPC",
    error: sqliteError,
  },
};

/** `database.exec(sql)`. */
export const execute: FileOperation = running("exec");

/** What runs a prepared statement. */
export const runStatement: readonly FileOperation[] = ["run", "get", "all", "iterate"].map(running);

function running(name: string): FileOperation {
  return {
    name,
    targets: [],
    other: {
      sent: (self, args) => [sqlOf(self, args), ...(name === "exec" ? [] : args.map(readable))].join("\n"),
      suffers(fault, self, args) {
        const statements = statementsOf(sqlOf(self, args));
        if (fault === "EIO" || fault === "hang") return statements.some((statement) => !withoutFiles.test(statement));
        return statements.some(isWriting); // which opens a journal, too
      },
      error: sqliteError,
    },
  };
}

function sqlOf(self: unknown, [first]: readonly unknown[]): string {
  const prepared: unknown = Reflect.get(Object(self), "sourceSQL");
  return typeof prepared === "string" ? prepared : String(first);
}

/** Good enough to tell reading from writing: a semicolon in a string makes one statement more. */
function statementsOf(sql: string): readonly string[] {
  const bare = sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  return bare
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}

function isWriting(statement: string): boolean {
  if (/^with\b/i.test(statement)) return writingWith.test(statement);
  return !reading.test(statement) && !withoutFiles.test(statement);
}

/** A bound value, with the texts in it as they are. */
function readable(value: unknown): string {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString();
  if (typeof value !== "object" || value === null) return String(value);
  return Object.values(value).map(readable).join("\n");
}
