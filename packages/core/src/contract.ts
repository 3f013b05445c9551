/**
 * The memory contract: structurally that of eve 0.80.1, so that one provider object runs in any host that speaks it. A
 * type test holds both directions against the real package.
 *
 * Functions are declared as methods where only eve can give the full argument (a sandbox, a token), so that a provider
 * written against either set of types fits the other.
 */
import type { ModelMessage } from "./model-message.ts";

/** A verified caller. Values come from the host's authentication, never from model input. */
export interface Principal {
  readonly attributes: Readonly<Record<string, string | readonly string[]>>;
  readonly authenticator: string;
  readonly issuer?: string;
  readonly principalId: string;
  /** `user`, `service`, `anonymous`, `runtime`, `local-dev`, or a host's own. */
  readonly principalType: string;
  readonly subject?: string;
}

export interface SessionAuth {
  /** The caller of the running request. */
  readonly current: Principal | null;
  /** The caller who opened the session. */
  readonly initiator: Principal | null;
}

export interface SessionTurn {
  readonly id: string;
  readonly sequence: number;
}

export interface SessionParent {
  readonly callId: string;
  readonly rootSessionId: string;
  readonly sessionId: string;
  readonly turn: SessionTurn;
}

export interface SessionSchedule {
  readonly definition: string;
  readonly instance?: string;
  readonly occurrenceId?: string;
}

export interface SessionPredecessor {
  readonly sessionId: string;
}

export interface MemorySessionInfo {
  readonly id: string;
  readonly auth: SessionAuth;
  readonly turn: SessionTurn;
  readonly parent?: SessionParent;
  readonly schedule?: SessionSchedule;
  readonly predecessor?: SessionPredecessor;
}

export interface MemoryChannel {
  readonly kind?: string;
  readonly continuationToken?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

// --- Where memory lives: namespace and scope ---

export interface MemoryNamespaceContext {
  readonly appRoot: string;
  readonly node: string;
  readonly slot: string;
}

export type MemoryNamespaceDefinition =
  | string
  | null
  | ((context: MemoryNamespaceContext) => string | null | Promise<string | null>);

/** A shared place that a conversation happens in. Hosts without the notion leave `conversation` out. */
export interface ConversationSpace {
  /** `shared` is the one that `bySpace` counts. */
  readonly type: string;
  readonly id: string;
}

export interface MemoryScopeContext {
  readonly abortSignal: AbortSignal;
  readonly session: { readonly id: string; readonly auth: SessionAuth };
  readonly channel: MemoryChannel;
  readonly conversation?: { readonly id?: string; readonly space?: ConversationSpace };
}

/** `null` turns the slot off for the turn. It never widens to a shared scope. */
export type MemoryScopeResult = string | readonly string[] | null;

export type MemoryScopeDefinition =
  | string
  | null
  | ((context: MemoryScopeContext) => MemoryScopeResult | Promise<MemoryScopeResult>);

/** The resolved scope of a slot. `key` partitions storage and is opaque; `namespace` and `value` are for the curious. */
export interface MemoryScope {
  readonly key: string;
  readonly namespace: string;
  readonly value: string | readonly string[];
}

// --- What a provider is called with ---

export interface MemoryTurn {
  readonly id: string;
  /** Context the host adds first, then what the user said. */
  readonly input: readonly ModelMessage[];
  readonly sequence: number;
}

export interface MemorySlotInfo {
  readonly scope: MemoryScope;
  readonly slot: string;
}

export interface MemoryOperationContext {
  readonly abortSignal: AbortSignal;
  readonly session: MemorySessionInfo;
  readonly memory: MemorySlotInfo;
  /** The history so far, recalled records included (`kind: "memory.load"`). */
  readonly messages: readonly ModelMessage[];
  /** Stable over retries of one operation. It does not contain the scope. */
  readonly operationId: string;
  /** eve's sandbox. Other hosts throw `unsupported` unless given one. */
  getSandbox(): Promise<unknown>;
}

export interface MemoryTurnContext extends MemoryOperationContext {
  readonly turn: MemoryTurn;
}

export interface MemoryCompactionCompletedContext extends MemoryOperationContext {
  readonly turn: MemoryTurn | null;
  readonly compaction: { readonly modelId: string };
}

export interface MemoryCompactionRequestedContext extends MemoryOperationContext {
  readonly turn: MemoryTurn | null;
  readonly compaction: { readonly modelId: string; readonly usageInputTokens: number | null };
}

export interface MemoryToolsContext {
  readonly abortSignal?: AbortSignal;
  readonly model: { readonly id: string } | null;
  readonly session: Omit<MemorySessionInfo, "turn" | "parent">;
  readonly channel: MemoryChannel;
  readonly memory: MemorySlotInfo;
  readonly messages: readonly ModelMessage[];
  readonly turn: MemoryTurn;
}

// --- What a provider answers ---

export interface MemoryRecallMessage {
  readonly content: string;
  /** A later message of the same id replaces this one. A message without an id is added each time. */
  readonly id?: string;
}

export type MemoryRecallResult = { readonly messages: readonly MemoryRecallMessage[] } | null | undefined;

/** What a tool's `execute` receives beside its input. */
export interface MemoryToolContext {
  readonly abortSignal: AbortSignal;
  readonly callId: string;
  readonly toolName: string;
  readonly messages: readonly ModelMessage[];
  readonly session: MemorySessionInfo;
  getSandbox(): Promise<unknown>;
  getToken(provider: never, options?: never): Promise<unknown>;
  requireAuth(provider: never, options?: never): never;
}

export type ToolModelOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: unknown }
  | { readonly type: "content"; readonly value: readonly ToolModelOutputPart[] };

export type ToolModelOutputPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly data: { readonly type: "data"; readonly data: string };
      readonly mediaType: string;
      readonly filename?: string;
    };

/** What a tool's approval policy may look at before the call runs. */
export interface ToolApprovalContext {
  readonly abortSignal: AbortSignal;
  readonly approvedTools: ReadonlySet<string>;
  readonly callId: string;
  readonly session: MemorySessionInfo;
  readonly toolInput?: unknown;
  readonly toolName: string;
}

export type ToolApprovalStatus =
  | undefined
  | boolean
  | "not-applicable"
  | "approved"
  | "denied"
  | "user-approval"
  | { readonly type: "not-applicable"; readonly reason?: never }
  | { readonly type: "user-approval"; readonly reason?: never }
  | { readonly type: "approved"; readonly reason?: string }
  | { readonly type: "denied"; readonly reason?: string };

type ToolApprovalPolicy = {
  policy(context: ToolApprovalContext): ToolApprovalStatus | Promise<ToolApprovalStatus>;
}["policy"];

/** Who answered an approval, and how. */
export interface ToolApprovalResponseContext {
  readonly request: { readonly callId: string; readonly requestId: string; readonly toolName: string };
  readonly response: { readonly decision: "approve" | "cancel"; readonly principal: Principal };
  readonly session: { readonly id: string; readonly initiator: Principal | null; readonly turn: SessionTurn };
}

type ToolApprovalResponseDecision =
  | { readonly status: "allowed" }
  | { readonly status: "rejected"; readonly reason: string };

type ToolApprovalResponsePolicy = {
  policy(context: ToolApprovalResponseContext): ToolApprovalResponseDecision | Promise<ToolApprovalResponseDecision>;
}["policy"];

/** When a person must agree before the tool runs. Passed through to the host. */
export type ToolApproval =
  | ToolApprovalPolicy
  | { readonly request: ToolApprovalPolicy; readonly response?: ToolApprovalResponsePolicy };

export interface MemoryTool {
  readonly description: string;
  /** A Standard Schema that can show itself as JSON Schema (zod 4, arktype); tools made for eve may give JSON Schema itself. */
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly approval?: ToolApproval;
  readonly toModelOutput?: (output: never) => ToolModelOutput | Promise<ToolModelOutput>;
  execute(input: never, context: MemoryToolContext): unknown;
}

export type MemoryToolSet = Readonly<Record<string, MemoryTool>>;

// --- The provider and the slot ---

/** When a provider is called, by the names of its handlers. */
export type MemoryPhase = "turn.started" | "turn.completed" | "compaction.requested" | "compaction.completed";

/** A host calls handlers without a receiver: never use `this`. */
export interface MemoryProvider {
  readonly recall: {
    "turn.started"(context: MemoryTurnContext): MemoryRecallResult | Promise<MemoryRecallResult>;
    "compaction.completed"?(
      context: MemoryCompactionCompletedContext,
    ): MemoryRecallResult | Promise<MemoryRecallResult>;
  };
  readonly capture?: {
    "compaction.requested"?(context: MemoryCompactionRequestedContext): void | Promise<void>;
    "turn.completed"?(context: MemoryTurnContext): void | Promise<void>;
  };
  /** Called at turn start and again for every use of a tool: cheap, free of side effects, same keys each time. */
  tools?(context: MemoryToolsContext): Promise<MemoryToolSet | null>;
}

/** Whether records recalled for an earlier scope stay visible when the scope changes within a session. */
export type MemoryVisibility = "scope" | "session";

export interface MemoryDefinition {
  /** Put before each tool's description: what belongs in this slot. */
  readonly description?: string;
  /** The domain the scope lives in. Absent: one made from the deployment and the slot. `null` turns the slot off. */
  readonly namespace?: MemoryNamespaceDefinition;
  readonly provider: MemoryProvider;
  /** Who or what shares this slot's memory. `null` turns the slot off. */
  readonly scope: MemoryScopeDefinition;
  readonly visibility?: MemoryVisibility;
}
