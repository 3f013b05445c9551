import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync as Imported } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Backend, DirectoryFault } from "../backend.ts";
import { type DirectoryConnection, directoryBackend } from "./directory.ts";

let backend: Backend<DirectoryConnection>;
let DatabaseSync: typeof Imported;
let database: Imported;

beforeEach(async () => {
  backend = await directoryBackend().start({ now: () => 42 });
  ({ DatabaseSync } = process.getBuiltinModule("node:sqlite"));
  database = new DatabaseSync(join(backend.connection.root, "notes.db"));
  database.exec("create table notes (text text)");
});
afterEach(async () => {
  if (database.isOpen) database.close();
  await backend.close();
});

const inject = (kind: DirectoryFault["kind"], after = 0): void => backend.inject({ name: kind, kind }, { after });

function outcome(work: () => unknown): string {
  try {
    work();
    return "done";
  } catch (error) {
    return `${Reflect.get(Object(error), "code")} ${Reflect.get(Object(error), "errcode")}`;
  }
}

describe("a database in the folder", () => {
  test("is seen, with what is bound to its statements", async () => {
    database.prepare("insert into notes (text) values (?)").run("likes tea");
    database.prepare("select * from notes where text = :text").get({ text: "likes bees" });
    const sent = backend.observed().map(({ summary, sent }) => `${summary} ${sent}`);
    expect(backend.observed().map(({ summary }) => summary)).toEqual(["open", "exec", "run", "get"]);
    expect(sent[2]).toContain("likes tea");
    expect(sent[3]).toContain("likes bees");
    expect((await backend.contents()).join()).toContain("likes tea");
  });

  test("is the one that Node makes", () => {
    expect(database).toBeInstanceOf(DatabaseSync);
    expect(() => DatabaseSync.call(undefined, "x")).toThrow(TypeError);
    database.close();
    database.open();
    expect(database.prepare("select count(*) as count from notes").get()).toMatchObject({ count: 0 });
  });

  test("is seen and fails too where its class was imported before anybody watched", () => {
    const early = new Imported(join(backend.connection.root, "early.db"));
    early.exec("create table notes (text text)");
    const select = early.prepare("select * from notes");
    inject("EIO");
    expect(outcome(() => select.all())).toBe("ERR_SQLITE_ERROR 10");
    expect(backend.observed().map(({ summary }) => summary)).toEqual(["open", "exec", "exec", "all"]);
    early.close();
  });

  test("fails like SQLite, and then holds nothing of it", () => {
    const insert = database.prepare("insert into notes (text) values (?)");
    inject("EIO");
    expect(() => insert.run("likes tea")).toThrow(
      expect.objectContaining({ message: "disk I/O error", code: "ERR_SQLITE_ERROR", errcode: 10 }),
    );
    backend.heal();
    expect(database.prepare("select * from notes").all()).toEqual([]);
  });

  const operations: Record<string, () => unknown> = {
    open: () => new DatabaseSync(join(backend.connection.root, "notes.db")).close(),
    read: () => database.prepare("select * from notes").all(),
    iterate: () => [...database.prepare("with few as (select 1) select * from few").iterate()],
    write: () => database.prepare("insert into notes (text) values ('tea')").run(),
    "write with": () => database.prepare("with few as (select 1) insert into notes select * from few").run(),
    "write and read": () => database.exec("/* select */ select 1; delete from notes"),
    begin: () => database.exec("begin"),
    rollback: () => database.exec("rollback"),
  };
  const writes = ["write", "write with", "write and read"];

  test.each([
    ["EIO", 10, ["open", "read", "iterate", ...writes]],
    ["hang", 5, ["open", "read", "iterate", ...writes]],
    ["ENOSPC", 13, writes],
    ["torn-write", 10, writes],
    ["EPERM", 8, writes],
    ["EACCES", 14, ["open", ...writes]],
    ["EMFILE", 14, ["open", ...writes]],
  ] as const)("with %s (%i) fails at %j, and at nothing else", (kind, errcode, expected) => {
    inject(kind);
    const failed = Object.entries(operations).filter(([, work]) => outcome(work) === `ERR_SQLITE_ERROR ${errcode}`);
    expect(failed.map(([name]) => name)).toEqual(expected);
    backend.heal();
    expect(Object.values(operations).map(outcome)).toEqual(Object.keys(operations).map(() => "done"));
  });
});

test("a database elsewhere is nobody's business", async () => {
  inject("EIO");
  const path = join(tmpdir(), `elsewhere-${process.pid}.db`);
  const elsewhere = new DatabaseSync(path);
  elsewhere.exec("create table notes (text text)");
  expect(elsewhere.prepare("select * from notes").all()).toEqual([]);
  expect(new DatabaseSync(":memory:").prepare("select 1 as one").get()).toMatchObject({ one: 1 });
  elsewhere.close();
  await rm(path);
  expect(backend.observed()).toHaveLength(2);
});
