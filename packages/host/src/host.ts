/** Memory slots, run turn by turn for any model loop. */
import {
  type Clock,
  checkOptions,
  type MemoryChannel,
  type MemoryDefinition,
  MemoryError,
  type MemoryEventListener,
  optionIs,
  type Principal,
  setBounded,
  systemClock,
} from "@keepsake/core";
import { defaultNamespace } from "./default-namespace.ts";
import { type HostCapabilities, hostCapabilities } from "./host-capabilities.ts";
import { checkPrincipal } from "./principal.ts";
import { readChannel } from "./schemas.ts";
import { MemorySession } from "./session.ts";
import { newSessionState, parseSessionState, type SessionState } from "./session-state.ts";
import { parseSlots } from "./slots.ts";
import type { MemoryTracer } from "./tracer.ts";
import type { TurnHost } from "./turn.ts";

export interface MemoryHostOptions extends Partial<HostCapabilities> {
  /** Slots by name. A name is a letter, then letters, digits, `_` or `-`, at most 64 characters. */
  readonly slots: Readonly<Record<string, MemoryDefinition>>;
  readonly onEvent?: MemoryEventListener;
  /** The application's root folder: part of the namespace of slots that name none. Default: the working directory. */
  readonly appRoot?: string;
  /** Which agent of the application this is. Default `"__root__"`. */
  readonly node?: string;
  /** Allows two slots with the same namespace and scope, for slots that keep their data in different stores. */
  readonly allowSharedPartitions?: boolean;
  /** Watches the calls of providers: `openTelemetryTracer()` of `@keepsake/host/opentelemetry`. Default: nobody does. */
  readonly tracer?: MemoryTracer;
  readonly clock?: Clock;
  /** Makes session ids and ids for tool calls without one. Default: random UUIDs. */
  readonly randomId?: () => string;
}

export interface SessionOptions {
  /** The verified caller. Left out, `null` and `undefined` are nobody. */
  readonly auth?: Principal | null | undefined;
  readonly channel?: MemoryChannel | undefined;
  /** The model that is spoken to, which providers may want to know. */
  readonly modelId?: string | undefined;
  /** Only to go on with a session: its id, which the host made. Never without the `state`. */
  readonly id?: string | undefined;
  /** Goes on with a session, in this process or another. */
  readonly state?: SessionState | undefined;
}

export interface MemoryHost {
  /**
   * A new session, or one that goes on from its state.
   * @throws MemoryError `invalid_state` for a known id without its state, and for a state that is none.
   */
  session(options?: SessionOptions): MemorySession;
}

/** Enough to find out that ids are not random. */
const maxRecentIds = 1_000;

/**
 * A host for the given slots.
 * @throws MemoryError `invalid_definition` for a slot that cannot work.
 */
export function createMemoryHost(options: MemoryHostOptions): MemoryHost {
  checkOptions("createMemoryHost()", options, {
    slots: (value) => value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(Object(value))),
    onEvent: optionIs.callable,
    appRoot: (value) => typeof value === "string",
    node: optionIs.text,
    allowSharedPartitions: optionIs.flag,
    clock: optionIs.clock,
    tracer: optionIs.having("trace"),
    randomId: optionIs.callable,
    getSandbox: optionIs.callable,
    getToken: optionIs.callable,
    requireAuth: optionIs.callable,
  });
  const {
    slots,
    onEvent,
    appRoot,
    node = "__root__",
    allowSharedPartitions = false,
    tracer,
    clock = systemClock,
    randomId = () => crypto.randomUUID(),
    ...capabilities
  } = options;
  if (slots === undefined) throw new MemoryError("invalid_options", "createMemoryHost() needs slots.");
  const host: TurnHost = {
    slots: parseSlots(slots),
    onEvent,
    tracer,
    allowSharedPartitions,
    clock,
    randomId,
    capabilities: hostCapabilities(capabilities),
    application: {
      node,
      // Asked for only where a namespace is made of it: the working directory may be gone.
      get appRoot() {
        return appRoot ?? globalThis.process?.cwd?.() ?? "";
      },
    },
    defaultNamespace: (context) => defaultNamespace(context, globalThis.process?.env ?? {}),
  };
  const recentIds = new Map<string, true>();
  return {
    session(sessionOptions = {}) {
      checkOptions("session()", sessionOptions, {
        auth: () => true, // checked as a caller
        channel: (value) => readChannel(value) !== undefined,
        modelId: optionIs.text,
        id: optionIs.text,
        state: () => true, // checked as a state
      });
      const { auth, channel = {}, modelId, id, state } = sessionOptions;
      const caller = checkPrincipal(auth ?? null);
      return new MemorySession(host, {
        caller,
        channel: readChannel(channel) ?? {},
        modelId,
        state: state === undefined ? newSessionState(newSessionId(id), caller) : stateOf(state, id),
      });
    },
  };

  /** A session that began anew under a known id would repeat the ids of its operations, and lose what it then captures. */
  function newSessionId(known: string | undefined): string {
    if (known !== undefined) {
      throw new MemoryError(
        "invalid_state",
        "A session goes on from its state. The ids of new ones are the host's to make.",
      );
    }
    const id: unknown = randomId();
    if (typeof id !== "string" || id === "") {
      throw new MemoryError("invalid_options", "randomId() must answer text that is not empty.");
    }
    if (recentIds.has(id)) {
      throw new MemoryError("invalid_state", "randomId() answered the id of another session.");
    }
    setBounded(recentIds, id, true, maxRecentIds);
    return id;
  }
}

function stateOf(state: SessionState, id: string | undefined): SessionState {
  const checked = parseSessionState(state);
  if (id === undefined || id === checked.sessionId) return checked;
  throw new MemoryError("invalid_state", "This state is of another session than the id.");
}
