/** What a session is between turns, as plain JSON that its caller keeps. */
import { MemoryError, type Principal } from "@keepsake/core";
import { z } from "zod";
import { frozenCopy } from "./frozen-copy.ts";
import type { History } from "./history.ts";

/** A session between turns. Another process goes on from it. Nobody can change one that a session has given out. */
export interface SessionState {
  readonly version: 1;
  readonly sessionId: string;
  /** Who opened the session. */
  readonly initiator: Principal | null;
  /** The number of the next turn. */
  readonly nextSequence: number;
  readonly history: History;
}

export function newSessionState(sessionId: string, initiator: Principal | null): SessionState {
  return { version: 1, sessionId, initiator, nextSequence: 0, history: [] };
}

const text = z.string().min(1);
const schema = z.strictObject({
  version: z.literal(1),
  sessionId: text,
  initiator: z
    .object({
      principalType: z.string(),
      authenticator: z.string(),
      principalId: z.string(),
      issuer: z.string().optional(),
      subject: z.string().optional(),
      attributes: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
    })
    .nullable(),
  nextSequence: z.int().min(0),
  history: z.array(
    z.strictObject({
      message: z.looseObject({
        role: z.enum(["user", "assistant", "tool"]),
        content: z.union([z.string(), z.array(z.looseObject({ type: text }))]),
        kind: text.optional(),
      }),
      record: z.strictObject({ slot: text, namespaceKey: text, scopeKey: text, itemKey: text.optional() }).optional(),
    }),
  ),
});

/**
 * Checks a state that comes from outside. Whoever can write it can write its history: keep it where callers cannot.
 * @throws MemoryError `unsupported_version`, or `invalid_state` for what no session has given out.
 */
export function parseSessionState(state: unknown): SessionState {
  const version: unknown = Reflect.get(Object(state), "version");
  if (typeof version === "number" && version !== 1) {
    throw new MemoryError("unsupported_version", "This session state is of a version that is not known.");
  }
  if (!schema.safeParse(state).success) throw new MemoryError("invalid_state", "This is not a session state.");
  return frozenCopy(state as SessionState); // checked; parts of messages that only a model reads are kept as they are
}
