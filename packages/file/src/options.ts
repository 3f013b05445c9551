/** The options of file memory, checked once at construction. */
import {
  type Clock,
  checkOptions,
  type MemoryDocumentBackend,
  type MemoryEventListener,
  optionIs,
  systemClock,
} from "@keepsake/core";
import { defaultSecretPolicy, type SecretPolicy } from "@keepsake/core/secrets";
import { defaultBackend } from "./backends/default.ts";
import { minCharacters } from "./recall.ts";

export interface FileMemoryOptions {
  /** Where documents are kept. Absent: Vercel Blob on Vercel, else files in a folder of this user's. */
  readonly backend?: MemoryDocumentBackend;
  /** The longest recalled message, frame included, in UTF-16 code units. Default 4,000, at least 160. */
  readonly maxCharacters?: number | null;
  readonly clock?: Clock;
  /** Time for one operation, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
  /** What must not be remembered. Default: all built-in rules. */
  readonly secrets?: SecretPolicy;
  readonly onEvent?: MemoryEventListener;
}

export interface FileMemorySettings {
  readonly backend: MemoryDocumentBackend;
  readonly maxCharacters: number;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly secrets: SecretPolicy;
  readonly onEvent: MemoryEventListener | undefined;
}

/** @throws MemoryError `invalid_options`, naming the options that cannot be used. */
export function parseOptions(options: FileMemoryOptions): FileMemorySettings {
  checkOptions("fileMemory()", options, {
    backend: optionIs.having("read", "write"),
    maxCharacters: (value) => value === null || (Number.isSafeInteger(value) && Number(value) >= minCharacters),
    clock: optionIs.clock,
    timeoutMs: optionIs.positive,
    secrets: (policy) => Array.isArray(Object(policy).rules) && Object(policy).rules.every(optionIs.having("find")),
    onEvent: optionIs.callable,
  });
  const { backend, maxCharacters, clock, timeoutMs, secrets, onEvent } = options;
  return {
    backend: backend ?? defaultBackend(),
    maxCharacters: maxCharacters ?? 4_000,
    clock: clock ?? systemClock,
    timeoutMs: timeoutMs ?? 10_000,
    secrets: secrets ?? defaultSecretPolicy,
    onEvent,
  };
}
