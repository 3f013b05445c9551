/** Providers that are wrong about an abort, each in one way. */
import { pause, withDeadline } from "@keepsake/core";
import { asMethod, between, type HandlerCall } from "../drive/between.ts";
import type { Mutant } from "../family.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";
import { onFailure, withTool } from "./fault-mutants.ts";

const never = new AbortController().signal;

export const abortingMutants: readonly Mutant[] = [
  {
    id: "aborting/only-on-entry",
    flaw: "Looks at the signal when it is called, and not again.",
    kills: { "aborting/during-hang": "late", "aborting/during-backoff": "late" },
    spares: ["aborting/before", "faults/recall"],
    provider: (provider) =>
      between(provider, async (call) => {
        signalOf(call).throwIfAborted();
        return asMethod(withSignal(call, never));
      }),
  },
  {
    id: "aborting/tools-do-not-listen",
    flaw: "Passes the signal on in recall and capture, and forgets it in a tool.",
    kills: { "aborting/before": "ran", "aborting/during-hang": "late" },
    spares: ["deadlines/tools", "faults/save"],
    provider: (provider) =>
      withTool(provider, "search_memories", (tool, input, context) =>
        tool.execute(input, { ...context, abortSignal: never }),
      ),
  },
  {
    id: "aborting/disk-does-not-listen",
    flaw: "Waits for its files whatever the signal says.",
    kills: { "aborting/during-hang": "late" },
    spares: ["faults/recall", "deadlines/recall"],
    backend: "directory",
    provider: (provider) =>
      between(provider, async (call) => {
        signalOf(call).throwIfAborted();
        return asMethod(withSignal(call, never));
      }),
  },
  {
    id: "aborting/sleeps-through-backoff",
    flaw: "Pauses between its attempts without the signal.",
    kills: { "aborting/during-backoff": "late" },
    spares: ["aborting/during-hang", "aborting/before"],
    parts: () => ({ retries: 0 }),
    provider: (provider, { clock }) =>
      between(provider, async (call) => {
        try {
          return await asMethod(call);
        } catch (error) {
          if (signalOf(call).aborted || Object(error).code === "timeout" || !call.name.includes(".")) throw error;
          await pause(500, never, clock);
          return asMethod(call);
        }
      }),
  },
  {
    id: "aborting/sends-first",
    flaw: "Sends its request, and then looks at the signal.",
    kills: { "aborting/before": "sent" },
    spares: ["faults/stale", "aborting/usable-after"],
    provider: (provider, { store }) =>
      between(provider, async (call) => {
        if (call.name.startsWith("recall")) await store.list(scopeOf(call), never).catch(() => []);
        return asMethod(call);
      }),
  },
  {
    id: "aborting/null-when-aborted",
    flaw: "Recalls nothing when it is aborted.",
    kills: { "aborting/not-nothing": "empty-recall", "aborting/during-hang": "resolved", "aborting/before": "ran" },
    spares: ["faults/recall", "deadlines/recall"],
    provider: (provider) =>
      between(provider, async (call) => {
        try {
          return await asMethod(call);
        } catch (error) {
          if (call.name.startsWith("recall") && signalOf(call).aborted) return null;
          throw error;
        }
      }),
  },
  {
    id: "aborting/resolves-in-backoff",
    flaw: "Takes an abort between two attempts for the end of a job that was done.",
    kills: { "aborting/during-backoff": "resolved" },
    spares: ["deadlines/capture", "faults/capture"],
    provider: (provider) =>
      between(provider, async (call) => {
        try {
          return await asMethod(call);
        } catch (error) {
          if (call.name.startsWith("capture") && signalOf(call).aborted) return;
          throw error;
        }
      }),
  },
  {
    id: "aborting/own-error",
    flaw: "Wraps every error, the abort too, in one of its own.",
    kills: { "aborting/before": "other-error", "aborting/during-hang": "other-error" },
    spares: ["faults/recall", "recovery/throws-errors"],
    provider: (provider) =>
      onFailure(provider, "recall", () => {
        throw new Error("Memory could not be recalled.");
      }),
  },
  {
    id: "aborting/aborted-is-empty",
    flaw: "Takes a read that was aborted for a document that is not there, and creates it with the next save.",
    kills: { "aborting/not-nothing": "overwritten" },
    spares: ["faults/recall", "aborting/during-backoff"],
    store: createsUnread,
  },
  {
    id: "aborting/aborted-is-empty-over-tcp",
    flaw: "The same over a socket that the abort closed.",
    kills: { "aborting/not-nothing": "overwritten" },
    spares: ["faults/recall", "aborting/during-hang"],
    backend: "tcp",
    store: createsUnread,
  },
  {
    id: "aborting/first-callers-session",
    flaw: "Asks for a session under the signal of whoever calls first, and keeps what came of it.",
    kills: { "aborting/first-call": "unusable" },
    spares: ["aborting/before", "aborting/during-hang", "aborting/usable-after"],
    store: (store) => {
      let session: Promise<unknown> | undefined;
      const inSession = <T extends unknown[], R>(call: (scope: string, ...rest: T) => Promise<R>) => {
        return async (scope: string, ...rest: T): Promise<R> => {
          session ??= store.list(scope, rest.at(-1) as AbortSignal); // the last that every call is given
          await session;
          return call(scope, ...rest);
        };
      };
      const [list, put, remove] = [inSession(store.list), inSession(store.put), inSession(store.remove)];
      return { ...store, list, put, remove };
    },
  },
  {
    id: "aborting/keeps-the-lock",
    flaw: "Takes a lock for each call, and does not release it when the call is aborted.",
    kills: { "aborting/usable-after": "unusable" },
    spares: ["aborting/during-hang", "faults/recall"],
    provider: (provider, { clock }) => {
      let locked = false;
      return between(provider, async (call) => {
        if (call.name === "tools") return asMethod(call);
        if (locked)
          await withDeadline({ signal: signalOf(call), timeoutMs: 5_000, clock }, () => new Promise(() => {}));
        locked = true;
        try {
          return await asMethod(call);
        } finally {
          locked = signalOf(call).aborted;
        }
      });
    },
  },
];

function signalOf({ context }: HandlerCall): AbortSignal {
  return Reflect.get(context, "abortSignal") ?? never; // `tools` has none
}

function scopeOf({ context }: HandlerCall): string {
  return Reflect.get(context, "memory").scope.key; // every context has it
}

function withSignal(call: HandlerCall, abortSignal: AbortSignal): HandlerCall {
  return { ...call, context: { ...call.context, abortSignal } };
}

function createsUnread(store: RecordStore): RecordStore {
  const absent = new Set<string>();
  return {
    ...store,
    list: async (scope, signal): Promise<readonly StoredRecord[]> => {
      const forget = (): void => void absent.add(scope);
      signal.addEventListener("abort", forget, { once: true });
      return store.list(scope, signal).finally(() => signal.removeEventListener("abort", forget));
    },
    put: async (scope, record, signal) => {
      if (absent.delete(scope)) {
        for (const { id } of await store.list(scope, signal)) await store.remove(scope, id, signal);
      }
      return store.put(scope, record, signal);
    },
  };
}
