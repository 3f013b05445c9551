/** The reference store in a database of `node:sqlite`, which Node has from 22.13. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isExpired } from "@keepsake/core";
import type { RecordStore, StoredRecord } from "./record-store.ts";

interface SqliteOptions {
  readonly root: string;
  readonly now: () => number;
}

// What is deleted is overwritten, and no page of the journal outlives its transaction.
const schema = `
  pragma secure_delete = on;
  create table if not exists records (scope text, id text, body text, primary key (scope, id));
  create table if not exists gone (scope text, id text, primary key (scope, id));
  create table if not exists pins (scope text, operation text, ids text, primary key (scope, operation));
`;
const lockWaitMs = 5_000;

export function sqliteRecordStore({ root, now }: SqliteOptions): RecordStore {
  let open: DatabaseSync | undefined;

  /** Opened by the first that needs it: to make a provider writes nothing. */
  function database(): DatabaseSync {
    if (open !== undefined) return open;
    const opened = new DatabaseSync(join(root, "records.db"), { timeout: lockWaitMs });
    opened.exec(schema);
    open = opened;
    return opened;
  }

  function together<T>(work: (database: DatabaseSync) => T): T {
    const within = database();
    within.exec("begin immediate");
    try {
      const result = work(within);
      within.exec("commit");
      return result;
    } catch (error) {
      within.exec("rollback");
      throw error;
    }
  }

  function take(from: DatabaseSync, scope: string, id: string): boolean {
    const { changes } = from.prepare("delete from records where scope = ? and id = ?").run(scope, id);
    if (changes > 0) from.prepare("insert or ignore into gone values (?, ?)").run(scope, digest(id));
    return changes > 0;
  }

  return {
    durable: true,
    expiry: "checked",
    async list(scope) {
      const rows = database().prepare("select body from records where scope = ? order by rowid").all(scope);
      const records = rows.map(({ body }): StoredRecord => JSON.parse(String(body)));
      const expired = records.filter(({ expiresAt }) => expiresAt !== undefined && isExpired(expiresAt, now()));
      if (expired.length > 0) together((within) => expired.forEach(({ id }) => void take(within, scope, id)));
      return records.filter((record) => !expired.includes(record));
    },
    put: async (scope, record) =>
      together((within) => {
        const isGone = within.prepare("select 1 from gone where scope = ? and id = ?").get(scope, digest(record.id));
        if (isGone !== undefined) return "gone";
        const insert = within.prepare("insert or ignore into records values (?, ?, ?)");
        return insert.run(scope, record.id, JSON.stringify(record)).changes > 0 ? "stored" : "known";
      }),
    remove: async (scope, id) => together((within) => take(within, scope, id)),
    pin: async (scope, operation, ids) =>
      together((within) => {
        within
          .prepare("insert or ignore into pins values (?, ?, ?)")
          .run(scope, digest(operation), JSON.stringify(ids));
        const kept = within.prepare("select ids from pins where scope = ? and operation = ?");
        return JSON.parse(String(kept.get(scope, digest(operation))?.ids));
      }),
    scopes: async () =>
      database()
        .prepare("select distinct scope from records")
        .all()
        .map(({ scope }) => String(scope)),
  };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
