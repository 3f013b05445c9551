/**
 * Any provider, one turn behind: what it finds in the background of one turn is shown at the next of the same session, so
 * that no turn waits for a search.
 */
import {
  type Clock,
  describeProvider,
  extendProvider,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryTool,
  type MemoryToolSet,
  type MemoryToolsContext,
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

/** What was found is not shown later than this: it may have expired since. */
const maxAgeMs = 300_000;

interface Search {
  readonly scope: string;
  readonly atMs: number;
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
    const latest = searches.get(key);
    const before = latest !== undefined && clock.now() - latest.atMs <= maxAgeMs ? latest : undefined;
    const isRepeated = pinned && before?.operationId === operationId;
    if (!isRepeated) {
      const found = search(context);
      found.catch(() => {}); // told by the recall that would have shown it
      const shown = before?.found ?? Promise.resolve(null);
      setBounded(
        searches,
        key,
        { scope: context.memory.scope.key, atMs: clock.now(), operationId, shown, found },
        maxSessions,
      );
    }
    const shown = isRepeated ? before.shown : before?.found;
    return withDeadline({ signal, timeoutMs: 15_000, clock }, async () => shown);
  };

  /** What was found before something was removed is not shown after it. */
  const dropping = async <T>(scopeKey: string, removal: Promise<T>): Promise<T> => {
    const result = await removal;
    for (const [key, { scope }] of searches) if (scope === scopeKey) searches.delete(key);
    return result;
  };

  const tools = async (context: MemoryToolsContext): Promise<MemoryToolSet> => {
    const made = Object.entries((await provider.tools?.(context)) ?? {});
    const { key } = context.memory.scope;
    const watched = made.map(([name, tool]) => {
      const execute: MemoryTool["execute"] = (...call) => dropping(key, Promise.resolve(tool.execute(...call)));
      return [name, { ...tool, execute }];
    });
    return Object.fromEntries(watched);
  };

  const { maintenance } = describeProvider(provider) ?? {};
  return extendProvider(provider, {
    recall: { ...provider.recall, "turn.started": recall },
    ...(provider.tools === undefined ? {} : { tools }),
    declaration: {
      capabilities: { freshness: "previous-turn", replay: "none" },
      ...(maintenance === undefined
        ? {}
        : { maintenance: { ...maintenance, erase: (input) => dropping(input.key, maintenance.erase(input)) } }),
    },
  });
}
