/** The options of file memory, checked once at construction. */
import {
  type Clock,
  type Duration,
  type MemoryDocumentBackend,
  MemoryError,
  type MemoryEventListener,
  parseDuration,
  systemClock,
} from "@keepsake/core";
import { defaultSecretPolicy, type SecretPolicy } from "@keepsake/core/secrets";
import { z } from "zod";
import { defaultBackend } from "./backends/default.ts";

export interface FileMemoryOptions {
  /** Where documents are kept. Absent: Vercel Blob on Vercel, else files in a folder of this user's. */
  readonly backend?: MemoryDocumentBackend;
  /** The longest recalled message, frame included, in UTF-16 code units. Default 4,000. */
  readonly maxCharacters?: number | null;
  readonly clock?: Clock;
  /** Time for one operation, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** How long a repeated tool call is recognised as the same. Default `"24h"`. */
  readonly idempotencyWindow?: Duration;
  /** What must not be remembered. Default: all built-in rules. */
  readonly secrets?: SecretPolicy;
  readonly onEvent?: MemoryEventListener;
}

export interface FileMemorySettings {
  readonly backend: MemoryDocumentBackend;
  readonly maxCharacters: number;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly idempotencyWindowMs: number;
  readonly secrets: SecretPolicy;
  readonly onEvent: MemoryEventListener | undefined;
}

const schema = z.strictObject({
  backend: z
    .custom<MemoryDocumentBackend>((value) => isFunction(value, "read") && isFunction(value, "write"))
    .optional(),
  maxCharacters: z.int().positive().nullish(),
  clock: z.custom<Clock>((value) => isFunction(value, "now")).optional(),
  timeoutMs: z.number().positive().optional(),
  idempotencyWindow: z.union([z.string(), z.number()]).optional(),
  secrets: z.custom<SecretPolicy>((value) => Array.isArray(member(value, "rules"))).optional(),
  onEvent: z.custom<MemoryEventListener>((value) => typeof value === "function").optional(),
});

function isFunction(value: unknown, name: string): boolean {
  return typeof member(value, name) === "function";
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** @throws MemoryError `invalid_options`, naming the options that cannot be used. */
export function parseOptions(options: unknown): FileMemorySettings {
  const parsed = schema.safeParse(options);
  if (!parsed.success) {
    const names = parsed.error.issues.flatMap((issue) =>
      issue.code === "unrecognized_keys" ? issue.keys : issue.path.map(String),
    );
    throw new MemoryError(
      "invalid_options",
      `fileMemory() was given options it cannot use: ${[...new Set(names)].join(", ") || "they are not an object"}. ` +
        "maxCharacters is a positive whole number, timeoutMs a positive number, and a backend has read and write.",
    );
  }
  const { backend, maxCharacters, clock, timeoutMs, idempotencyWindow, secrets, onEvent } = parsed.data;
  return {
    backend: backend ?? defaultBackend(),
    maxCharacters: maxCharacters ?? 4_000,
    clock: clock ?? systemClock,
    timeoutMs: timeoutMs ?? 10_000,
    idempotencyWindowMs: parseDuration(idempotencyWindow ?? "24h", "idempotencyWindow"),
    secrets: secrets ?? defaultSecretPolicy,
    onEvent,
  };
}
