/**
 * A tool call acts once. Repeated, after a lost answer or a restart, it answers what it answered before. Some models number
 * their calls from zero in every turn, so a call is known by its session, turn, id and what it asks for.
 */
import { type MemoryToolContext, operationDigest } from "@keepsake/core";
import { type CallOutcome, emptyDocument, type FileDocument } from "./document.ts";
import type { DocumentChange, DocumentStore } from "./document-store.ts";

/** The slot and scope that a tool was made for. */
export interface ToolTarget {
  readonly slot: string;
  readonly key: string;
}

export interface CallResult {
  readonly outcome: CallOutcome;
  readonly index: number;
}

export interface ToolCall {
  readonly target: ToolTarget;
  /** The tool and what it was asked, such as `["save", text]`. */
  readonly request: readonly [tool: string, input: string];
  /** Loops other than a host may leave parts of it out. */
  readonly context: Partial<MemoryToolContext> | undefined;
  readonly act: (document: FileDocument) => DocumentChange<CallResult>;
}

export function createCallRunner(store: DocumentStore): (call: ToolCall) => Promise<CallResult> {
  return ({ target, request, context, act }: ToolCall): Promise<CallResult> => {
    const digest = callDigest(target.key, request, context);
    const signal = context?.abortSignal ?? new AbortController().signal;
    return store.update({ key: target.key, signal }, (known) => {
      const document = known ?? emptyDocument;
      const earlier = document.calls.find((call) => call.digest === digest);
      if (earlier !== undefined) return { result: { outcome: earlier.outcome, index: earlier.index } };
      const change = act(document);
      const isSettled = change.document === undefined && !couldActLater(change.result, known);
      if (digest === undefined || isSettled) return change;
      const call = { digest, ...change.result };
      const changed = change.document ?? document;
      return { document: { ...changed, calls: [...changed.calls, call] }, result: change.result };
    });
  };
}

/** Whether a call that changed nothing now would change something if it came again after other calls. */
function couldActLater({ outcome, index }: CallResult, known: FileDocument | null): boolean {
  return outcome === "duplicate" || (outcome === "absent" && known !== null && index >= known.nextIndex);
}

/** Names the call, where the host says which session and call it is: 22 characters. */
function callDigest(key: string, request: ToolCall["request"], context: ToolCall["context"]): string | undefined {
  const session = context?.session;
  const callId = context?.callId;
  if (session?.id === undefined || callId === undefined) return undefined;
  const operation = ["tool", session.id, session.turn?.id ?? "", callId, ...request];
  return operationDigest({ scopeKey: key, operation }).slice(0, 22);
}
