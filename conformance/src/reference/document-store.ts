/**
 * A store that keeps all of a person's records in one file: read it, change it, write it back. As careful as it is told to
 * be, which for mutants is not careful enough.
 */
import { createHash, randomUUID } from "node:crypto";
import { open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedQueue } from "@keepsake/core";
import type { Connection } from "../backend.ts";
import type { RecordStore, StoredRecord } from "./record-store.ts";

interface Document {
  readonly records: readonly StoredRecord[];
  readonly gone: readonly string[];
}

type InOrder = <T>(key: string, task: () => Promise<T>) => Promise<T>;
type Change = (document: Document) => Document;

/** How a document is changed. */
interface DocumentCare {
  /** Whose changes wait for each other: nobody's, those of the instance, of the process, or of every process. */
  readonly inOrder: "nobody" | "instance" | "process" | "all";
  /** `in-place` begins to overwrite the file and finishes a moment later; `whole` puts another in its place. */
  readonly write?: "whole" | "in-place";
  /** What a file that cannot be read counts as. Default: a failure. */
  readonly damaged?: "empty";
}

/** @param inner Keeps what is not a document, and does not matter here. */
export function documentStore(inner: RecordStore, connection: Connection, care: DocumentCare): RecordStore {
  if (connection.kind !== "directory") throw new TypeError("Documents are files: this mutant needs a directory.");
  const { root } = connection;
  const inOrder = orderOf(care, root);
  const pathOf = (scope: string): string => join(root, `${digest(scope)}.document`);

  const read = async (scope: string): Promise<Document> => {
    try {
      return JSON.parse(await readFile(pathOf(scope), "utf8"));
    } catch (error) {
      const isAbsent = Reflect.get(Object(error), "code") === "ENOENT";
      if (isAbsent || (care.damaged === "empty" && error instanceof SyntaxError)) return { records: [], gone: [] };
      throw error;
    }
  };
  const write = care.write === "in-place" ? overwrite : replace;
  const change = <T>(scope: string, decide: (document: Document) => { change?: Change; result: T }): Promise<T> =>
    inOrder(scope, async () => {
      const document = await read(scope);
      const { change: changed, result } = decide(document);
      if (changed === undefined) return result;
      await pause(gapMs);
      await write(pathOf(scope), JSON.stringify(changed(document)));
      return result;
    });

  return {
    ...inner,
    list: async (scope) => (await read(scope)).records,
    put: (scope, record) =>
      change(scope, ({ records, gone }) => {
        if (gone.includes(record.id)) return { result: "gone" };
        if (records.some(({ id }) => id === record.id)) return { result: "known" };
        return { change: (document) => ({ ...document, records: [record, ...document.records] }), result: "stored" };
      }),
    remove: (scope, id) =>
      change(scope, ({ records }) => {
        if (!records.some((record) => record.id === id)) return { result: false };
        return {
          change: (document) => ({
            records: document.records.filter((record) => record.id !== id),
            gone: [...document.gone, id],
          }),
          result: true,
        };
      }),
  };
}

const ofTheProcess = createKeyedQueue();
const lockTries = 300;
/** Long enough for another to come in between. */
const gapMs = 4;
/** Longer than it takes to look whether the file has been written. */
const slowWriteMs = 150;

function orderOf({ inOrder }: DocumentCare, root: string): InOrder {
  if (inOrder === "instance") return createKeyedQueue();
  if (inOrder === "process") return (key, task) => ofTheProcess(`${root} ${key}`, task);
  if (inOrder === "all") return (key, task) => locked(join(root, `${digest(key)}.lock`), task);
  return (_key, task) => task();
}

/** With a lock file, which a writer that is killed leaves behind. */
async function locked<T>(path: string, task: () => Promise<T>): Promise<T> {
  await acquire(path);
  try {
    const result = await task();
    await pause(slowWriteMs);
    return result;
  } finally {
    await unlink(path);
  }
}

async function acquire(path: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await (await open(path, "wx")).close();
    } catch (error) {
      if (Reflect.get(Object(error), "code") !== "EEXIST" || tries === lockTries) throw error;
      await pause(2);
    }
  }
}

async function replace(path: string, content: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, content);
  await rename(draft, path);
}

async function overwrite(path: string, content: string): Promise<void> {
  const middle = Math.floor(content.length * 0.8);
  await writeFile(path, content.slice(0, middle));
  await pause(slowWriteMs);
  await writeFile(path, content);
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
