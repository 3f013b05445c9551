/** A bounded recall for any provider in any host. Some hosts end the session when a recall throws; this lets a slot choose. */
import { type Clock, systemClock } from "./clock.ts";
import type { MemoryOperationContext, MemoryProvider, MemoryRecallResult } from "./contract.ts";
import { withDeadline } from "./deadline.ts";
import { extendProvider } from "./declaration.ts";
import { checkMemoryProvider } from "./define.ts";
import { MemoryError } from "./errors.ts";
import { describeError, emitEvent, type MemoryEventListener } from "./events.ts";
import { type ModelMessage, messageKind, messageText } from "./model-message.ts";
import { checkOptions, optionIs } from "./options.ts";
import { frameRecall } from "./text.ts";

export interface RecallPolicyOptions {
  /**
   * `throw`: the host decides. `skip`: the turn goes on with a keyed message that says memory could not be read, so that
   * what was recalled before does not look current; the next recall that succeeds takes it back.
   */
  readonly onFailure: "throw" | "skip";
  /** Time for one recall, in milliseconds. Absent: no limit but the provider's own. */
  readonly budgetMs?: number;
  readonly clock?: Clock;
  readonly onEvent?: MemoryEventListener;
}

const statusId = "keepsake-recall-status";
const unreadable = "Memory could not be read this time. What was recalled earlier may be out of date.";
const readable = "Memory can be read again.";

/**
 * The provider with its recalls bounded. An abort by the host is never skipped.
 * @throws MemoryError `invalid_options`; from recall, what the provider threw or `timeout`.
 */
export function withRecallPolicy(provider: MemoryProvider, options: RecallPolicyOptions): MemoryProvider {
  checkMemoryProvider(provider, "The provider");
  checkOptions("withRecallPolicy()", options, {
    onFailure: (value) => value === "throw" || value === "skip",
    budgetMs: optionIs.positive,
    clock: optionIs.clock,
    onEvent: optionIs.callable,
  });
  const { onFailure, budgetMs = Number.POSITIVE_INFINITY, clock = systemClock, onEvent } = options;
  if (onFailure === undefined) {
    throw new MemoryError("invalid_options", `withRecallPolicy() needs "throw" or "skip" as onFailure.`);
  }

  const bounded =
    <C extends MemoryOperationContext>(recall: (context: C) => MemoryRecallResult | Promise<MemoryRecallResult>) =>
    async (context: C): Promise<MemoryRecallResult> => {
      const { slot } = context.memory;
      try {
        const result = await withDeadline({ signal: context.abortSignal, timeoutMs: budgetMs, clock }, (abortSignal) =>
          recall({ ...context, abortSignal }),
        );
        return lastStatus(context.messages, slot) === unreadable ? withStatus(result, slot, readable) : result;
      } catch (error) {
        if (onFailure === "throw" || context.abortSignal.aborted) throw error;
        emitEvent(onEvent, { code: "recall_skipped", slot, error: describeError(error) });
        return withStatus(null, slot, unreadable);
      }
    };

  const { recall } = provider;
  return extendProvider(provider, {
    recall: {
      "turn.started": bounded((context) => recall["turn.started"](context)),
      ...(recall["compaction.completed"] === undefined
        ? {}
        : { "compaction.completed": bounded(recall["compaction.completed"]) }),
    },
  });
}

function withStatus(result: MemoryRecallResult, slot: string, guidance: string): MemoryRecallResult {
  const messages = result?.messages ?? [];
  if (messages.some(({ id }) => id === statusId)) return result; // a policy within this one has said it: ids may not repeat
  return { messages: [...messages, { id: statusId, content: frameRecall({ slot, guidance }) }] };
}

/** The last thing this slot was told about its recall, read from the history, so that it holds after a restart too. */
function lastStatus(messages: readonly ModelMessage[], slot: string): string | undefined {
  const known = new Map([unreadable, readable].map((guidance) => [frameRecall({ slot, guidance }), guidance]));
  for (const message of messages.toReversed()) {
    const status = messageKind(message) === "memory.load" ? known.get(messageText(message)) : undefined;
    if (status !== undefined) return status;
  }
  return undefined;
}
