import { appendFileSync, writeFileSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import {
  type MemoryDocument,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  MemoryError,
  type MemoryEvent,
} from "@keepsake/core";
import { scopeKey, storageName } from "@keepsake/core/keys";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fileMemory } from "../file-memory.ts";
import { startChild } from "../test-support/child.ts";
import { type MemoryOf, memoryOf } from "../test-support/memory-of.ts";
import type { SavingChildOptions } from "../test-support/saving-child.ts";
import { type FileOperation, failing, type Watcher, watchedFileSystem } from "../test-support/watched-file-system.ts";
import { directory } from "./directory.ts";
import { acquireLock } from "./process-lock.ts";

vi.setConfig({ testTimeout: 30_000 });

const key = scopeKey({ namespace: "tests", scope: "ann" });
const otherKey = scopeKey({ namespace: "tests", scope: "ben" });
const signal = new AbortController().signal;
let parent: string;
let root: string;
let folder: string;
let path: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "keepsake-directory-"));
  root = join(parent, "root");
  folder = join(root, storageName(key));
  path = join(folder, "memory.md");
});

afterEach(async () => {
  await rm(parent, { recursive: true });
});

function backendWith(watch: Watcher): MemoryDocumentBackend {
  return directory({ root, fileSystem: watchedFileSystem(watch) });
}

function memory(backend = directory({ root }), scope = key): MemoryOf {
  return memoryOf(fileMemory({ backend }), scope);
}

function write(
  content: string,
  expectedVersion: string | null,
  backend = directory({ root }),
): Promise<MemoryDocument> {
  return backend.write({ key, signal, content, expectedVersion });
}

async function contentOf(scope: string): Promise<string | undefined> {
  return (await directory({ root }).read({ key: scope, signal }))?.content;
}

async function filesUnderRoot(): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

async function keysOf(backend: MemoryDocumentBackend): Promise<string[]> {
  const keys: string[] = [];
  for await (const listed of backend.keys?.({ signal }) ?? []) keys.push(listed);
  return keys.toSorted();
}

/** Names of the files under the root that hold a text. */
async function filesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const file of await filesUnderRoot()) if ((await readFile(file)).includes(text)) found.push(basename(file));
  return found.toSorted();
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail("it succeeded"),
    (error: unknown) => error,
  );
}

describe("a document is replaced only by someone who knows it", () => {
  test("the first write creates, and a second one that thinks it is the first conflicts", async () => {
    const created = await write("one", null);
    expect(await directory({ root }).read({ key, signal })).toEqual(created);
    await expect(write("two", null)).rejects.toBeInstanceOf(MemoryDocumentConflictError);
    expect(await contentOf(key)).toBe("one");
  });

  test("a write at the present version replaces, one at an earlier version conflicts", async () => {
    const first = await write("one", null);
    const second = await write("two", first.version);
    expect(second.version).not.toBe(first.version);
    await expect(write("three", first.version)).rejects.toBeInstanceOf(MemoryDocumentConflictError);
    expect(await contentOf(key)).toBe("two");
    await write("three", second.version);
    expect(await contentOf(key)).toBe("three");
  });

  test("a write to a document that is gone conflicts", async () => {
    const { version } = await write("one", null);
    await rm(path);
    await expect(write("two", version)).rejects.toBeInstanceOf(MemoryDocumentConflictError);
    expect(await contentOf(key)).toBeUndefined();
    await write("two", null);
    expect(await contentOf(key)).toBe("two");
  });

  test("of ten writes at one version exactly one wins", async () => {
    const { version } = await write("start", null);
    const contents = Array.from({ length: 10 }, (_, index) => `text ${index}`);
    const results = await Promise.allSettled(contents.map((content) => write(content, version)));
    const winners = contents.filter((_, index) => results[index]?.status === "fulfilled");
    expect(winners).toEqual([await contentOf(key)]);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toBeInstanceOf(MemoryDocumentConflictError);
    }
    expect(await readdir(folder)).toEqual(["memory.md"]);
  });

  test("a writer whose lock was given up for abandoned conflicts, and the lock stays its new holder's", async () => {
    const first = await write("one", null);
    const lock = join(folder, "lock");
    const backend = backendWith(({ name, path: draft }) => {
      if (name === "handle.sync" && draft.endsWith(".draft")) writeFileSync(lock, "of another");
    });
    await expect(write("two", first.version, backend)).rejects.toBeInstanceOf(MemoryDocumentConflictError);
    expect(await contentOf(key)).toBe("one");
    expect(await readFile(lock, "utf8")).toBe("of another");
    await rm(lock);
    await write("two", first.version);
    expect(await contentOf(key)).toBe("two");
  });

  test("documents of other scopes stay as they are", async () => {
    await directory({ root }).write({ key: otherKey, signal, content: "of ben", expectedVersion: null });
    await write("of ann", null);
    expect(await contentOf(key)).toBe("of ann");
    expect(await contentOf(otherKey)).toBe("of ben");
  });
});

describe("where documents are", () => {
  test("folders and files are private, whatever the umask", async () => {
    const umask = process.umask(0);
    try {
      const { version } = await write("one", null);
      await write("two", version);
      await directory({ root }).setAside?.({ key, signal });
    } finally {
      process.umask(umask);
    }
    const mode = async (name: string): Promise<string> => ((await stat(name)).mode & 0o777).toString(8);
    expect([await mode(root), await mode(folder)]).toEqual(["700", "700"]);
    const files = await filesUnderRoot();
    expect(files).toHaveLength(2);
    expect(await Promise.all(files.map(mode))).toEqual(["600", "600"]);
  });

  test("a root that is missing is an empty store, and reading does not make it", async () => {
    const backend = directory({ root });
    expect(await backend.read({ key, signal })).toBeNull();
    expect(await memory().recall()).toBeNull();
    expect(await backend.setAside?.({ key, signal })).toBe(false);
    await backend.removeLeftovers?.({ key, signal });
    expect(await keysOf(backend)).toEqual([]);
    expect(await readdir(parent)).toEqual([]);
    await write("one", null);
    expect(await readdir(parent)).toEqual(["root"]);
  });

  const hostileKeys = [
    "..",
    "../../x",
    "/etc/passwd",
    "a\0b",
    "CON",
    "x".repeat(1_000),
    "a|b",
    "C:\\x",
    "Ann",
    "ann",
    "ANN",
    "é",
    "e\u0301",
    "lock",
    "memory.md",
    `memscope1_A${"a".repeat(41)}A`,
    `memscope1_a${"A".repeat(41)}A`,
    `memscope1_${"A".repeat(43)}`,
    `memscope1_${"A".repeat(42)}B`,
  ];

  test("every key has a folder of its own under the root, with a name of hex digits", async () => {
    const backend = directory({ root });
    for (const hostile of hostileKeys) {
      await backend.write({ key: hostile, signal, content: `text of ${hostile}`, expectedVersion: null });
    }
    for (const hostile of hostileKeys) expect(await contentOf(hostile)).toBe(`text of ${hostile}`);
    const names = await readdir(root);
    expect(names).toHaveLength(hostileKeys.length);
    for (const name of names) expect(name).toMatch(/^(?:[0-9a-f]{2}){32,33}$/);
    expect(await readdir(parent)).toEqual(["root"]);
  });

  test.each(hostileKeys)("what is saved for the key %j is recalled there and nowhere else", async (hostile) => {
    await memory(directory({ root }), hostile).save("likes tea");
    expect(await memory(directory({ root }), hostile).recall()).toContain("0: likes tea");
    expect(await memory().recall()).toBeNull();
  });

  test.each(["", " ", "\ud800"])("the key %j is refused", async (bad) => {
    await expect(directory({ root }).read({ key: bad, signal })).rejects.toMatchObject({ code: "invalid_scope" });
    expect(await readdir(parent)).toEqual([]);
  });

  test("keys are listed where they can be known", async () => {
    const backend = directory({ root });
    for (const listed of [key, otherKey, "a person's name"]) {
      await backend.write({ key: listed, signal, content: "text", expectedVersion: null });
    }
    await mkdir(join(root, storageName(scopeKey({ namespace: "tests", scope: "no document" }))));
    await mkdir(join(root, "notes"));
    expect(await keysOf(backend)).toEqual([key, otherKey].toSorted());
  });

  test.each(["", "  "])("the root %j is refused", (bad) => {
    expect(() => directory({ root: bad })).toThrow(MemoryError);
  });
});

describe("a person edits the document", () => {
  /** A backend where something happens right after a document was first read. */
  function afterFirstRead(happens: () => Promise<void>): { backend: MemoryDocumentBackend; reads: () => number } {
    const backend = directory({ root });
    let reads = 0;
    return {
      reads: () => reads,
      backend: {
        ...backend,
        read: async (input) => {
          const document = await backend.read(input);
          reads += 1;
          if (reads === 1) await happens();
          return document;
        },
      },
    };
  }

  test("a line added between read and save is kept, and so is the save", async () => {
    await memory().save("likes tea");
    const { backend, reads } = afterFirstRead(() => appendFile(path, "allergic to nuts\n"));
    expect(await memory(backend).save("plays chess", { callId: "chess" })).toMatchObject({
      saved: true,
      duplicate: false,
    });
    expect(reads()).toBe(2);
    const recalled = await memory().recall();
    for (const text of ["likes tea", "allergic to nuts", "plays chess"]) expect(recalled?.split(text)).toHaveLength(2);
  });

  test("a line added while the save is being written is kept, and so is the save", async () => {
    await memory().save("likes tea");
    let edited = false;
    const backend = backendWith(({ name, path: draft }) => {
      if (edited || name !== "handle.sync" || !draft.endsWith(".draft")) return;
      edited = true;
      appendFileSync(path, "allergic to nuts\n");
    });
    await memory(backend).save("plays chess", { callId: "chess" });
    expect(edited).toBe(true);
    const recalled = await memory().recall();
    for (const text of ["likes tea", "allergic to nuts", "plays chess"]) expect(recalled?.split(text)).toHaveLength(2);
  });

  test("the backend itself answers an edit with a conflict", async () => {
    const { version } = await write("one\n", null);
    await appendFile(path, "two\n");
    await expect(write("three\n", version)).rejects.toBeInstanceOf(MemoryDocumentConflictError);
    expect(await contentOf(key)).toBe("one\ntwo\n");
  });

  test("a new time stamp alone is no conflict", async () => {
    await memory().save("likes tea");
    const { backend, reads } = afterFirstRead(() => utimes(path, new Date(0), new Date(0)));
    await memory(backend).save("plays chess", { callId: "chess" });
    expect(reads()).toBe(1);
    expect(await memory().recall()).toContain("1: plays chess");
  });

  test("Windows line ends are one conflict and not one without end", async () => {
    await memory().save("likes tea");
    const { backend, reads } = afterFirstRead(async () => {
      await writeFile(path, (await readFile(path, "utf8")).replaceAll("\n", "\r\n"));
    });
    await memory(backend).save("plays chess", { callId: "chess" });
    expect(reads()).toBe(2);
    const recalled = await memory().recall();
    expect(recalled).toContain("0: likes tea");
    expect(recalled).toContain("1: plays chess");
    expect(recalled).not.toContain("\r");
  });
});

describe("a damaged document", () => {
  const header = "<!-- keepsake-memory v1 next=1 -->\n";
  const damages: [string, Buffer][] = [
    ["nothing at all", Buffer.from("")],
    ["an empty object", Buffer.from("{}")],
    ["half a JSON", Buffer.from('{"entries":[{"text":"likes')],
    ["invalid UTF-8", Buffer.concat([Buffer.from(`${header}0: likes tea `), Buffer.of(0xff, 0xfe, 0x0a)])],
    ["zeros", Buffer.alloc(64)],
  ];

  test.each(damages)("%s: nothing is saved or recalled, and it is set aside once", async (_, damage) => {
    await memory().save("likes tea");
    await writeFile(path, damage);
    const events: MemoryEvent[] = [];
    const damaged = memoryOf(fileMemory({ backend: directory({ root }), onEvent: (event) => events.push(event) }), key);

    await expect(damaged.save("plays chess")).rejects.toMatchObject({ code: "corrupt_store" });
    await expect(damaged.recall()).rejects.toMatchObject({ code: "corrupt_store" });
    await expect(damaged.save("plays chess")).rejects.toMatchObject({ code: "corrupt_store" });

    expect(await readFile(path)).toEqual(damage);
    const names = (await readdir(folder)).toSorted();
    expect(names).toEqual(["memory.md", expect.stringMatching(/^memory\.md\.damaged-[0-9a-f]{12}$/)]);
    expect(await readFile(join(folder, names[1] ?? ""))).toEqual(damage);
    expect(events.filter(({ code }) => code === "document_set_aside")).toHaveLength(1);

    await writeFile(path, `${header}0: repaired by hand\n`);
    expect(await damaged.recall()).toContain("0: repaired by hand");
    expect(await damaged.save("plays chess")).toEqual({ saved: true, duplicate: false, index: 1 });
    expect(await readFile(join(folder, names[1] ?? ""))).toEqual(damage);
  });

  test("other damage is set aside too, and other scopes work on", async () => {
    await memory().save("likes tea");
    await memory(directory({ root }), otherKey).save("likes coffee");
    for (const damage of ["{}", "{", "{}"]) {
      await writeFile(path, damage);
      await expect(memory().recall()).rejects.toMatchObject({ code: "corrupt_store" });
    }
    expect(await readdir(folder)).toHaveLength(3);
    expect(await memory(directory({ root }), otherKey).recall()).toContain("likes coffee");
  });

  test("two who find the damage at once set it aside once", async () => {
    await mkdir(folder, { recursive: true });
    await writeFile(path, "{}");
    const backends = Array.from({ length: 5 }, () => directory({ root }));
    const made = await Promise.all(backends.map((backend) => backend.setAside?.({ key, signal })));
    expect(made.filter(Boolean)).toHaveLength(1);
  });

  test.each(["open", "handle.writeFile", "handle.sync", "rename"])(
    "a copy that could not be finished (%s) is made again",
    async (name) => {
      await mkdir(folder, { recursive: true });
      await writeFile(path, "{} damaged");
      const disk = failing(name, "ENOSPC", { path: /damaged/, times: 1 });
      await expect(memory(backendWith(disk)).recall()).rejects.toMatchObject({ code: "corrupt_store" });
      expect(await filesWith("damaged")).toEqual(["memory.md"]);
      await expect(memory(backendWith(disk)).recall()).rejects.toMatchObject({ code: "corrupt_store" });
      expect(await filesWith("{} damaged")).toEqual(["memory.md", expect.stringContaining("damaged-")]);
    },
  );
});

describe("the file system fails", () => {
  test.each(["EPERM", "EACCES", "EBUSY"])("a rename refused twice with %s is tried again", async (code) => {
    await memory().save("likes tea");
    const refused = failing("rename", code, { path: /memory\.md$/, times: 2 });
    await memory(backendWith(refused)).save("plays chess", { callId: "chess" });
    expect(await memory().recall()).toContain("1: plays chess");
    expect(await readdir(folder)).toEqual(["memory.md"]);
  });

  const faults: [string, string][] = [
    ["rename", "EPERM"],
    ["rename", "EIO"],
    ["rename", "ENOSPC"],
    ["mkdir", "ENOSPC"],
    ["open", "EMFILE"],
    ["open", "EIO"],
    ["open", "ENOSPC"],
    ["handle.writeFile", "EIO"],
    ["handle.writeFile", "ENOSPC"],
    ["handle.sync", "EIO"],
    ["handle.close", "EIO"],
    ["readFile", "EIO"],
    ["readFile", "EMFILE"],
    ["link", "EIO"],
    ["writeFile", "ENOSPC"],
    ["readdir", "EMFILE"],
  ];

  test.each(faults)(
    "%s always fails with %s: a typed error, the old document, nothing left behind",
    async (name, code) => {
      await memory().save("likes tea");
      const before = await readFile(path);
      const fault = failing(name, code, { path: /root/, text: "pin 4711" });

      const error = await failureOf(memory(backendWith(fault)).save("the cat is called 4711", { callId: "cat" }));

      expect(error).toMatchObject({ name: "MemoryError", code: "backend_failed", retryable: true, cause: { code } });
      expect(MemoryError.isInstance(error)).toBe(true);
      const { message, stack, cause } = error as MemoryError;
      expect(JSON.stringify([message, stack, cause])).not.toContain("4711");
      expect(await readFile(path)).toEqual(before);
      expect(await readdir(folder)).toEqual(["memory.md"]);

      await memory().save("the cat is called 4711", { callId: "cat" });
      expect(await memory().recall()).toContain("1: the cat is called 4711");
    },
  );

  test.each(["EIO", "EMFILE", "EACCES"])("a read that fails with %s is not an empty memory", async (code) => {
    await memory().save("likes tea");
    const error = await failureOf(memory(backendWith(failing("readFile", code, { text: "likes tea" }))).recall());
    expect(error).toMatchObject({ code: "backend_failed", cause: { code } });
    expect(await memory().recall()).toContain("likes tea");
  });

  test("a document whose folder could not be synced is not doubled when the call comes again", async () => {
    await memory().save("likes tea");
    const fault = failing("handle.sync", "EIO", { path: new RegExp(`${storageName(key)}$`) });
    const saving = memory(backendWith(fault)).save("plays chess", { callId: "chess" });
    await expect(saving).rejects.toMatchObject({ code: "backend_failed" });
    await memory().save("plays chess", { callId: "chess" });
    expect((await memory().recall())?.split("plays chess")).toHaveLength(2);
  });

  test.each(["link", "rename", "handle.sync"])(
    "what a writer killed before %s left is gone after the next save",
    async (name) => {
      await memory().save("likes tea");
      await saveAndDie({ diesBefore: name, texts: ["plays chess"] });
      expect(await readdir(folder)).toHaveLength(name === "link" ? 2 : 3);
      await memory().save("likes juice", { callId: "juice" });
      expect(await readdir(folder)).toEqual(["memory.md"]);
      expect(await memory().recall()).toContain("1: likes juice");
    },
  );

  test("what a killed writer left is gone after the next save, with what was forgotten since", async () => {
    await memory().save("the cat is called Mao");
    await saveAndDie({ diesBefore: "rename", texts: ["plays chess"] });
    expect(await filesWith("Mao")).toEqual(["memory.md", expect.stringMatching(/\.draft$/)]);
    expect(await memory().remove(0, { callId: "forget" })).toEqual({ removed: true, index: 0 });
    expect(await filesWith("Mao")).toEqual([]);
    expect(await readdir(folder)).toEqual(["memory.md"]);
  });
});

describe("the caller gives up", () => {
  test("before the call: nothing is touched", async () => {
    await write("one", null);
    const operations: FileOperation[] = [];
    const backend = backendWith((operation) => void operations.push(operation));
    const aborted = AbortSignal.abort(new Error("no longer wanted"));
    for (const call of [
      () => backend.read({ key, signal: aborted }),
      () => backend.write({ key, signal: aborted, content: "two", expectedVersion: null }),
      async () => backend.setAside?.({ key, signal: aborted }),
      async () => backend.removeLeftovers?.({ key, signal: aborted }),
      () => memory(backend).recall({ signal: aborted }),
      () => memory(backend).save("plays chess", { signal: aborted }),
    ]) {
      await expect(call()).rejects.toThrow("no longer wanted");
    }
    expect(operations).toEqual([]);
    expect((await backend.read({ key, signal }))?.content).toBe("one");
    expect(operations).not.toEqual([]);
  });

  test("while waiting for another writer: it settles with the signal's reason and leaves nothing", async () => {
    const first = await write("one", null);
    const lock = await acquireLock(
      watchedFileSystem(() => {}),
      join(folder, "lock"),
      signal,
    );
    const controller = new AbortController();
    let sawLock: () => void = () => {};
    const waiting = new Promise<void>((resolve) => {
      sawLock = resolve;
    });
    const backend = backendWith(({ name, path: seen }) => {
      if (name === "readFile" && seen.endsWith("lock")) sawLock();
    });
    const writing = backend.write({ key, signal: controller.signal, content: "two", expectedVersion: first.version });
    await waiting;
    controller.abort(new Error("no longer wanted"));
    await expect(writing).rejects.toThrow("no longer wanted");
    expect(await lock.isHeld()).toBe(true);
    await lock.release();
    expect(await readdir(folder)).toEqual(["memory.md"]);
    expect(await contentOf(key)).toBe("one");
    await write("two", first.version);
    expect(await contentOf(key)).toBe("two");
  });

  test("while a rename is refused: it settles with the signal's reason and leaves nothing", async () => {
    const first = await write("one", null);
    const controller = new AbortController();
    const backend = backendWith((operation) => {
      if (operation.name === "rename") controller.abort(new Error("no longer wanted"));
      failing("rename", "EPERM")(operation);
    });
    const writing = backend.write({ key, signal: controller.signal, content: "two", expectedVersion: first.version });
    await expect(writing).rejects.toThrow("no longer wanted");
    expect(await readdir(folder)).toEqual(["memory.md"]);
    expect(await contentOf(key)).toBe("one");
  });
});

test("sixty providers of one process, each with a backend of its own: every save is kept once, or says it was not", async () => {
  const saves = Array.from({ length: 60 }, (_, n) =>
    memory(directory({ root })).save(`fact ${n}`, { callId: `c${n}` }),
  );
  const outcomes = await Promise.allSettled(saves);
  const indexes = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value.index] : []));
  const failures = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.code] : []));
  expect(new Set([...failures, "conflict"])).toEqual(new Set(["conflict"]));
  expect(new Set(indexes).size).toBe(60 - failures.length);
  expect(indexes.length).toBeGreaterThan(20);
  expect((await memory().recall())?.match(/fact/g)).toHaveLength(indexes.length);
});

describe("erasing", () => {
  test("leaves no trace of what was kept in any file, and other scopes as they are", async () => {
    const marker = "marker-7f3a";
    await memory().save(`${marker} likes tea`);
    await memory(directory({ root }), otherKey).save("likes coffee");
    await saveAndDie({ diesBefore: "rename", texts: ["plays chess"] });
    const good = await readFile(path);
    await writeFile(path, `{"half": "${marker}`);
    await expect(memory().recall()).rejects.toMatchObject({ code: "corrupt_store" });
    await writeFile(path, good);
    const traces = await filesWith(marker);
    expect(traces).toHaveLength(3);
    for (const trace of [/^memory\.md$/, /\.draft$/, /\.damaged-/]) {
      expect(traces).toContainEqual(expect.stringMatching(trace));
    }

    expect(await memory().maintenance.erase({ key })).toEqual({ erased: 1, status: "done" });

    expect(await filesWith(marker)).toEqual([]);
    expect(await filesWith("plays chess")).toEqual([]);
    expect(await readdir(folder)).toEqual(["memory.md"]);
    expect(await memory(directory({ root }), otherKey).recall()).toContain("likes coffee");
    expect(await memory().recall()).not.toContain(marker);
    expect(await memory().save("likes juice", { callId: "juice" })).toEqual({
      saved: true,
      duplicate: false,
      index: 1,
    });
  });

  test("leaves nothing of a document that cannot be understood, nor of its copy", async () => {
    const marker = "marker-7391";
    await memory().save("likes tea");
    for (const damaged of [`{"half": "${marker}`, Buffer.concat([Buffer.from([0xff]), Buffer.from(marker)])]) {
      await writeFile(path, damaged);
      await expect(memory().recall()).rejects.toMatchObject({ code: "corrupt_store" });
      expect(await filesWith(marker)).toHaveLength(2);
      expect(await memory().maintenance.erase({ key })).toEqual({ erased: 0, status: "done" });
      expect(await readdir(folder)).toEqual([]);
      expect(await memory().recall()).toBeNull();
    }
  });

  test("does not disturb a save of another process", async () => {
    const first = await write("one", null);
    const erasing = directory({ root });
    let erased: Promise<void> | undefined;
    const backend = backendWith(({ name }) => {
      if (name === "handle.sync") erased ??= erasing.removeLeftovers?.({ key, signal });
    });
    await write("two", first.version, backend);
    await erased;
    expect(erased).toBeDefined();
    expect(await contentOf(key)).toBe("two");
    expect(await readdir(folder)).toEqual(["memory.md"]);
  });

  test("fails where a file cannot be removed", async () => {
    await memory().save("likes tea");
    await writeFile(`${path}.damaged-0123456789ab`, "likes tea");
    const backend = backendWith(failing("unlink", "EIO", { path: /damaged/ }));
    await expect(memory(backend).maintenance.erase({ key })).rejects.toMatchObject({ code: "backend_failed" });
    expect(await memory().maintenance.erase({ key })).toMatchObject({ status: "done" });
    expect(await filesWith("likes tea")).toEqual([]);
  });
});

/** Saves in a process of its own that dies on the way. */
async function saveAndDie(options: Pick<SavingChildOptions, "diesBefore" | "texts">): Promise<void> {
  const child = startChild("saving-child.ts", { root, key, sessionId: "killed", ...options });
  await child.message((message) => Object.hasOwn(Object(message), "ready"));
  child.send("start");
  expect(await child.ended).toBe("SIGKILL");
}
