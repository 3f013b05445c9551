/** A store that keeps a long text in pieces. For mutants. */
import type { RecordStore, StoredRecord } from "./record-store.ts";

const pieceLength = 300;
const mark = "_piece_";

interface PieceCare {
  /** What goes when a text is removed. */
  readonly removes: "first" | "all";
  /** Whether pieces are records of their own, or belong to their first. */
  readonly lists: "pieces" | "joined";
}

export function isPiece(id: string): boolean {
  return id.includes(mark);
}

export function inPieces(store: RecordStore, { removes, lists }: PieceCare): RecordStore {
  const placeOf = ({ id }: StoredRecord): number => Number(id.split(mark)[1] ?? 0);
  return {
    ...store,
    async list(scope, signal) {
      const records = await store.list(scope, signal);
      if (lists === "pieces") return records;
      const rest = records.filter(({ id }) => isPiece(id)).sort((a, b) => placeOf(a) - placeOf(b));
      return records
        .filter(({ id }) => !isPiece(id))
        .map((first) => {
          const own = rest.filter(({ id }) => id.startsWith(`${first.id}${mark}`));
          return { ...first, text: [first, ...own].map(({ text }) => text).join("") };
        });
    },
    async put(scope, record, signal) {
      const result = await store.put(scope, { ...record, text: record.text.slice(0, pieceLength) }, signal);
      for (let start = pieceLength; start < record.text.length; start += pieceLength) {
        const piece = {
          ...record,
          id: `${record.id}${mark}${start}`,
          text: record.text.slice(start, start + pieceLength),
        };
        await store.put(scope, piece, signal);
      }
      return result;
    },
    async remove(scope, id, signal) {
      const records = removes === "all" ? await store.list(scope, signal) : [];
      for (const piece of records.filter((record) => record.id.startsWith(`${id}${mark}`)))
        await store.remove(scope, piece.id, signal);
      return store.remove(scope, id, signal);
    },
  };
}
