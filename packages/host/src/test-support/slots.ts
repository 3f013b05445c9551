/** Providers and people to try a host with. */
import {
  defineMemory,
  type MemoryDefinition,
  type MemoryEvent,
  type MemoryProvider,
  type MemoryRecallResult,
  type MemoryTurnContext,
  type Principal,
} from "@keepsake/core";

export function person(principalId: string): Principal {
  return { principalType: "user", authenticator: "test", principalId, attributes: {} };
}

/** A slot over a provider whose recall is all that matters. */
export function slotRecalling(
  recall: (context: MemoryTurnContext) => MemoryRecallResult | Promise<MemoryRecallResult>,
  rest: Partial<MemoryDefinition> &
    Pick<MemoryProvider, "capture" | "tools"> & {
      /** What it recalls after a compaction. */
      readonly after?: NonNullable<MemoryProvider["recall"]["compaction.completed"]>;
    } = {},
): MemoryDefinition {
  const { capture, tools, after, ...definition } = rest;
  const provider = {
    recall: { "turn.started": recall, ...(after === undefined ? {} : { "compaction.completed": after }) },
    ...(capture === undefined ? {} : { capture }),
    ...(tools === undefined ? {} : { tools }),
  };
  return defineMemory({ scope: "everyone", provider, ...definition });
}

/** A slot that always recalls one keyed text. */
export function slotKnowing(text: () => string, rest: Partial<MemoryDefinition> = {}): MemoryDefinition {
  return slotRecalling(() => ({ messages: [{ id: "known", content: text() }] }), rest);
}

/** Collects events. */
export function recorder(): { readonly events: MemoryEvent[]; readonly onEvent: (event: MemoryEvent) => void } {
  const events: MemoryEvent[] = [];
  return { events, onEvent: (event) => events.push(event) };
}

export const answer = { responseMessages: [{ role: "assistant" as const, content: "ok" }] };
