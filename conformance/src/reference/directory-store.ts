/** The reference store in a directory: a file for each record, put in place whole, known by its name. */
import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, readdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isExpired } from "@keepsake/core";
import type { RecordStore, StoredRecord } from "./record-store.ts";

interface DirectoryOptions {
  readonly root: string;
  readonly now: () => number;
}

export function directoryRecordStore({ root, now }: DirectoryOptions): RecordStore {
  const folderOf = (scope: string): string => join(root, digest(scope));

  /** Answers whether the file is new. It is there whole, or not at all. */
  const create = async (folder: string, name: string, content: string): Promise<boolean> => {
    await mkdir(folder, { recursive: true });
    const draft = join(folder, `${randomUUID()}.draft`);
    try {
      await writeFile(draft, content);
      await link(draft, join(folder, name));
      return true;
    } catch (error) {
      if (hasCode(error, "EEXIST")) return false;
      throw error;
    } finally {
      await unlink(draft).catch(() => {}); // of a killed or failing writer; never read
    }
  };

  const names = async (folder: string): Promise<readonly string[]> => (await orNone(readdir(folder))) ?? [];

  const list = async (scope: string): Promise<readonly StoredRecord[]> => {
    const records: StoredRecord[] = [];
    for (const name of (await names(folderOf(scope))).filter((each) => each.endsWith(".json"))) {
      const path = join(folderOf(scope), name);
      const text = await orNone(readFile(path, "utf8"));
      if (text === undefined) continue; // removed since
      const record: StoredRecord = JSON.parse(text).record;
      if (record.expiresAt === undefined || !isExpired(record.expiresAt, now())) records.push(record);
      else {
        await create(folderOf(scope), `${digest(record.id)}.gone`, "");
        await orNone(unlink(path));
      }
    }
    return records;
  };

  return {
    durable: true,
    expiry: "checked",
    list,
    async put(scope, record) {
      const folder = folderOf(scope);
      const isGone = async (): Promise<boolean> => (await names(folder)).includes(`${digest(record.id)}.gone`);
      if (await isGone()) return "gone";
      const isNew = await create(folder, `${record.id}.json`, JSON.stringify({ scope, record }));
      if (!(await isGone())) return isNew ? "stored" : "known";
      await orNone(unlink(join(folder, `${record.id}.json`))); // removed while it was being put back
      return "gone";
    },
    async remove(scope, id) {
      const folder = folderOf(scope);
      if (!(await names(folder)).includes(`${id}.json`)) return false;
      await create(folder, `${digest(id)}.gone`, "");
      await orNone(unlink(join(folder, `${id}.json`)));
      return true;
    },
    async pin(scope, operation, ids) {
      const path = join(folderOf(scope), `${digest(operation)}.pin`);
      if (await create(folderOf(scope), `${digest(operation)}.pin`, JSON.stringify(ids))) return ids;
      return JSON.parse(await readFile(path, "utf8"));
    },
    async scopes() {
      const scopes: string[] = [];
      for (const folder of await names(root)) {
        const record = (await names(join(root, folder))).find((name) => name.endsWith(".json"));
        if (record !== undefined) scopes.push(JSON.parse(await readFile(join(root, folder, record), "utf8")).scope);
      }
      return scopes;
    },
  };
}

async function orNone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return Reflect.get(Object(error), "code") === code;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
