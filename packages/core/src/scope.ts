/**
 * Who shares a memory. Each helper reads verified session data and gives a scope, or `null` when any part of it is
 * missing: nothing ever widens. A helper of your own is one line: `(context) => context.session.auth.current?.subject ?? null`.
 */
import type { MemoryScopeContext, MemoryScopeResult, Principal } from "./contract.ts";
import { MemoryError } from "./errors.ts";

/** A scope that needs no waiting, so that helpers compose and are tested by a plain call. */
export type ScopeHelper = (context: MemoryScopeContext) => MemoryScopeResult;

/**
 * Each signed-in caller apart. The value is eve's, character for character. Anonymous and runtime callers, and a blank
 * principal id, give `null`; every local developer shares `local-dev`.
 */
export function byPrincipal(context: MemoryScopeContext): string | null {
  const principal = signedIn(context);
  if (principal === null) return null;
  if (principal.principalType === "local-dev") return "local-dev";
  if (isBlank(principal.principalId)) return null;
  return JSON.stringify([
    principal.principalType,
    principal.authenticator,
    principal.issuer ?? null,
    principal.principalId,
  ]);
}

/**
 * Everyone of one tenant together, by a verified attribute of the caller. An attribute with several values gives `null`.
 * The attribute's name is part of the scope: team `42` is not organisation `42`.
 */
export function byTenant(attribute = "tenantId"): ScopeHelper {
  if (isBlank(attribute)) throw new MemoryError("invalid_options", "byTenant() needs the name of an attribute.");
  return (context) => {
    const attributes = signedIn(context)?.attributes ?? {};
    return tagged("tenant", attribute, Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined);
  };
}

/** Everyone in one shared space, such as a channel or a team's document. A private or unknown place gives `null`. */
export function bySpace(context: MemoryScopeContext): readonly string[] | null {
  const space = context.conversation?.space;
  return space?.type === "shared" ? tagged("space", space.id) : null;
}

/** One conversation, by its id or, where the host has none, by its channel's handle for resuming it. */
export function byConversation(context: MemoryScopeContext): readonly string[] | null {
  const { conversation, channel } = context;
  if (!isBlank(conversation?.id)) return tagged("conversation", conversation?.id);
  return isBlank(channel?.kind) ? null : tagged("channel", channel.kind, channel.continuationToken);
}

/** One memory for every caller of the slot. Written out, because sharing must be meant. */
export function fixed(value: string): ScopeHelper {
  if (isBlank(value)) throw new MemoryError("invalid_options", "fixed() needs a value that is not blank.");
  return () => ["fixed", value];
}

/** A memory per combination, in this order: `allOf(byTenant(), byPrincipal)`. One `null` makes the whole `null`. */
export function allOf(...helpers: readonly [ScopeHelper, ...ScopeHelper[]]): ScopeHelper {
  if (helpers.length === 0 || !helpers.every((helper) => typeof helper === "function")) {
    throw new MemoryError("invalid_options", "allOf() needs at least one helper, and helpers are functions.");
  }
  return (context) => {
    const parts: string[] = [];
    for (const helper of helpers) {
      const part = helper(context);
      if (part !== null && typeof part === "object" && !Array.isArray(part)) {
        throw new MemoryError(
          "invalid_scope",
          "The helpers of allOf() answer at once, with text, a list of texts or null.",
        );
      }
      const values = typeof part === "string" ? [part] : (part ?? []);
      if (values.length === 0 || values.some(isBlank)) return null;
      parts.push(JSON.stringify(part)); // keeps the parts' borders, so that ("a:b", "c") is not ("a", "b:c")
    }
    return parts;
  };
}

/** A helper that applies only under a condition, and is `null` otherwise. Only `true` counts: a promise of one does not. */
export function when(condition: (context: MemoryScopeContext) => boolean, helper: ScopeHelper): ScopeHelper {
  if (typeof condition !== "function" || typeof helper !== "function") {
    throw new MemoryError("invalid_options", "when() needs a condition and a helper, both functions.");
  }
  return (context) => (condition(context) === true ? helper(context) : null);
}

function signedIn(context: MemoryScopeContext): Principal | null {
  const principal = context.session.auth.current ?? null;
  if (principal === null || principal.principalType === "anonymous" || principal.principalType === "runtime") {
    return null;
  }
  return principal;
}

/** The tag keeps a space `x`, a conversation `x` and a fixed `x` apart. */
function tagged(tag: string, ...values: readonly unknown[]): readonly string[] | null {
  const parts = values.filter((value): value is string => !isBlank(value));
  return parts.length === values.length ? [tag, ...parts] : null;
}

function isBlank(value: unknown): boolean {
  return typeof value !== "string" || value.trim() === "";
}
