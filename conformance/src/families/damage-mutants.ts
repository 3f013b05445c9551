/** Providers that do the wrong thing about files that were damaged. */
import { copyFile, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Connection } from "../backend.ts";
import type { Mutant } from "../family.ts";
import type { RecordStore } from "../reference/record-store.ts";

export const damageMutants: readonly Mutant[] = [
  {
    id: "damage/leaves-out",
    flaw: "Sets a file aside that it cannot read, and goes on with the others.",
    kills: { "damage/reading": "part", "damage/erase": "left" },
    spares: ["damage/others", "erasing/nothing-left"],
    backend: "directory",
    store: mended(async ({ damaged }) => {
      for (const path of damaged) await rename(path, `${path}.damaged`);
    }),
  },
  {
    id: "damage/starts-anew",
    flaw: "Takes a scope in which it cannot read a file for an empty one.",
    kills: { "damage/reading": "nothing", "damage/erase": "left" },
    spares: ["damage/others", "erasing/nothing-left"],
    backend: "directory",
    store: (store) => ({ ...store, list: (scope, signal) => store.list(scope, signal).catch(() => []) }),
  },
  {
    id: "damage/keeps-a-copy",
    flaw: "Copies a file that it cannot read, fails, and leaves the copy where it is for good.",
    kills: { "damage/erase": "left" },
    spares: ["damage/reading", "damage/others", "erasing/nothing-left"],
    backend: "directory",
    store: mended(async ({ damaged }) => {
      for (const path of damaged) await copyFile(path, `${path}.damaged`);
    }),
  },
  {
    id: "damage/clears-the-store",
    flaw: "Begins with an empty folder once it cannot read a file.",
    kills: { "damage/others": "others-lost", "damage/reading": "nothing" },
    spares: ["erasing/nothing-left", "forgetting/gone"],
    backend: "directory",
    store: mended(({ root }) => rm(root, { recursive: true, force: true })),
  },
  {
    id: "damage/looks-at-all-files",
    flaw: "Looks at the files of all scopes to find those of one.",
    kills: { "damage/others": "others-fail" },
    spares: ["erasing/nothing-left", "forgetting/gone"],
    backend: "directory",
    store: (store, connection) => ({
      ...store,
      async list(scope, signal) {
        if ((await damagedFiles(rootOf(connection))).length > 0) throw new Error("A file is damaged.");
        return store.list(scope, signal);
      },
    }),
  },
];

interface Found {
  readonly root: string;
  readonly damaged: readonly string[];
}

/** Lists once more when it could not, after something was done about it. */
function mended(mend: (found: Found) => Promise<void>): (store: RecordStore, connection: Connection) => RecordStore {
  return (store, connection) => ({
    ...store,
    list: (scope, signal) =>
      store.list(scope, signal).catch(async () => {
        const root = rootOf(connection);
        await mend({ root, damaged: await damagedFiles(root) });
        return store.list(scope, signal);
      }),
  });
}

async function damagedFiles(root: string): Promise<readonly string[]> {
  const names = (await readdir(root, { recursive: true }).catch(() => [])).filter((name) => name.endsWith(".json"));
  const damaged: string[] = [];
  for (const path of names.map((name) => join(root, name))) {
    try {
      JSON.parse(await readFile(path, "utf8"));
    } catch {
      damaged.push(path);
    }
  }
  return damaged;
}

function rootOf(connection: Connection): string {
  if (connection.kind !== "directory") throw new TypeError("It stands on a directory.");
  return connection.root;
}
