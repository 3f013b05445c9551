/** What mutants put before the finished provider: the same provider, with one thing changed about its calls. */
import {
  extendProvider,
  type MemoryCapabilities,
  type MemoryOperationContext,
  type MemoryProvider,
  type MemoryRecallMessage,
  type MemoryRecallResult,
  type MemoryToolsContext,
  type MemoryTurn,
} from "@keepsake/core";
import { asMethod, between } from "../drive/between.ts";

export type OperationContext = MemoryOperationContext & { readonly turn: MemoryTurn | null };

/** Looks at what it was handed before it recalls or captures. */
export function lookingAt(provider: MemoryProvider, look: (context: OperationContext) => unknown): MemoryProvider {
  return between(provider, async (call) => {
    if (call.name !== "tools") await look(call.context as OperationContext); // all but tools() are operations
    return asMethod(call);
  });
}

/** Answers something else to every recall. */
export function answering(
  provider: MemoryProvider,
  answer: (result: Exclude<MemoryRecallResult, undefined>, context: OperationContext) => unknown,
): MemoryProvider {
  return between(provider, async (call) => {
    const result = await asMethod(call);
    if (!call.name.startsWith("recall")) return result;
    return answer((result as MemoryRecallResult) ?? null, call.context as OperationContext); // recall answers these
  });
}

export function eachMessage(
  provider: MemoryProvider,
  change: (message: MemoryRecallMessage) => object,
): MemoryProvider {
  return answering(provider, (result) => result && { ...result, messages: result.messages.map(change) });
}

/** Makes its tools from another context, which may depend on the object that tools() is called on. */
export function toolsFrom(
  provider: MemoryProvider,
  contextFor: (context: MemoryToolsContext, self: MemoryProvider | undefined) => MemoryToolsContext,
): MemoryProvider {
  const made = provider.tools;
  return Object.assign(provider, {
    async tools(this: MemoryProvider | undefined, context: MemoryToolsContext) {
      return made?.(contextFor(context, this)) ?? null;
    },
  });
}

/** The same turn in a scope that nobody has. */
export function ofNobody(context: MemoryToolsContext): MemoryToolsContext {
  const { memory } = context;
  return { ...context, memory: { ...memory, scope: { ...memory.scope, key: "nobody" } } };
}

/** Says something else of itself. */
export function declaring(provider: MemoryProvider, capabilities: MemoryCapabilities): MemoryProvider {
  return extendProvider(provider, { declaration: { capabilities } });
}
