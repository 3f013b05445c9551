/**
 * Messages as the AI SDK (`ai` 7) shapes them, written out so that a provider needs no model library. A type test holds
 * them against the real package in both directions.
 */

type JsonValue = null | string | number | boolean | Readonly<JsonObject> | readonly JsonValue[];
type JsonObject = { [key: string]: JsonValue | undefined };
type DataContent = string | Uint8Array | ArrayBuffer;
type ProviderReference = Record<string, string> & { type?: never };
type ProviderOptions = Record<string, JsonObject>;
interface WithProviderOptions {
  providerOptions?: ProviderOptions;
}

type InlineFileData = { type: "data"; data: DataContent };
type UrlFileData = { type: "url"; url: URL; originalUrl?: string };
type FileData =
  | InlineFileData
  | UrlFileData
  | { type: "reference"; reference: ProviderReference }
  | { type: "text"; text: string };

export interface TextPart extends WithProviderOptions {
  type: "text";
  text: string;
}
interface ImagePart extends WithProviderOptions {
  type: "image";
  image: DataContent | URL | ProviderReference;
  mediaType?: string;
}
interface FilePart extends WithProviderOptions {
  type: "file";
  data: FileData | DataContent | URL | ProviderReference;
  filename?: string;
  mediaType: string;
}
interface ReasoningPart extends WithProviderOptions {
  type: "reasoning";
  text: string;
}
interface ReasoningFilePart extends WithProviderOptions {
  type: "reasoning-file";
  data: InlineFileData | UrlFileData | DataContent | URL;
  mediaType: string;
}
interface CustomPart extends WithProviderOptions {
  type: "custom";
  kind: `${string}.${string}`;
}
interface ToolCallPart extends WithProviderOptions {
  type: "tool-call";
  toolCallId: string;
  toolName: string;
  input: unknown;
  providerExecuted?: boolean;
}
interface ToolResultPart extends WithProviderOptions {
  type: "tool-result";
  toolCallId: string;
  toolName: string;
  output: ToolResultOutput;
}
type ToolResultOutput =
  | ({ type: "text" | "error-text"; value: string } & WithProviderOptions)
  | ({ type: "json" | "error-json"; value: JsonValue } & WithProviderOptions)
  | ({ type: "execution-denied"; reason?: string } & WithProviderOptions)
  | ({ type: "content"; value: Array<ToolResultContentPart> } & WithProviderOptions);
type ToolResultContentPart = WithProviderOptions &
  (
    | { type: "text"; text: string }
    | { type: "file"; data: FileData; mediaType: string; filename?: string }
    | { type: "file-data"; data: string; mediaType: string; filename?: string }
    | { type: "file-url"; url: string; mediaType?: string }
    | { type: "file-id"; fileId: string | Record<string, string> }
    | { type: "file-reference"; providerReference: ProviderReference }
    | { type: "image-data"; data: string; mediaType: string }
    | { type: "image-url"; url: string }
    | { type: "image-file-id"; fileId: string | Record<string, string> }
    | { type: "image-file-reference"; providerReference: ProviderReference }
    | { type: "custom" }
  );
type ToolApprovalRequest = {
  type: "tool-approval-request";
  approvalId: string;
  toolCallId: string;
  reason?: string;
  isAutomatic?: boolean;
  signature?: string;
  inputSchemaInput?: unknown;
};
type ToolApprovalResponse = {
  type: "tool-approval-response";
  approvalId: string;
  approved: boolean;
  reason?: string;
  providerExecuted?: boolean;
};

export interface SystemModelMessage extends WithProviderOptions {
  role: "system";
  content: string;
}
export interface UserModelMessage extends WithProviderOptions {
  role: "user";
  content: UserContent;
}
export interface AssistantModelMessage extends WithProviderOptions {
  role: "assistant";
  content:
    | string
    | Array<
        | TextPart
        | CustomPart
        | FilePart
        | ReasoningPart
        | ReasoningFilePart
        | ToolCallPart
        | ToolResultPart
        | ToolApprovalRequest
      >;
}
export interface ToolModelMessage extends WithProviderOptions {
  role: "tool";
  content: Array<ToolResultPart | ToolApprovalResponse>;
}
export type UserContent = string | Array<TextPart | ImagePart | FilePart>;
export type ModelMessage = SystemModelMessage | UserModelMessage | AssistantModelMessage | ToolModelMessage;

/**
 * What a user-role message in a provider's `messages` is. Absent or `user` is what a person said; `memory.load` is
 * recalled memory, of any slot; the rest is the host speaking.
 */
export type MessageKind =
  | "user"
  | "memory.load"
  | "context.instruction"
  | "context.state"
  | "context.compaction"
  | "execution.continuation"
  | "execution.retry"
  | "task.result";

/** A message's kind, or `undefined` where it carries none. */
export function messageKind(message: ModelMessage): string | undefined {
  const kind: unknown = Reflect.get(message, "kind");
  return typeof kind === "string" ? kind : undefined;
}

/** The text parts of a message, joined by newlines; empty for a message without text. */
export function messageText(message: ModelMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Whether a person said it: user role, and of kind `user` or without one. */
export function isUserMessage(message: ModelMessage): message is UserModelMessage {
  const kind = messageKind(message);
  return message.role === "user" && (kind === undefined || kind === "user");
}
