/** Which scope a slot works on for one turn. Settled before any provider is called, and unchanged until the turn ends. */
import { MemoryError, type MemoryNamespaceContext, type MemoryScopeContext, setBounded } from "@keepsake/core";
import { namespaceKey, scopeKey } from "@keepsake/core/keys";
import type { Slot, SlotLock } from "./slots.ts";
import { emit, type Turn, type TurnHost, unlessAborted } from "./turn.ts";

/** Per slot: enough for the people that one process serves at a time. */
const maxRecentLocks = 1_000;

/** A slot that is off for the turn, because its scope or namespace is `null`. */
interface DisabledSlot {
  readonly slot: Slot;
  readonly resolver: "scope" | "namespace";
}

/**
 * Resolves the scope first, and the namespace only when there is a scope. `null` from either turns the slot off.
 * @throws MemoryError `scope_failed` when a resolver throws, `invalid_scope` for what it may not answer.
 */
async function lockSlot(
  { application, defaultNamespace }: TurnHost,
  slot: Slot,
  scopeContext: MemoryScopeContext,
): Promise<SlotLock | DisabledSlot> {
  const { scope, namespace } = slot.definition;
  const value = typeof scope === "function" ? await resolve(slot, scope, scopeContext) : scope;
  if (value === null) return { slot, resolver: "scope" };
  if (typeof namespace === "string") return slotLock(slot, namespace, value);
  if (namespace === null) return { slot, resolver: "namespace" };
  const context: MemoryNamespaceContext = { ...application, slot: slot.name };
  const resolved = namespace === undefined ? defaultNamespace(context) : await resolve(slot, namespace, context);
  return resolved === null ? { slot, resolver: "namespace" } : slotLock(slot, resolved, value);
}

/**
 * A slot on the scope that it works on.
 * @throws MemoryError `invalid_scope` for a namespace or scope that cannot be one.
 */
export function slotLock(slot: Slot, namespace: string, given: string | readonly string[]): SlotLock {
  const { name, definition, recentLocks } = slot;
  const value = Array.isArray(given) ? Array.from(given) : given; // read once, whatever it is
  const spelling = spellingOf(namespace, value);
  const recent = spelling === undefined ? undefined : recentLocks.get(spelling);
  if (recent !== undefined) return recent;
  try {
    const key = scopeKey({ namespace, scope: value });
    const scope = Object.freeze({
      key,
      namespace,
      value: typeof value === "string" ? value : Object.freeze(value),
    });
    const visibility = definition.visibility ?? "scope";
    const state = Object.freeze({ slot: name, namespace, scope: scope.value });
    const lock: SlotLock = Object.freeze({ slot, scope, namespaceKey: namespaceKey(namespace), visibility, state });
    if (spelling !== undefined) setBounded(recentLocks, spelling, lock, maxRecentLocks);
    return lock;
  } catch (error) {
    if (!MemoryError.isInstance(error)) throw error;
    throw new MemoryError(error.code, `Memory slot "${name}": ${error.message}`, { slot: name });
  }
}

/** A text that no other namespace and scope share; `undefined` for what is not text through and through. */
function spellingOf(namespace: unknown, value: unknown): string | undefined {
  if (typeof namespace !== "string") return undefined;
  if (typeof value === "string") return `${namespace.length} ${namespace}${value}`;
  const isTuple = Array.isArray(value) && value.every((part) => typeof part === "string");
  return isTuple ? JSON.stringify([namespace, value]) : undefined;
}

/** The locks of all slots that are on for this turn. An event tells of each that is off, without saying why. */
export async function lockAll(turn: Turn): Promise<readonly SlotLock[]> {
  const { slots, allowSharedPartitions } = turn.host;
  const context = scopeContext(turn);
  const resolved = await unlessAborted(turn, () =>
    Promise.all(slots.map((slot) => lockSlot(turn.host, slot, context))),
  );
  const locks = resolved.filter((lock) => "scope" in lock);
  for (const lock of resolved) {
    if ("resolver" in lock) emit(turn, { code: "slot_disabled", slot: lock.slot.name, resolver: lock.resolver });
  }
  if (!allowSharedPartitions) refuseSharedPartitions(locks);
  return locks;
}

/** Frozen: a resolver that changed it would move another slot to another scope. */
function scopeContext(turn: Turn): MemoryScopeContext {
  return Object.freeze({
    abortSignal: turn.signal,
    session: Object.freeze({ id: turn.sessionId, auth: turn.auth }),
    channel: turn.channel,
    ...(turn.conversation === undefined ? {} : { conversation: turn.conversation }),
  });
}

/**
 * Two slots over one partition would overwrite each other's memory.
 * @throws MemoryError `partition_shared`
 */
function refuseSharedPartitions(locks: readonly SlotLock[]): void {
  const first = new Map<string, string>();
  for (const { slot, scope } of locks) {
    const other = first.get(scope.key);
    if (other !== undefined) {
      throw new MemoryError(
        "partition_shared",
        `Memory slots "${other}" and "${slot.name}" reach the same partition. Give them different namespaces, ` +
          "or set allowSharedPartitions if they keep their data in different stores.",
        { slot: slot.name },
      );
    }
    first.set(scope.key, slot.name);
  }
}

async function resolve<C, R>(slot: Slot, resolver: (context: C) => R | Promise<R>, context: C): Promise<R> {
  try {
    return await resolver(context);
  } catch (cause) {
    throw new MemoryError("scope_failed", `Memory slot "${slot.name}" could not resolve its scope or namespace.`, {
      slot: slot.name,
      cause,
    });
  }
}
