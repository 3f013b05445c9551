/**
 * Any provider, one turn behind: what it finds in the background of one turn is shown at the next of the same session, so
 * that no turn waits for a search.
 */
import {
  type Clock,
  extendProvider,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryTurnContext,
  setBounded,
  withDeadline,
} from "@keepsake/core";

export interface PreviousTurnOptions {
  readonly clock: Clock;
  /** What a background search belongs to. Default: the slot, the scope and the session. */
  readonly belongsTo?: (context: MemoryTurnContext) => readonly string[];
  /** What is left of a background search that failed. Default: it fails the recall that would have shown it. */
  readonly onFailure?: (error: unknown) => MemoryRecallResult;
  /** Whether an operation that is asked for once more is answered as the first time. Default: yes. */
  readonly pinned?: boolean;
  /** How many sessions it can be in the middle of. Default: a thousand. */
  readonly maxSessions?: number;
}

interface Search {
  readonly operationId: string;
  /** What this operation shows: found by the one before it. */
  readonly shown: Promise<MemoryRecallResult>;
  readonly found: Promise<MemoryRecallResult>;
}

export function previousTurn(provider: MemoryProvider, options: PreviousTurnOptions): MemoryProvider {
  const { clock, onFailure, pinned = true, maxSessions = 1_000 } = options;
  const { belongsTo = ({ memory, session }) => [memory.slot, memory.scope.key, session.id] } = options;
  const searches = new Map<string, Search>();

  const search = async (context: MemoryTurnContext): Promise<MemoryRecallResult> => {
    try {
      return await provider.recall["turn.started"]({ ...context, abortSignal: new AbortController().signal });
    } catch (error) {
      if (onFailure === undefined) throw error;
      return onFailure(error);
    }
  };

  const recall = async (context: MemoryTurnContext): Promise<MemoryRecallResult> => {
    const { abortSignal: signal, operationId } = context;
    signal.throwIfAborted();
    const key = JSON.stringify(belongsTo(context));
    const before = searches.get(key);
    const isRepeated = pinned && before?.operationId === operationId;
    if (!isRepeated) {
      const found = search(context);
      found.catch(() => {}); // told by the recall that would have shown it
      const shown = before?.found ?? Promise.resolve(null);
      setBounded(searches, key, { operationId, shown, found }, maxSessions);
    }
    const shown = isRepeated ? before.shown : before?.found;
    return withDeadline({ signal, timeoutMs: 15_000, clock }, async () => shown);
  };

  return extendProvider(provider, {
    recall: { ...provider.recall, "turn.started": recall },
    declaration: { capabilities: { freshness: "previous-turn", ttl: "none", replay: "none" } },
  });
}
