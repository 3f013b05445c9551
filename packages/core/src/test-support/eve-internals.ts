/** What eve itself makes of a definition and of a scope. Its package exports neither, and both are what ours must match. */

interface DefinitionCheck {
  normalizeMemoryDefinition(value: unknown, message: string): unknown;
}

interface MemoryState {
  createMemoryLock(input: { readonly namespace: string; readonly scope: unknown; readonly [key: string]: unknown }): {
    readonly namespaceKey: string;
    readonly scopeKey: string;
    readonly scope: { readonly key: string };
  };
}

const load = (path: string): Promise<unknown> =>
  import(new URL(`../../node_modules/eve/dist/src/${path}`, import.meta.url).href);
const { normalizeMemoryDefinition } = (await load("internal/authored-definition/memory.js")) as DefinitionCheck;
const { createMemoryLock } = (await load("shared/memory-state.js")) as MemoryState;

/** Whether eve would run a slot with this definition. */
export function eveAccepts(definition: unknown): boolean {
  try {
    normalizeMemoryDefinition(definition, "Expected a memory.");
    return true;
  } catch {
    return false;
  }
}

/** The key that eve hands to providers, or `null` where it refuses the namespace or the scope. */
export function eveScopeKey({ namespace, scope }: { namespace: string; scope: unknown }): string | null {
  try {
    const turn = { id: "turn_0", input: [], sequence: 0 };
    return createMemoryLock({ namespace, scope, slot: "notes", turn, visibility: "scope" }).scope.key;
  } catch {
    return null;
  }
}
