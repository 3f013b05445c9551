/** Providers that are right in a turn, and wrong around a compaction. */
import { extendProvider, type MemoryOperationContext, type MemoryProvider } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { correctParts, type ReferenceParts } from "../reference/parts.ts";
import { type ReferenceOptions, referenceProvider } from "../reference/provider.ts";

export const compactionMutants: readonly Mutant[] = [
  {
    id: "at-compactions/everybody",
    flaw: "Captures before a compaction into one scope for all, and recalls from it afterwards.",
    kills: { "at-compactions/isolated": "other-memory" },
    spares: ["isolation/matrix", "isolation/write-paths"],
    provider: (provider, options) => atCompactions(provider, withParts(options, { partition: () => "all" })),
  },
  {
    id: "at-compactions/unchecked",
    flaw: "Looks for no secrets in what it captures before a compaction.",
    kills: { "at-compactions/secrets": "stored" },
    spares: ["secrets/write-paths", "secrets/capture-keeps-rest"],
    provider: (provider, options) => atCompactions(provider, withParts(options, { secretsIn: () => [] })),
  },
  {
    id: "at-compactions/asks-with-secrets",
    flaw: "After a compaction asks its backend by the words of the turn as they are.",
    kills: { "at-compactions/secrets": "sent" },
    spares: ["secrets/query", "secrets/write-paths"],
    provider: (provider, { store }) =>
      replaced(provider, {
        recall: async (context, own) => {
          await store.list(JSON.stringify(context.messages), context.abortSignal);
          return own(context);
        },
      }),
  },
  {
    id: "at-compactions/swallows-recall",
    flaw: "Recalls nothing after a compaction when its backend fails.",
    kills: { "at-compactions/faults": "swallowed" },
    spares: ["faults/recall", "keyed/compaction"],
    provider: (provider) => replaced(provider, { recall: (context, own) => own(context).catch(() => null) }),
  },
  {
    id: "at-compactions/swallows-capture",
    flaw: "Takes a capture before a compaction for an attempt that may fail.",
    kills: { "at-compactions/faults": "swallowed" },
    spares: ["faults/capture", "capturing/compaction-requested"],
    provider: (provider) => replaced(provider, { capture: (context, own) => own(context).catch(() => undefined) }),
  },
  {
    id: "at-compactions/not-aborted",
    flaw: "Gives the handlers of compactions a signal of their own.",
    kills: { "at-compactions/aborted": "ran" },
    spares: ["aborting/before", "at-compactions/faults"],
    provider: (provider) =>
      replaced(provider, {
        recall: (context, own) => own({ ...context, abortSignal: new AbortController().signal }),
        capture: (context, own) => own({ ...context, abortSignal: new AbortController().signal }),
      }),
  },
  {
    id: "at-compactions/aborted-as-failed",
    flaw: "Says of an aborted recall after a compaction that the store failed.",
    kills: { "at-compactions/aborted": "other-error" },
    spares: ["aborting/before", "at-compactions/faults"],
    provider: (provider) =>
      replaced(provider, {
        recall: (context, own) =>
          own(context).catch(() => {
            throw new Error("The memory store failed.");
          }),
      }),
  },
];

type Own<Result> = (context: MemoryOperationContext) => Promise<Result>;
type Made<Result> = (context: MemoryOperationContext, own: Own<Result>) => Promise<Result>;

interface Handlers {
  readonly recall?: Made<unknown>;
  readonly capture?: Made<unknown>;
}

/** With its handlers of compactions made from its own. */
function replaced(provider: MemoryProvider, { recall, capture }: Handlers): MemoryProvider {
  const [after, before] = [provider.recall["compaction.completed"], provider.capture?.["compaction.requested"]];
  const made = (make: Made<unknown> | undefined, own: unknown): unknown =>
    make === undefined || typeof own !== "function"
      ? own
      : (context: MemoryOperationContext) => make(context, async (given) => own(given));
  return extendProvider(provider, {
    recall: { ...provider.recall, "compaction.completed": made(recall, after) },
    capture: { ...provider.capture, "compaction.requested": made(capture, before) },
  } as Partial<MemoryProvider>);
}

/** With the handlers of compactions of another one. */
function atCompactions(provider: MemoryProvider, other: MemoryProvider): MemoryProvider {
  return replaced(provider, {
    recall: async (context) => other.recall["compaction.completed"]?.(context as never),
    capture: async (context) => other.capture?.["compaction.requested"]?.(context as never),
  });
}

function withParts(options: ReferenceOptions, parts: Partial<ReferenceParts>): MemoryProvider {
  return referenceProvider(options, { ...correctParts, ...parts });
}
