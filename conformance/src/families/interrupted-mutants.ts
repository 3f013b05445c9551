/** Providers that leave a write or a forget half done. */
import { createHash, randomUUID } from "node:crypto";
import { unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Connection } from "../backend.ts";
import type { Mutant } from "../family.ts";
import { withTool } from "../reference/changed.ts";

export const interruptedMutants: readonly Mutant[] = [
  {
    id: "forgetting/leaves-backup",
    flaw: "Copies what is there before it writes, and removes the copy only where the write succeeds.",
    kills: { "forgetting/after-failed-write": "kept" },
    spares: ["forgetting/witness", "forgetting/interrupted"],
    backend: "directory",
    store: (store, connection) => ({
      ...store,
      put: async (scope, record, signal) => {
        const backup = join(rootOf(connection), `${randomUUID()}.backup`);
        await writeFile(backup, JSON.stringify(await store.list(scope, signal)));
        const result = await store.put(scope, record, signal);
        await unlink(backup);
        return result;
      },
    }),
  },
  {
    id: "forgetting/tombstone-last",
    flaw: "Removes the record, and then leaves the tombstone.",
    kills: { "forgetting/interrupted": "back" },
    spares: ["forgetting/witness", "forgetting/after-failed-write"],
    backend: "directory",
    store: (store, connection) => ({
      ...store,
      remove: async (scope, id, signal) => {
        if (!(await store.list(scope, signal)).some((record) => record.id === id)) return false;
        const folder = join(rootOf(connection), digest(scope));
        await unlink(join(folder, `${id}.json`));
        await writeFile(join(folder, `${digest(id)}.gone`), "");
        return true;
      },
    }),
  },
  {
    id: "forgetting/noted-before-done",
    flaw: "Notes which ids it was asked to forget before it forgets them, and skips those that it has noted.",
    kills: { "forgetting/interrupted": "still-there" },
    spares: ["forgetting/gone", "forgetting/missing"],
    provider: (provider) => {
      const noted = new Set<string>();
      return withTool(provider, "forget_memory", (tool) => ({
        execute: async (input: { readonly id: string }, context) => {
          if (noted.has(input.id)) return { removed: false };
          noted.add(input.id);
          return tool.execute(input as never, context);
        },
      }));
    },
  },
  {
    id: "forgetting/any-will-do",
    flaw: "Removes all records of a text, and says that it did when any of them went.",
    kills: { "forgetting/partly": "claims" },
    spares: ["forgetting/duplicates", "faults/forget"],
    provider: (provider, { store }) =>
      withTool(provider, "forget_memory", (_, { memory: { scope } }) => ({
        execute: async (input: { readonly id: string }, { abortSignal }) => {
          const records = await store.list(scope.key, abortSignal);
          const text = records.find(({ id }) => id === input.id)?.text;
          const same = records.filter((record) => record.text === text);
          const ends = await Promise.allSettled(same.map(({ id }) => store.remove(scope.key, id, abortSignal)));
          if (same.length > 0 && ends.every(({ status }) => status === "rejected")) throw new Error("It failed.");
          return { removed: same.length > 0 };
        },
      })),
  },
  {
    id: "forgetting/clears-and-rewrites",
    flaw: "Forgets by removing everything, and putting back the rest.",
    kills: { "forgetting/interrupted": "lost" },
    spares: ["forgetting/gone", "forgetting/missing"],
    store: (store) => ({
      ...store,
      remove: async (scope, id, signal) => {
        const records = await store.list(scope, signal);
        if (!records.some((record) => record.id === id)) return false;
        for (const record of records) await store.remove(scope, record.id, signal);
        for (const record of records)
          if (record.id !== id) await store.put(scope, { ...record, id: randomUUID() }, signal);
        return true;
      },
    }),
  },
];

function rootOf(connection: Connection): string {
  if (connection.kind !== "directory") throw new TypeError("This mutant needs a directory.");
  return connection.root;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
