/** The storage seam for memory that grows: append-only events per scope. Shared by the engine and every store under it. */
import { MemoryError } from "./errors.ts";
import { assertScopeKey } from "./keys.ts";

/** A place in a scope's journal. Erasing and rewriting start a new epoch, so an old position never points into new events. */
export interface JournalPosition {
  readonly epoch: number;
  /** Events before this place, within the epoch. */
  readonly offset: number;
}

/** An event as it is kept: JSON, and complete in itself. */
export type JournalEvent = Readonly<Record<string, unknown>>;

export interface JournalInput {
  readonly key: string;
  readonly signal: AbortSignal;
}

export interface JournalReadInput extends JournalInput {
  /** Read on from here. A position of another epoch, or beyond the end, reads from the start. Absent: from the start. */
  readonly after?: JournalPosition;
}

export interface JournalSlice {
  readonly events: readonly JournalEvent[];
  /** Where these events begin: `after`, or the start of the present epoch. */
  readonly start: JournalPosition;
  readonly end: JournalPosition;
}

export interface JournalAppendInput extends JournalInput {
  readonly events: readonly JournalEvent[];
  /** The end the writer knows. When others have written since, the append is refused with `conflict`. */
  readonly expectedEnd: JournalPosition;
}

/** All methods are atomic per key, and durable when they return where the journal is. */
export interface MemoryJournal {
  readonly durable?: boolean;
  read(input: JournalReadInput): Promise<JournalSlice>;
  /** Adds all of the events or none, and answers the new end. */
  append(input: JournalAppendInput): Promise<JournalPosition>;
  /** Replaces the whole journal in a new epoch. What was there before is really gone. */
  rewrite(input: JournalAppendInput): Promise<JournalPosition>;
  keys?(input: { readonly signal: AbortSignal }): AsyncIterable<string>;
}

/** Journals in a `Map`, for tests and throw-away agents. Each call makes a store of its own. */
export function inMemoryJournal(): MemoryJournal {
  const journals = new Map<string, { epoch: number; readonly lines: string[] }>();
  const open = (key: string): { epoch: number; lines: string[] } => {
    assertScopeKey(key);
    return journals.get(key) ?? { epoch: 0, lines: [] };
  };
  const write = (input: JournalAppendInput, change: (journal: { epoch: number; lines: string[] }) => void) => {
    input.signal.throwIfAborted();
    const journal = open(input.key);
    const { epoch, offset } = input.expectedEnd;
    if (journal.epoch !== epoch || journal.lines.length !== offset) {
      throw new MemoryError("conflict", "The journal was written to by another.", { retryable: true });
    }
    const next = { epoch: journal.epoch, lines: [...journal.lines] };
    change(next);
    journals.set(input.key, next);
    return { epoch: next.epoch, offset: next.lines.length };
  };
  return {
    durable: false,
    async read({ key, after, signal }) {
      signal.throwIfAborted();
      const { epoch, lines } = open(key);
      const from = after?.epoch === epoch && after.offset <= lines.length ? after.offset : 0;
      return {
        events: lines.slice(from).map((line) => JSON.parse(line) as JournalEvent),
        start: { epoch, offset: from },
        end: { epoch, offset: lines.length },
      };
    },
    async append(input) {
      const lines = input.events.map((event) => JSON.stringify(event));
      return write(input, (journal) => journal.lines.push(...lines));
    },
    async rewrite(input) {
      const lines = input.events.map((event) => JSON.stringify(event));
      return write(input, (journal) => {
        journal.epoch += 1;
        journal.lines = lines;
      });
    },
    async *keys({ signal }) {
      signal.throwIfAborted();
      yield* journals.keys();
    },
  };
}
