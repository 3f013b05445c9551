/** Whatever way of `node:fs` a file is written in, it meets the faults of the folder that it is in. */
import { once } from "node:events";
import fs, { writeFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Backend, DirectoryFault } from "../backend.ts";
import { type DirectoryConnection, directoryBackend } from "./directory.ts";
import { byCallback, outcome } from "./test-support/outcome.ts";

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

/** Every style in which a file can be written. */
const writers: Record<string, (path: string, text: string) => unknown> = {
  "a named import of promises": (path, text) => writeFile(path, text),
  "fs.promises": (path, text) => fs.promises.writeFile(path, text),
  "a file URL": (path, text) => writeFile(pathToFileURL(path), text),
  "an async iterable": (path, text) =>
    writeFile(
      path,
      (async function* () {
        yield text.slice(0, 3);
        yield text.slice(3);
      })(),
    ),
  appendFile: (path, text) => fs.promises.appendFile(path, text),
  "a callback": (path, text) => byCallback((done) => fs.writeFile(path, text, done)),
  "util.promisify": (path, text) => promisify(fs.writeFile)(path, text),
  "a named import, synchronous": (path, text) => writeFileSync(path, text),
  appendFileSync: (path, text) => fs.appendFileSync(path, Buffer.from(text)),
  "a file handle": async (path, text) => {
    await using handle = await fs.promises.open(path, "w");
    await handle.writeFile(text);
  },
  "write on a file handle": async (path, text) => {
    await using handle = await fs.promises.open(path, "w");
    await handle.write(Buffer.from(`--${text}`), 2);
  },
  "writev on a file handle": async (path, text) => {
    await using handle = await fs.promises.open(path, "w");
    await handle.writev([Buffer.from(text.slice(0, 3)), Buffer.from(text.slice(3))]);
  },
  "a descriptor": (path, text) => {
    const descriptor = fs.openSync(path, "w");
    try {
      fs.writeSync(descriptor, text);
    } finally {
      fs.closeSync(descriptor);
    }
  },
  "a descriptor by callback": async (path, text) => {
    const descriptor = await byCallback<number>((done) => fs.open(path, "w", done));
    if (descriptor === undefined) throw new Error("No descriptor.");
    try {
      await byCallback((done) => fs.write(descriptor, text, done));
    } finally {
      await byCallback((done) => fs.close(descriptor, done));
    }
  },
  createWriteStream: async (path, text) => {
    const stream = fs.createWriteStream(path);
    stream.end(text);
    await once(stream, "close");
  },
  "a stream of a file handle": async (path, text) => {
    const handle = await fs.promises.open(path, "w");
    const stream = handle.createWriteStream();
    stream.end(text);
    await once(stream, "close");
  },
};

describe.each(Object.entries(writers))("written by %s", (_, write) => {
  test("a file is there, and its text was seen", async () => {
    await write(file, "apples");
    expect(await readFile(file, "utf8")).toBe("apples");
    expect(await backend.contents()).toEqual(["notes.txt\napples"]);
    const sent = backend.observed().map((exchange) => exchange.sent);
    expect(sent.some((text) => text.includes("apples"))).toBe(true);
    expect(sent.every((text) => text.includes(file))).toBe(true);
    expect(backend.busy()).toBe(false);
  });

  test.each(["EIO", "ENOSPC", "EACCES", "EPERM", "EMFILE"] as const)("%s leaves nothing of it", async (code) => {
    inject(code);
    expect(await outcome(() => write(file, "apples"))).toBe(code);
    expect(await outcome(() => write(join(elsewhere, "notes.txt"), "pears"))).toBe("done");
    expect(await readFile(join(elsewhere, "notes.txt"), "utf8")).toBe("pears");
    expect(await backend.contents()).toEqual([]);
    backend.heal();
    expect(await outcome(() => write(file, "figs"))).toBe("done");
    expect(await backend.contents()).toEqual(["notes.txt\nfigs"]);
  });

  test("a torn write leaves half of it", async () => {
    inject("torn-write");
    expect(await outcome(() => write(file, "apples"))).toBe("EIO");
    expect(await backend.contents()).toEqual(["notes.txt\napp"]);
    expect(backend.busy()).toBe(false);
  });
});
