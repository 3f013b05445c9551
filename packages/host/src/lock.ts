/** Which scope a slot works on for one turn. Settled before any provider is called, and unchanged until the turn ends. */
import { MemoryError, type MemoryNamespaceContext, type MemoryScopeContext } from "@keepsake/core";
import { namespaceKey, scopeKey } from "@keepsake/core/keys";
import type { Slot, SlotLock } from "./slots.ts";
import { emit, type Turn, unlessAborted } from "./turn.ts";

/** A slot that is off for the turn, because its scope or namespace is `null`. */
interface DisabledSlot {
  readonly slot: Slot;
  readonly resolver: "scope" | "namespace";
}

/**
 * Resolves the scope first, and the namespace only when there is a scope. `null` from either turns the slot off.
 * @throws MemoryError `scope_failed` when a resolver throws, `invalid_scope` for what it may not answer.
 */
async function lockSlot(turn: Turn, slot: Slot): Promise<SlotLock | DisabledSlot> {
  const { definition, name } = slot;
  const value = await resolve(slot, definition.scope, scopeContext(turn));
  if (value === null) return { slot, resolver: "scope" };
  const namespaceContext: MemoryNamespaceContext = { ...turn.host.application, slot: name };
  const namespace =
    definition.namespace === undefined
      ? turn.host.defaultNamespace(namespaceContext)
      : await resolve(slot, definition.namespace, namespaceContext);
  if (namespace === null) return { slot, resolver: "namespace" };
  return slotLock(slot, namespace, value);
}

/**
 * A slot on the scope that it works on.
 * @throws MemoryError `invalid_scope` for a namespace or scope that cannot be one.
 */
export function slotLock(slot: Slot, namespace: string, value: string | readonly string[]): SlotLock {
  const { name, definition } = slot;
  try {
    const key = scopeKey({ namespace, scope: value });
    const scope = Object.freeze({
      key,
      namespace,
      value: typeof value === "string" ? value : Object.freeze([...value]),
    });
    return { slot, scope, namespaceKey: namespaceKey(namespace), visibility: definition.visibility ?? "scope" };
  } catch (error) {
    if (!MemoryError.isInstance(error)) throw error;
    throw new MemoryError(error.code, `Memory slot "${name}": ${error.message}`, { slot: name });
  }
}

/** The locks of all slots that are on for this turn. An event tells of each that is off, without saying why. */
export async function lockAll(turn: Turn): Promise<readonly SlotLock[]> {
  const { slots, allowSharedPartitions } = turn.host;
  const resolved = await unlessAborted(turn, () => Promise.all(slots.map((slot) => lockSlot(turn, slot))));
  const locks = resolved.filter((lock) => "scope" in lock);
  for (const lock of resolved) {
    if ("resolver" in lock) emit(turn, { code: "slot_disabled", slot: lock.slot.name, resolver: lock.resolver });
  }
  if (!allowSharedPartitions) refuseSharedPartitions(locks);
  return locks;
}

/** Made anew for each slot, and frozen: a resolver that changed it would move another slot to another scope. */
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

async function resolve<C, R>(slot: Slot, given: R | ((context: C) => R | Promise<R>), context: C): Promise<R> {
  if (!isResolver(given)) return given;
  try {
    return await given(context);
  } catch (cause) {
    throw new MemoryError("scope_failed", `Memory slot "${slot.name}" could not resolve its scope or namespace.`, {
      slot: slot.name,
      cause,
    });
  }
}

function isResolver<C, R>(given: R | ((context: C) => R | Promise<R>)): given is (context: C) => R | Promise<R> {
  return typeof given === "function";
}
