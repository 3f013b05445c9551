/**
 * One error class for everything Keepsake throws on purpose. Its message, cause and fields never hold memory text, scope
 * values, credentials, or a request's or response's body.
 */

/** Stable codes. `design/error-codes.json` says what each means; codes are only ever added. */
export const memoryErrorCodes = [
  "invalid_definition",
  "invalid_options",
  "invalid_scope",
  "invalid_input",
  "invalid_recall",
  "invalid_tools",
  "invalid_state",
  "invalid_export",
  "limit_exceeded",
  "secret_refused",
  "partition_shared",
  "scope_failed",
  "recall_failed",
  "compaction_failed",
  "replay_diverged",
  "conflict",
  "corrupt_store",
  "unsupported_version",
  "backend_failed",
  "timeout",
  "unsupported",
  "denied",
  "not_configured",
] as const;

export type MemoryErrorCode = (typeof memoryErrorCodes)[number];

/** What may be known of an underlying error without knowing its text. */
export interface SanitizedCause {
  readonly name: string;
  readonly code?: string;
  readonly status?: number;
}

export interface MemoryErrorOptions {
  /** Whether the same call can succeed later without a change. Defaults to `false`. */
  readonly retryable?: boolean;
  /** The underlying error. Only its name, code and status are kept. */
  readonly cause?: unknown;
  readonly slot?: string;
  /** Ids of the secret rules that matched. */
  readonly ruleIds?: readonly string[];
}

const marker = Symbol.for("keepsake:memory-error");

/** Every typed error of Keepsake. Branch on `code`, never on the message. */
export class MemoryError extends Error {
  readonly code: MemoryErrorCode;
  readonly retryable: boolean;
  declare readonly cause?: SanitizedCause;
  declare readonly slot?: string;
  declare readonly ruleIds?: readonly string[];

  constructor(code: MemoryErrorCode, message: string, options: MemoryErrorOptions = {}) {
    super(message);
    this.name = "MemoryError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    if (options.cause !== undefined) this.cause = sanitizeCause(options.cause);
    if (options.slot !== undefined) this.slot = options.slot;
    if (options.ruleIds !== undefined) this.ruleIds = options.ruleIds;
    Object.defineProperty(this, marker, { value: true });
  }

  /** Recognises errors of any copy of this package. Subclasses answer for themselves. */
  static isInstance(error: unknown): error is MemoryError {
    return typeof error === "object" && error !== null && readProperty(error, marker) === true;
  }
}

// Names and codes as programs write them. Anything else may be a value that someone put into an error.
const errorName = /^[A-Z][A-Za-z]{0,40}(?:Error|Exception|Failure|Rejection)$|^Error$/;
const errorCode = /^E[A-Z0-9]{2,15}$|^[A-Z]{2,16}(?:_[A-Z0-9]{1,16}){1,6}$|^[a-z]{2,16}(?:_[a-z]{1,16}){0,6}$/;

/** Keeps an error's name, code and status; drops message, stack and everything else. */
export function sanitizeCause(error: unknown): SanitizedCause {
  if (typeof error !== "object" || error === null) return { name: typeof error };
  const name = readProperty(error, "name");
  const code = readProperty(error, "code");
  const status = readProperty(error, "status") ?? readProperty(error, "statusCode");
  return {
    name: typeof name === "string" && errorName.test(name) ? name : "Error",
    ...(typeof code === "string" && errorCode.test(code) ? { code } : {}),
    ...(Number.isInteger(status) && Number(status) >= 100 && Number(status) <= 599 ? { status: Number(status) } : {}),
  };
}

/** Whether an error says of itself that the same call can succeed later. */
export function isRetryable(error: unknown): boolean {
  return MemoryError.isInstance(error) && readProperty(error, "retryable") === true;
}

/** A property, or `undefined` where reading it throws. */
export function readProperty(value: object, key: PropertyKey): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined; // a hostile getter
  }
}
