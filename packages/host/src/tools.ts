/** A slot's tools as a model loop uses them: under qualified names, checking their input, answering JSON. */
import {
  isDefinedTool,
  isStandardSchema,
  MemoryError,
  type MemoryTool,
  type MemoryToolContext,
  type MemoryToolSet,
  type ModelMessage,
  parseToolInput,
  type StandardSchema,
  type ToolModelOutput,
} from "@keepsake/core";
import type { HostCapabilities } from "./host-capabilities.ts";
import { jsonSchemaInput } from "./json-schema-input.ts";
import type { Slot } from "./slots.ts";
import type { TracedCall } from "./tracer.ts";

/** What a loop may say about one call. The AI SDK says all of it; a plain loop may say nothing. */
export interface ToolCallOptions {
  /** The model's id for this call. With it, a repeated call acts once. */
  readonly toolCallId?: string;
  readonly messages?: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

/** A tool in the shape that the AI SDK takes as it is, and a plain loop calls by hand or through `runTool`. */
export interface TurnTool {
  readonly description: string;
  readonly inputSchema: ToolInputSchema;
  /** @throws MemoryError `invalid_input`, or whatever the tool throws: tell the model, the turn goes on. */
  readonly execute: (input: unknown, options?: ToolCallOptions) => Promise<JsonValue>;
  readonly toModelOutput?: (result: { readonly output: JsonValue }) => Promise<TurnToolOutput>;
  /** Aborts when the turn is given up. */
  readonly turnSignal: AbortSignal;
  readonly needsApproval?: (input: unknown, options: { readonly toolCallId: string }) => Promise<boolean>;
}

export type TurnTools = Readonly<Record<string, TurnTool>>;

/** A Standard Schema that can also show itself as JSON Schema: what a model is told, and what input is checked against. */
export interface ToolInputSchema extends StandardSchema {
  readonly "~standard": StandardSchema["~standard"] & {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => Record<string, unknown>;
      readonly output: (options: { readonly target: string }) => Record<string, unknown>;
    };
  };
}

export type JsonValue = null | string | number | boolean | JsonValue[] | { [key: string]: JsonValue };
/** What the model is shown instead of the whole answer, in the AI SDK's shape. */
export type TurnToolOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: JsonValue }
  | { type: "content"; value: Extract<ToolModelOutput, { type: "content" }>["value"][number][] };

/** What the tools of one slot share in one turn. */
export interface ToolUse {
  readonly session: MemoryToolContext["session"];
  readonly messages: readonly ModelMessage[];
  readonly capabilities: HostCapabilities;
  readonly newCallId: () => string;
  /** Runs a call until it settles, or the turn or the caller gives up. */
  readonly run: (
    call: Required<Pick<TracedCall, "toolName" | "toolDescription" | "callId" | "input">>,
    operation: (signal: AbortSignal) => Promise<JsonValue>,
    callerSignal?: AbortSignal,
  ) => Promise<JsonValue>;
  readonly turnSignal: AbortSignal;
}

const toolName = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

/**
 * Qualifies a slot's tools as `<slot>__<tool>` and puts the slot's description before each one's own.
 * @throws MemoryError `invalid_tools` when any tool of the slot cannot be offered: then none is.
 */
export function qualifyTools(slot: Slot, tools: MemoryToolSet | null | undefined, context: ToolUse): TurnTools {
  const refuse = (problem: string): never => {
    throw new MemoryError("invalid_tools", `Memory slot "${slot.name}": ${problem}.`, { slot: slot.name });
  };
  if (tools === null) return {};
  if (typeof tools !== "object" || Array.isArray(tools)) return refuse("tools() must answer a map of tools or null");
  const qualified: Record<string, TurnTool> = {};
  for (const [key, tool] of Object.entries(tools)) {
    const name = `${slot.name}__${key}`;
    if (!toolName.test(name)) {
      return refuse("a tool's qualified name must have at most 64 ASCII letters, digits, underscores and dashes");
    }
    if (!isDefinedTool(tool)) return refuse(`tool "${name}" must be made with defineTool()`);
    qualified[name] = qualifyTool(name, slot.definition.description, tool, context);
  }
  return qualified;
}

function qualifyTool(name: string, slotDescription: string | undefined, tool: MemoryTool, use: ToolUse): TurnTool {
  const { description, toModelOutput, approval } = tool;
  const inputSchema = asInputSchema(tool.inputSchema, name);
  const statusOf = approval === undefined ? undefined : approvalStatus(approval, name, use);
  const execute = async (input: unknown, options: ToolCallOptions = {}): Promise<JsonValue> => {
    const callId = options.toolCallId ?? use.newCallId();
    const call = { toolName: name, toolDescription: description, callId, input: () => input };
    const operation = async (abortSignal: AbortSignal): Promise<JsonValue> => {
      const parsed = await parseToolInput(inputSchema, input);
      if ((await statusOf?.(parsed, callId)) === "denied") {
        throw new MemoryError("denied", "The tool's own policy denies this call.");
      }
      const { session, capabilities } = use;
      const messages = options.messages ?? [...use.messages];
      const context: MemoryToolContext = { ...capabilities, session, abortSignal, messages, callId, toolName: name };
      return toJson(await tool.execute(parsed as never, context), name);
    };
    return use.run(call, operation, options.abortSignal);
  };
  return {
    description: slotDescription === undefined ? description : `${slotDescription}\n\n${description}`,
    inputSchema,
    turnSignal: use.turnSignal,
    execute,
    ...(toModelOutput && {
      toModelOutput: async ({ output }) => toPlainOutput(await toModelOutput(output as never), name),
    }),
    ...(statusOf && { needsApproval: approvalNeed(inputSchema, statusOf) }),
  };
}

type StatusOf = (toolInput: unknown, callId: string) => Promise<string | boolean | undefined>;

/** What is not plainly allowed, a person decides; what is denied fails when it runs, for everybody. */
function approvalNeed(inputSchema: ToolInputSchema, statusOf: StatusOf): NonNullable<TurnTool["needsApproval"]> {
  return async (input, { toolCallId }) => {
    const parsed = await parseToolInput(inputSchema, input).then(
      (value) => ({ value }),
      () => undefined, // nobody is asked about a call that will be refused for its input
    );
    if (parsed === undefined) return false;
    const status = await statusOf(parsed.value, toolCallId);
    return ![undefined, false, "approved", "not-applicable", "denied"].includes(status);
  };
}

/** What a tool's own policy says of a call. */
function approvalStatus(
  approval: NonNullable<MemoryTool["approval"]>,
  toolName: string,
  { session, turnSignal: abortSignal }: ToolUse,
): StatusOf {
  const policy = approvalPolicy(approval, toolName);
  return async (toolInput, callId) => {
    const approvedTools = new Set<string>();
    const status = await policy({ abortSignal, approvedTools, callId, session, toolInput, toolName });
    return typeof status === "object" ? status.type : status;
  };
}

/** A provider may show its input as JSON Schema alone; then it is checked against that. */
function asInputSchema(schema: unknown, name: string): ToolInputSchema {
  if (isStandardSchema(schema)) {
    if (typeof schema["~standard"].jsonSchema?.input === "function") return schema as ToolInputSchema;
    throw new MemoryError("invalid_tools", `Tool "${name}" has an inputSchema that cannot be shown as JSON Schema.`);
  }
  try {
    return jsonSchemaInput(schema);
  } catch (cause) {
    throw new MemoryError("invalid_tools", `Tool "${name}" has an inputSchema that cannot be used as JSON Schema.`, {
      cause,
    });
  }
}

function approvalPolicy(approval: NonNullable<MemoryTool["approval"]>, name: string) {
  if (typeof approval === "function") return approval;
  if (approval.response !== undefined) {
    throw new MemoryError("invalid_tools", `Tool "${name}" judges who approves it, which this host cannot ask.`);
  }
  return approval.request;
}

function toPlainOutput(output: ToolModelOutput, name: string): TurnToolOutput {
  if (output.type === "text") return { type: "text", value: output.value };
  if (output.type === "content") return { type: "content", value: [...output.value] };
  return { type: "json", value: toJson(output.value, name) };
}

function toJson(value: unknown, name: string): JsonValue {
  const isStream = typeof value === "object" && value !== null && Symbol.asyncIterator in value;
  try {
    const text = isStream ? undefined : JSON.stringify(value ?? null);
    if (text !== undefined) return JSON.parse(text) as JsonValue;
  } catch {
    // cyclic, or holding what JSON cannot
  }
  throw new MemoryError("invalid_tools", `Tool "${name}" answered with something that is not JSON.`);
}
