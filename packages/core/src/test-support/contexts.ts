import type { MemoryScopeContext, MemoryToolContext, MemoryTurnContext, Principal } from "../contract.ts";
import { MemoryError } from "../errors.ts";

export function principal(changes: Partial<Principal> = {}): Principal {
  return { attributes: {}, authenticator: "app", principalId: "u1", principalType: "user", ...changes };
}

/** What a scope helper sees when this caller speaks. */
export function scopeContext(
  current: Principal | null = principal(),
  changes: Partial<Pick<MemoryScopeContext, "channel" | "conversation">> = {},
): MemoryScopeContext {
  return {
    abortSignal: new AbortController().signal,
    session: { id: "session", auth: { current, initiator: null } },
    channel: {},
    ...changes,
  };
}

export function turnContext(changes: Partial<MemoryTurnContext> = {}): MemoryTurnContext {
  const turn = { id: "turn_0", sequence: 0 };
  return {
    abortSignal: new AbortController().signal,
    session: { id: "session", auth: { current: null, initiator: null }, turn },
    memory: { slot: "notes", scope: { key: "memscope1_x", namespace: "app", value: "u1" } },
    messages: [],
    operationId: "operation",
    turn: { ...turn, input: [{ role: "user", content: "hello" }] },
    getSandbox: unsupported,
    ...changes,
  };
}

export function toolContext(): MemoryToolContext {
  const { abortSignal, session } = turnContext();
  return {
    abortSignal,
    session,
    callId: "call",
    toolName: "notes__save",
    messages: [],
    getSandbox: unsupported,
    getToken: unsupported,
    requireAuth() {
      throw new MemoryError("unsupported", "No sign-in here.");
    },
  };
}

async function unsupported(): Promise<never> {
  throw new MemoryError("unsupported", "Not here.");
}
