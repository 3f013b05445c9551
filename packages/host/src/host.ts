/** Memory slots, run turn by turn for any model loop. */
import {
  type Clock,
  type MemoryChannel,
  type MemoryDefinition,
  MemoryError,
  type MemoryEventListener,
  type Principal,
  systemClock,
} from "@keepsake/core";
import { defaultNamespace } from "./default-namespace.ts";
import { type HostCapabilities, hostCapabilities } from "./host-capabilities.ts";
import { MemorySession, type SessionState } from "./session.ts";
import { parseSlots } from "./slots.ts";
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
  readonly clock?: Clock;
  /** Makes session ids and ids for tool calls without one. Default: random UUIDs. */
  readonly randomId?: () => string;
}

export interface SessionOptions {
  /** The verified caller who opens the session. Absent or `null`: nobody is signed in. */
  readonly auth?: Principal | null;
  readonly channel?: MemoryChannel;
  /** Goes on with a session, in this process or another. */
  readonly state?: SessionState;
}

export interface MemoryHost {
  /** A new session, or one that goes on from its state. */
  session(options?: SessionOptions): MemorySession;
}

/**
 * A host for the given slots.
 * @throws MemoryError `invalid_definition` for a slot that cannot work.
 */
export function createMemoryHost(options: MemoryHostOptions): MemoryHost {
  const {
    slots,
    onEvent,
    appRoot = globalThis.process?.cwd?.() ?? "",
    node = "__root__",
    allowSharedPartitions = false,
    clock = systemClock,
    randomId = () => crypto.randomUUID(),
    ...capabilities
  } = options;
  const host: TurnHost = {
    slots: parseSlots(slots),
    onEvent,
    allowSharedPartitions,
    clock,
    randomId,
    capabilities: hostCapabilities(capabilities),
    application: { appRoot, node },
    defaultNamespace: (context) => defaultNamespace(context, globalThis.process?.env ?? {}),
  };
  return {
    session({ auth = null, channel = {}, state } = {}) {
      return new MemorySession(host, {
        auth,
        channel,
        state: state === undefined ? newState(randomId()) : check(state),
      });
    },
  };
}

function newState(sessionId: string): SessionState {
  return { version: 1, sessionId, nextSequence: 0, history: [] };
}

function check(state: SessionState): SessionState {
  if (state.version !== 1) {
    throw new MemoryError("unsupported_version", "This session state is of a version that is not known.");
  }
  const { sessionId, nextSequence, history } = state;
  if (typeof sessionId !== "string" || !Number.isSafeInteger(nextSequence) || !Array.isArray(history)) {
    throw new MemoryError("invalid_state", "This is not a session state.");
  }
  return state;
}
