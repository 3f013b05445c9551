/** Providers that are wrong in what they recall when the same operation comes again. */
import type { MemoryRecallResult } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { type AnyPhase, withMaintenance, withRecall, withTool } from "../reference/changed.ts";

export const replayMutants: readonly Mutant[] = [
  {
    id: "replay/counts-its-recalls",
    flaw: "Writes into what it recalls how often it has been asked.",
    kills: { "replay/quiet": "differs", "replay/interleaved": "differs" },
    spares: ["replay/forgotten-wins", "replay/other-scope"],
    parts: ({ frame }) => {
      let asked = 0;
      return {
        frame: (slot, lines) => {
          asked += 1;
          return frame(slot, [...lines, `Asked ${asked} times.`]);
        },
      };
    },
  },
  {
    id: "replay/answers-once",
    flaw: "Takes an operation that it has answered for done, and recalls nothing the second time.",
    kills: { "replay/quiet": "empty", "replay/interleaved": "differs" },
    spares: ["replay/other-scope", "replay/forgotten-wins"],
    provider: (provider) => {
      const answered = new Set<string>();
      return withRecall(provider, (recall, context) => {
        const operation = scopedOperation(context);
        if (answered.has(operation)) return null;
        answered.add(operation);
        return recall(context);
      });
    },
  },
  {
    id: "replay/not-pinned",
    flaw: "Recalls anew whenever it is asked.",
    kills: { "replay/interleaved": "nothing-first", "replay/restart": "differs" },
    spares: ["replay/quiet", "replay/forgotten-wins"],
    store: (store) => ({ ...store, pin: async (_scope, _operation, ids) => ids }),
  },
  {
    id: "replay/nothing-is-not-pinned",
    flaw: "Keeps what an operation recalled, unless that was nothing.",
    kills: { "replay/interleaved": "nothing-first" },
    spares: ["replay/quiet", "replay/restart"],
    store: (store) => ({
      ...store,
      pin: async (scope, operation, ids, signal) => (ids.length === 0 ? ids : store.pin(scope, operation, ids, signal)),
    }),
  },
  {
    id: "replay/pinned-in-memory",
    flaw: "Keeps what an operation recalled in the memory of the process, and declares that it outlives a restart.",
    kills: { "replay/restart": "differs" },
    spares: ["replay/quiet", "replay/interleaved"],
    store: (store) => {
      const pins = new Map<string, readonly string[]>();
      return {
        ...store,
        async pin(scope, operation, ids) {
          const first = pins.get(`${scope} ${operation}`) ?? ids;
          pins.set(`${scope} ${operation}`, first);
          return first;
        },
      };
    },
  },
  {
    id: "replay/answers-as-before",
    flaw: "Keeps the whole answer to an operation and gives it again, whatever has become of the memories.",
    kills: {
      "replay/forgotten-wins": "returned",
      "replay/erased-wins": "returned",
      "replay/expired-wins": "returned",
    },
    spares: ["replay/quiet", "replay/interleaved", "replay/other-scope"],
    provider: (provider) => withRecall(provider, remembered(scopedOperation)),
  },
  {
    id: "replay/drops-its-own-answers",
    flaw: "Keeps its answers in the instance, and drops them when this instance forgets or erases.",
    kills: { "replay/forgotten-wins": "returned", "replay/erased-wins": "returned" },
    spares: ["replay/quiet", "replay/interleaved", "replay/other-scope"],
    provider: (provider) => {
      const answers = new Map<string, MemoryRecallResult>();
      const recalling = withRecall(provider, remembered(scopedOperation, answers));
      const forgetting = withTool(recalling, "forget_memory", (tool) => ({
        execute: (input, context) => {
          answers.clear();
          return tool.execute(input, context);
        },
      }));
      return withMaintenance(forgetting, ({ erase }) => ({
        erase: (input) => {
          answers.clear();
          return erase(input);
        },
      }));
    },
  },
  {
    id: "replay/answers-by-operation-alone",
    flaw: "Keeps its answers by the operationId, which does not hold the scope.",
    kills: { "replay/other-scope": "other-memory" },
    spares: ["replay/quiet", "replay/interleaved"],
    provider: (provider) =>
      withRecall(
        provider,
        remembered(({ operationId }) => operationId),
      ),
  },
  {
    id: "replay/answers-by-scope-alone",
    flaw: "Keeps its answers by the scope, so that every operation is given the first one's.",
    kills: { "replay/interleaved": "stale" },
    spares: ["replay/quiet", "replay/other-scope"],
    provider: (provider) =>
      withRecall(
        provider,
        remembered(({ memory }) => memory.scope.key),
      ),
  },
  {
    id: "replay/ids-by-operation-alone",
    flaw: "Keeps the ids that an operation recalled by the operationId, and finds none of them in another scope.",
    kills: { "replay/other-scope": "missing" },
    spares: ["replay/quiet", "replay/forgotten-wins"],
    provider: (provider) => {
      const first = new Map<string, string>();
      return withRecall(provider, (recall, context) => {
        const { operationId, memory } = context;
        const scope = first.get(operationId) ?? memory.scope.key;
        first.set(operationId, scope);
        return scope === memory.scope.key ? recall(context) : null;
      });
    },
  },
  {
    id: "replay/keeps-text",
    flaw: "Keeps the texts that an operation recalled beside their ids.",
    kills: { "replay/no-text": "copy" },
    spares: ["replay/quiet", "replay/interleaved", "replay/forgotten-wins"],
    store: (store) => ({
      ...store,
      async pin(scope, operation, ids, signal) {
        const records = await store.list(scope, signal);
        const texts = records.filter(({ id }) => ids.includes(id)).map(({ text }) => text);
        await store.pin(scope, `texts of ${operation}`, texts, signal);
        return store.pin(scope, operation, ids, signal);
      },
    }),
  },
  {
    id: "replay/forgets-all",
    flaw: "Forgets everything of a person when one memory is to be forgotten.",
    kills: { "replay/forgotten-wins": "gone" },
    spares: ["replay/quiet", "replay/erased-wins"],
    store: (store) => ({
      ...store,
      async remove(scope, id, signal) {
        const removed = await store.remove(scope, id, signal);
        for (const other of await store.list(scope, signal)) await store.remove(scope, other.id, signal);
        return removed;
      },
    }),
  },
  {
    id: "replay/closes-what-has-ended",
    flaw: "Stores nothing more in a scope that was erased, or whose first memory has expired.",
    kills: { "replay/erased-wins": "gone", "replay/expired-wins": "gone" },
    spares: ["replay/quiet", "replay/forgotten-wins"],
    store: (store) => {
      const firstExpiry = new Map<string, number>();
      return {
        ...store,
        async put(scope, record, signal) {
          const first = firstExpiry.get(scope) ?? record.expiresAt;
          if (first !== undefined) firstExpiry.set(scope, first);
          const isClosed = erased.has(scope) || (first !== undefined && record.createdAt >= first);
          return isClosed ? "gone" : store.put(scope, record, signal);
        },
      };
    },
    provider: (provider) =>
      withMaintenance(provider, ({ erase }) => ({
        erase: async (input) => {
          erased.add(input.key);
          return erase(input);
        },
      })),
  },
];

const erased = new Set<string>();

function scopedOperation({ memory, operationId }: AnyPhase): string {
  return `${memory.scope.key} ${operationId}`;
}

type Recall = (context: AnyPhase) => MemoryRecallResult | Promise<MemoryRecallResult>;

/** Answers what it has answered before under the same name, if that was anything. */
function remembered(nameOf: (context: AnyPhase) => string, answers = new Map<string, MemoryRecallResult>()) {
  return async (recall: Recall, context: AnyPhase): Promise<MemoryRecallResult> => {
    const answer = answers.get(nameOf(context)) ?? (await recall(context));
    answers.set(nameOf(context), answer);
    return answer;
  };
}
