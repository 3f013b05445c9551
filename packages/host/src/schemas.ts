/**
 * What comes from outside, checked once where it comes in. What is read is built anew, member by member, so that nobody who
 * holds the original can change it; messages are checked as a later process will have to read them.
 */
import type { MemoryChannel, MemoryScopeContext, ModelMessage, Principal, UserContent } from "@keepsake/core";
import { z } from "zod";
import { frozenCopy } from "./frozen-copy.ts";
import type { SessionState } from "./session-state.ts";

const text = z.string().min(1);

const principalSchema = z.object({
  principalType: z.string(),
  authenticator: z.string(),
  principalId: z.string(),
  issuer: z.string().optional(),
  subject: z.string().optional(),
  attributes: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
});

const contentSchema = z.union([z.string(), z.array(z.looseObject({ type: text }))]);

const messageSchema = z.looseObject({
  role: z.enum(["user", "assistant", "tool"]),
  content: contentSchema,
  kind: text.optional(),
});

const answerMessageSchema = z.looseObject({
  role: z.enum(["assistant", "tool"]),
  content: contentSchema,
  kind: z.undefined().optional(), // the host's to give
});

const channelSchema = z.object({
  kind: z.string().optional(),
  continuationToken: z.string().optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const conversationSchema = z.object({
  id: z.string().optional(),
  space: z.object({ type: z.string(), id: z.string() }).optional(),
});

const turnStateSchema = z.strictObject({
  sequence: z.int().min(0),
  caller: principalSchema.nullable(),
  input: z.array(messageSchema),
  locks: z.array(z.strictObject({ slot: text, namespace: text, scope: z.union([text, z.array(text).min(1)]) })),
  compactions: z.int().min(0),
  open: z
    .strictObject({
      recalled: z.record(z.string(), text),
      answered: z.strictObject({ messages: z.int().min(0), digest: text }).optional(),
    })
    .optional(),
});

const sessionStateSchema = z
  .strictObject({
    version: z.literal(1),
    sessionId: text,
    initiator: principalSchema.nullable(),
    nextSequence: z.int().min(0),
    turn: turnStateSchema.nullable(),
    history: z.array(
      z.strictObject({
        message: messageSchema,
        record: z.strictObject({ slot: text, namespaceKey: text, scopeKey: text, itemKey: text.optional() }).optional(),
      }),
    ),
  })
  // Numbers that do not fit would give later operations the ids of earlier ones.
  .refine(({ turn, nextSequence }) => turn === null || turn.sequence < nextSequence)
  .refine(({ turn, nextSequence }) => turn?.open === undefined || turn.sequence === nextSequence - 1);

/** A caller as the application's authentication gives one, or `undefined` for what is none. */
export function readPrincipal(value: unknown): Principal | undefined {
  return read(principalSchema, value) as Principal | undefined;
}

export function readChannel(value: unknown): MemoryChannel | undefined {
  return read(channelSchema, value) as MemoryChannel | undefined;
}

export function readConversation(value: unknown): MemoryScopeContext["conversation"] {
  return read(conversationSchema, value) as MemoryScopeContext["conversation"];
}

/** Text, or a list of parts that each say their type. */
export function readContent(value: unknown): string | UserContent | undefined {
  return typeof value === "string" ? value : (read(contentSchema, value) as UserContent | undefined);
}

/** A message of an assistant or a tool, as a model loop adds it. */
export function readAnswerMessage(value: unknown): ModelMessage | undefined {
  return read(answerMessageSchema, value) as ModelMessage | undefined;
}

export function readSessionState(value: unknown): SessionState | undefined {
  return read(sessionStateSchema, value) as SessionState | undefined;
}

function read(schema: z.ZodType, value: unknown): unknown {
  const { success, data } = schema.safeParse(value);
  return success ? frozenCopy(data) : undefined;
}
