/** Ways to put something wrong in front of a provider that is right. For mutants. */
import {
  describeProvider,
  extendProvider,
  type MemoryMaintenance,
  type MemoryOperationContext,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryScope,
  type MemorySlotInfo,
  type MemoryTool,
  type MemoryToolSet,
  type MemoryToolsContext,
  type MemoryTurn,
} from "@keepsake/core";
import type { RecordStore, StoredRecord } from "./record-store.ts";

/** The provider as it is, but in the scope that is answered here instead of the one that it was given. */
export function rescoped(provider: MemoryProvider, scopeOf: (scope: MemoryScope) => string): MemoryProvider {
  const keys = new Map<string, string>();
  const moved = <T extends { readonly memory: MemorySlotInfo }>(context: T): T => {
    const { slot, scope } = context.memory;
    const key = scopeOf(scope);
    keys.set(scope.key, key);
    return { ...context, memory: { slot, scope: { ...scope, key } } };
  };
  const { recall, capture } = provider;
  const changed = extendProvider(provider, {
    recall: {
      "turn.started": (context) => recall["turn.started"](moved(context)),
      "compaction.completed": (context) => recall["compaction.completed"]?.(moved(context)),
    },
    capture: {
      "turn.completed": (context) => capture?.["turn.completed"]?.(moved(context)),
      "compaction.requested": (context) => capture?.["compaction.requested"]?.(moved(context)),
    },
    tools: async (context) => (await provider.tools?.(moved(context))) ?? null,
  });
  return withMaintenance(changed, (maintenance) => {
    const there = <I extends { readonly key: string }>(input: I): I => ({
      ...input,
      key: keys.get(input.key) ?? input.key,
    });
    return {
      list: (input) => maintenance.list(there(input)),
      export: (input) => maintenance.export(there(input)),
      import: (input) => maintenance.import(there(input)),
      erase: (input) => maintenance.erase(there(input)),
    };
  });
}

/** With some of its maintenance replaced. */
export function withMaintenance(
  provider: MemoryProvider,
  change: (maintenance: MemoryMaintenance) => Partial<MemoryMaintenance>,
): MemoryProvider {
  const { maintenance } = describeProvider(provider) ?? {};
  if (maintenance === undefined) return provider;
  return extendProvider(provider, { declaration: { maintenance: { ...maintenance, ...change(maintenance) } } });
}

/** With some of its tools replaced, or others added. */
export function withTools(
  provider: MemoryProvider,
  change: (tools: MemoryToolSet, context: MemoryToolsContext) => MemoryToolSet | Promise<MemoryToolSet>,
): MemoryProvider {
  return extendProvider(provider, {
    tools: async (context) => change((await provider.tools?.(context)) ?? {}, context),
  });
}

/** With one tool that does something else. */
export function withTool(
  provider: MemoryProvider,
  name: string,
  change: (tool: MemoryTool, context: MemoryToolsContext) => Partial<MemoryTool>,
): MemoryProvider {
  return withTools(provider, (tools, context) => {
    const tool = tools[name];
    return tool === undefined ? tools : { ...tools, [name]: { ...tool, ...change(tool, context) } };
  });
}

/** The records of all scopes, as one finds them who asks for no scope. */
export async function recordsOfAll(store: RecordStore, signal: AbortSignal): Promise<readonly StoredRecord[]> {
  const all = await Promise.all((await store.scopes(signal)).map((scope) => store.list(scope, signal)));
  return all.flat();
}

/** Any phase's context. */
export type AnyPhase = MemoryOperationContext & { readonly turn: MemoryTurn | null };
type Make<Result> = (
  own: (context: AnyPhase) => Result | Promise<Result>,
  context: AnyPhase,
) => Result | Promise<Result>;

/** With each capture made here, from the provider's own. */
export function withCapture(provider: MemoryProvider, make: Make<void>): MemoryProvider {
  const { capture } = provider;
  return extendProvider(provider, {
    capture: {
      "turn.completed": (context) => make((given) => capture?.["turn.completed"]?.(given as never), context),
      "compaction.requested": (context) =>
        make((given) => capture?.["compaction.requested"]?.(given as never), context),
    },
  });
}

/** With each recall made here, from the provider's own. */
export function withRecall(provider: MemoryProvider, make: Make<MemoryRecallResult>): MemoryProvider {
  const { recall } = provider;
  return extendProvider(provider, {
    recall: {
      "turn.started": (context) => make((given) => recall["turn.started"](given as never), context),
      "compaction.completed": (context) =>
        make((given) => recall["compaction.completed"]?.(given as never) ?? null, context),
    },
  });
}

/** With a tool that acts on the scope that an argument names. */
export function pointedBy(
  provider: MemoryProvider,
  { name, argument, inputSchema }: { readonly name: string; readonly argument: string; readonly inputSchema: unknown },
): MemoryProvider {
  return withTool(provider, name, (_, context) => ({
    inputSchema,
    execute: async (input, call) => {
      const key: unknown = Reflect.get(Object(input), argument);
      const { slot, scope } = context.memory;
      const memory = { slot, scope: typeof key === "string" ? { ...scope, key } : scope };
      const there = (await provider.tools?.({ ...context, memory }))?.[name];
      const known = Object.entries(Object(input)).filter(([each]) => ["text", "query", "id"].includes(each));
      return there?.execute(Object.fromEntries(known) as never, call);
    },
  }));
}
