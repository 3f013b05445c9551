/** Providers that are wrong about a part of a write that failed, each in one way. */
import { type ExportLine, type ImportResult, isUserMessage, type MemoryProvider } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { type AnyPhase, withCapture, withMaintenance } from "../reference/changed.ts";

export const batchMutants: readonly Mutant[] = [
  {
    id: "batches/keeps-what-it-can",
    flaw: "Goes on after a message that could not be kept, and rejects only where none could.",
    kills: { "batches/capture": "part" },
    spares: ["faults/capture", "faults/first-of-several", "batches/import"],
    provider: (provider) =>
      withCapture(provider, async (own, context) => {
        const outcomes = await Promise.allSettled(apart(context).map((each) => own(each)));
        const failed = outcomes.filter((outcome) => outcome.status === "rejected");
        if (failed[0] !== undefined && failed.length === outcomes.length) throw failed[0].reason;
      }),
  },
  {
    id: "batches/done-after-the-first",
    flaw: "Enters a turn into its ledger with the first message that was kept.",
    kills: { "batches/capture": "lost" },
    spares: ["late-repeats/failed-write", "idempotency/capture-twice", "batches/import"],
    provider: (provider) => {
      const taken = new Set<string>();
      return withCapture(provider, async (own, context) => {
        const turn = turnOf(context);
        if (taken.has(turn)) return;
        for (const each of apart(context)) {
          await own(each);
          taken.add(turn);
        }
      });
    },
  },
  {
    id: "batches/begins-anew",
    flaw: "Begins a turn of which a part failed as another operation when it comes again.",
    kills: { "batches/capture": "twice" },
    spares: ["late-repeats/failed-write", "idempotency/capture-twice", "batches/import"],
    provider: (provider) => {
      const failures = new Map<string, number>();
      return withCapture(provider, async (own, context) => {
        const turn = turnOf(context);
        const { session } = context;
        const messages = apart(context);
        const attempt = messages.length > 1 ? (failures.get(turn) ?? 0) : 0;
        const id = attempt === 0 ? session.id : `${session.id} again ${attempt}`;
        try {
          for (const each of messages) await own({ ...each, session: { ...session, id } });
        } catch (error) {
          failures.set(turn, attempt + 1);
          throw error;
        }
      });
    },
  },
  {
    id: "batches/imports-what-it-can",
    flaw: "Leaves out of an import what could not be kept, and says that the rest is there.",
    kills: { "batches/import": "part" },
    spares: ["maintenance/import-twice", "maintenance/round-trip", "batches/capture"],
    provider: (provider) =>
      importingApart(provider, async (own, records) => {
        const results: ImportResult[] = [];
        for (const record of records) {
          const result = await own(record).catch(() => undefined);
          if (result !== undefined) results.push(result);
        }
        return results;
      }),
  },
  {
    id: "batches/remembers-ids-it-has-seen",
    flaw: "Takes a record for imported as soon as it has seen its id.",
    kills: { "batches/import": "lost" },
    spares: ["maintenance/import-twice", "batches/capture"],
    provider: (provider) => {
      const seen = new Set<string>();
      return importingApart(provider, async (own, records) => {
        const fresh = records.filter(({ id }) => !seen.has(id));
        for (const { id } of fresh) seen.add(id);
        const results: ImportResult[] = [];
        for (const record of fresh) results.push(await own(record));
        return results;
      });
    },
  },
  {
    id: "batches/imports-anew",
    flaw: "Looks for what is there only before the first import of a scope.",
    kills: { "batches/import": "twice" },
    spares: ["maintenance/import-twice", "batches/capture"],
    provider: (provider, { store }) => {
      const failed = new Set<string>();
      return withMaintenance(provider, ({ import: bringIn }) => ({
        import: async (input) => {
          if (!failed.has(input.key)) {
            return bringIn(input).catch((error: unknown) => {
              failed.add(input.key);
              throw error;
            });
          }
          const records = await recordsOf(input.lines);
          for (const { text } of records)
            await store.put(input.key, { id: crypto.randomUUID(), text, createdAt: 0 }, new AbortController().signal);
          return { imported: records.length, duplicates: 0, refused: [] };
        },
      }));
    },
  },
];

type ImportedRecord = Extract<ExportLine, { readonly type: "memory" }>;

/** A capture for each message of the turn. */
function apart(context: AnyPhase): readonly AnyPhase[] {
  const { turn } = context;
  if (turn === null) return [context];
  const messages = turn.input.filter(isUserMessage);
  return messages.map((message) => ({ ...context, messages: [message], turn: { ...turn, input: [message] } }));
}

function turnOf({ memory, session, turn }: AnyPhase): string {
  return JSON.stringify([memory.scope.key, session.id, turn?.id]);
}

/** With an import for each record; `make` answers what came of them. */
function importingApart(
  provider: MemoryProvider,
  make: (
    own: (record: ImportedRecord) => Promise<ImportResult>,
    records: readonly ImportedRecord[],
  ) => Promise<readonly ImportResult[]>,
): MemoryProvider {
  return withMaintenance(provider, ({ import: bringIn }) => ({
    import: async (input) => {
      const records = await recordsOf(input.lines);
      const results = await make((record) => bringIn({ ...input, lines: [record] }), records);
      return {
        imported: results.reduce((sum, { imported }) => sum + imported, 0),
        duplicates: records.length - results.reduce((sum, { imported }) => sum + imported, 0),
        refused: results.flatMap(({ refused }) => refused),
      };
    },
  }));
}

async function recordsOf(lines: Iterable<ExportLine> | AsyncIterable<ExportLine>): Promise<readonly ImportedRecord[]> {
  const records: ImportedRecord[] = [];
  for await (const line of lines) if (line.type === "memory") records.push(line);
  return records;
}
