/** The reference store within the process: gone when that ends. */
import type { RecordStore } from "./record-store.ts";
import { RecordTable } from "./record-table.ts";

export function processRecordStore({ now }: { readonly now: () => number }): RecordStore {
  const table = new RecordTable(now);
  return {
    durable: false,
    expiry: "native",
    list: async (scope) => table.list(scope),
    put: async (scope, record) => table.put(scope, record),
    remove: async (scope, id) => table.remove(scope, id),
    pin: async (scope, operation, ids) => table.pin(scope, operation, ids),
    scopes: async () => table.scopes(),
  };
}

/** A store that asks the backend each time, and goes by what is in the process all the same. */
export function ignoring(backed: RecordStore, own: RecordStore): RecordStore {
  return {
    ...own,
    async list(scope, signal) {
      await backed.list(scope, signal);
      return own.list(scope, signal);
    },
  };
}
