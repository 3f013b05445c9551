import fs, { existsSync, readFile as readByCallback } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Backend, DirectoryFault } from "../backend.ts";
import { type DirectoryConnection, directoryBackend } from "./directory.ts";
import { patchFileSystem } from "./file-faults.ts";
import { byCallback, outcome } from "./test-support/outcome.ts";

const original = { writeFile: fs.promises.writeFile, open: fs.open, openSync: fs.openSync };

let backend: Backend<DirectoryConnection>;
let root: string;
let file: string;
let elsewhere: string;

beforeEach(async () => {
  elsewhere = await mkdtemp(join(tmpdir(), "elsewhere-"));
  backend = await directoryBackend().start({ now: () => 42 });
  root = backend.connection.root;
  file = join(root, "notes.txt");
});
afterEach(async () => {
  await backend.close();
  await rm(elsewhere, { recursive: true });
});

const inject = (kind: DirectoryFault["kind"], after = 0): void => backend.inject({ name: kind, kind }, { after });

describe("errors", () => {
  test("look like Node's", async () => {
    inject("EIO");
    const renaming = fs.promises.rename(file, `${file}.old`);
    await expect(renaming).rejects.toMatchObject({
      message: `EIO: i/o error, rename '${file}' -> '${file}.old'`,
      code: "EIO",
      errno: -5,
      syscall: "rename",
      path: file,
      dest: `${file}.old`,
    });
    await expect(writeFile(file, "apples")).rejects.toThrow(/^EIO: i\/o error, write$/);
    inject("EMFILE");
    await expect(readFile(file)).rejects.toThrow(`EMFILE: too many open files, open '${file}'`);
    inject("ENOSPC");
    expect(() => fs.mkdirSync(join(root, "sub"))).toThrow(`ENOSPC: no space left on device, mkdir '${root}/sub'`);
  });

  test("come to a callback later, and once", async () => {
    inject("EIO");
    const steps: string[] = [];
    const called = byCallback((done) => readByCallback(file, done)).catch(() => steps.push("failed"));
    steps.push("called");
    await called;
    expect(steps).toEqual(["called", "failed"]);
  });
});

describe("each fault", () => {
  const operations: Record<string, () => unknown> = {
    read: () => readFile(file),
    list: () => fs.promises.readdir(root),
    look: () => fs.promises.stat(file),
    open: () => fs.promises.open(file, "r").then((handle) => handle.close()),
    write: () => writeFile(file, "pears"),
    mkdir: () => fs.promises.mkdir(join(root, "sub")),
    link: () => fs.promises.link(file, join(root, "link")),
    copy: () => fs.copyFileSync(file, join(root, "copy")),
    rename: () => byCallback((done) => fs.rename(file, join(root, "renamed"), done)),
    remove: () => fs.rmSync(join(root, "other")),
  };

  test.each([
    ["EIO", Object.keys(operations)],
    ["ENOSPC", ["write", "mkdir", "link", "copy"]],
    ["EACCES", Object.keys(operations)],
    ["EPERM", ["write", "mkdir", "link", "copy", "rename", "remove"]],
    ["EMFILE", ["read", "list", "open", "write", "copy"]],
    ["torn-write", ["write"]],
  ] as const)("%s fails %j, and nothing else", async (kind, expected) => {
    await writeFile(file, "apples");
    await writeFile(join(root, "other"), "plums");
    inject(kind);
    const failed: string[] = [];
    for (const [name, operation] of Object.entries(operations)) {
      if ((await outcome(operation)) !== "done") failed.push(name);
    }
    expect(failed).toEqual(expected);
  });

  test("meets a file that was open already", async () => {
    await using handle = await fs.promises.open(file, "w+");
    const descriptor = fs.openSync(file, "r");
    await handle.writeFile("apples");
    inject("ENOSPC");
    expect(await outcome(() => handle.appendFile("more"))).toBe("ENOSPC");
    expect(await outcome(() => handle.truncate(0))).toBe("ENOSPC");
    expect(await outcome(() => handle.sync())).toBe("done");
    inject("EIO");
    expect(await outcome(() => handle.sync())).toBe("EIO");
    expect(await outcome(() => handle.stat())).toBe("EIO");
    expect(await outcome(() => fs.readSync(descriptor, Buffer.alloc(1)))).toBe("EIO");
    expect(await outcome(() => fs.fsyncSync(descriptor))).toBe("EIO");
    expect(await outcome(() => fs.closeSync(descriptor))).toBe("EIO");
    backend.heal();
    expect(await outcome(() => fs.fstatSync(descriptor))).toBe("EBADF");
    expect(await backend.contents()).toEqual(["notes.txt\napples"]);
  });

  test("does not follow a descriptor to the file that has it next", async () => {
    await writeFile(join(elsewhere, "outside"), "pears");
    const inside = fs.openSync(file, "w");
    fs.closeSync(inside);
    inject("EIO");
    const outside = fs.openSync(join(elsewhere, "outside"), "r");
    expect(outside).toBe(inside);
    expect(fs.readFileSync(outside, "utf8")).toBe("pears");
    expect(await outcome(() => fs.closeSync(outside))).toBe("done");
  });

  test("makes what cannot be looked at not there", async () => {
    await writeFile(file, "apples");
    expect(existsSync(file)).toBe(true);
    inject("EIO");
    expect(existsSync(file)).toBe(false);
    expect(existsSync(elsewhere)).toBe(true);
    expect(await new Promise((resolve) => fs.exists(file, resolve))).toBe(false);
  });

  test("meets a move into the folder, and one out of it", async () => {
    const outside = join(elsewhere, "outside.txt");
    await writeFile(outside, "pears");
    await writeFile(file, "apples");
    inject("EPERM");
    expect(await outcome(() => fs.promises.rename(outside, join(root, "in")))).toBe("EPERM");
    expect(await outcome(() => fs.promises.rename(file, join(elsewhere, "out")))).toBe("EPERM");
    expect(await outcome(() => fs.promises.rename(outside, `${outside}2`))).toBe("done");
  });

  test("can wait until some operations were answered", async () => {
    inject("EIO", 2);
    expect(await outcome(() => writeFile(file, "a"))).toBe("done");
    expect(await outcome(() => readFile(file))).toBe("done");
    expect(await outcome(() => readFile(file))).toBe("EIO");
    backend.heal();
    expect(await readFile(file, "utf8")).toBe("a");
  });

  test("of another kind of backend is refused", () => {
    expect(() => backend.inject({ name: "reset", kind: "reset" })).toThrow(TypeError);
  });
});

describe("a disk that does not answer", () => {
  test("keeps promises, callbacks and handles waiting until it is healed, and then fails them", async () => {
    await using handle = await fs.promises.open(file, "w");
    inject("hang");
    const ended: string[] = [];
    const waiting = [
      outcome(() => readFile(file)),
      outcome(() => byCallback((done) => fs.readFile(file, done))),
      outcome(() => handle.write("apples")),
    ].map((call) => call.then((code) => ended.push(code)));
    expect(await outcome(() => fs.readFileSync(file))).toBe("EIO");
    expect(await outcome(() => readFile(join(elsewhere, "nothing")))).toBe("ENOENT");
    expect(ended).toEqual([]);
    expect(backend.busy()).toBe(false);
    backend.heal();
    await Promise.all(waiting);
    expect(ended).toEqual(["EIO", "EIO", "EIO"]);
    expect(await readFile(file, "utf8")).toBe("");
  });

  test("does not keep a backend from closing", async () => {
    inject("hang");
    const waiting = outcome(() => readFile(file));
    await backend.close();
    expect(await waiting).toBe("EIO");
    expect(existsSync(root)).toBe(false);
  });
});

test("what was done is told without paths or texts, and kept with them", async () => {
  await writeFile(file, "apples");
  await fs.promises.rename(file, join(root, "renamed"));
  await readFile(join(elsewhere, "nothing")).catch(() => {});
  expect(backend.observed()).toEqual([
    { summary: "writeFile", sent: `${file}\napples`, atMs: 42 },
    { summary: "rename", sent: `${join(root, "renamed")}\n${file}\n`, atMs: 42 },
  ]);
});

test("a backend is busy while an operation is under way", async () => {
  const writing = writeFile(file, "apples");
  expect(backend.busy()).toBe(true);
  await writing;
  expect(backend.busy()).toBe(false);
});

test("the contents are every file below, with its path", async () => {
  await fs.promises.mkdir(join(root, "a", "b"), { recursive: true });
  await writeFile(join(root, "a", "b", "deep.json"), "{}");
  await writeFile(file, "apples");
  inject("EIO");
  const seen = backend.observed().length;
  expect(await backend.contents()).toEqual(["a/", "a/b/", "a/b/deep.json\n{}", "notes.txt\napples"]);
  expect(backend.observed()).toHaveLength(seen);
});

test("two folders fail each for itself", async () => {
  const other = await directoryBackend().start({ now: () => 0 });
  const otherFile = join(other.connection.root, "notes.txt");
  inject("EIO");
  expect(await outcome(() => writeFile(file, "apples"))).toBe("EIO");
  expect(await outcome(() => writeFile(otherFile, "pears"))).toBe("done");
  expect(await other.contents()).toEqual(["notes.txt\npears"]);
  await other.close();
  expect(await outcome(() => writeFile(file, "apples"))).toBe("EIO");
});

test("Node's file system is itself again when the last backend has closed", async () => {
  expect(fs.promises.writeFile).not.toBe(original.writeFile);
  expect(writeFile).toBe(fs.promises.writeFile);
  const undo = await patchFileSystem();
  await backend.close();
  expect(fs.open).not.toBe(original.open);
  undo();
  expect(fs.promises.writeFile).toBe(original.writeFile);
  expect(fs.open).toBe(original.open);
  expect(fs.openSync).toBe(original.openSync);
  expect(writeFile).toBe(original.writeFile);
});
