/** Definers that find mistakes where they are made, not at the first turn. */
import type { MemoryDefinition, MemoryProvider } from "./contract.ts";
import { declareProvider, type MemoryProviderDeclaration } from "./declaration.ts";
import { MemoryError } from "./errors.ts";

const definitionKeys = ["description", "namespace", "provider", "scope", "visibility"] as const;
const definitionBrand: unique symbol = Symbol.for("eve:memory-definition");

export type DefinedMemory<T extends MemoryDefinition = MemoryDefinition> = T & { readonly [definitionBrand]: true };

/**
 * A memory slot: provider, scope, and what the model should know. Carries the brand that eve looks for.
 * @throws MemoryError `invalid_definition`
 */
export function defineMemory<const T extends MemoryDefinition>(definition: T): DefinedMemory<T> {
  checkMemoryDefinition(definition);
  // Members that a class instance inherits would be lost in a spread.
  const members = definitionKeys.filter((key) => definition[key] !== undefined).map((key) => [key, definition[key]]);
  return { ...definition, ...Object.fromEntries(members), [definitionBrand]: true };
}

/**
 * A provider, checked, and with what it declares beyond the contract. Answers the object it was given.
 * @throws MemoryError `invalid_definition`
 */
export function defineMemoryProvider<const T extends MemoryProvider>(
  provider: T,
  declaration?: Omit<MemoryProviderDeclaration, "version">,
): T {
  checkMemoryProvider(provider, "The provider");
  return declaration === undefined ? provider : declareProvider(provider, declaration);
}

/** Whether a value was made by `defineMemory`, Keepsake's or eve's. */
export function isDefinedMemory(value: unknown): value is DefinedMemory {
  return typeof value === "object" && value !== null && Reflect.get(value, definitionBrand) === true;
}

/**
 * Checks a definition as {@link defineMemory} does, and names the slot in what it says.
 * @throws MemoryError `invalid_definition` with the key and what was expected of it.
 */
export function checkMemoryDefinition(definition: unknown, slot?: string): asserts definition is MemoryDefinition {
  const whose = slot === undefined ? "The memory definition" : `The definition of memory slot "${slot}"`;
  if (!isObject(definition)) throw invalid(whose, "must be an object");
  refuseUnknownKeys(definition, definitionKeys, whose);
  const { description, namespace, scope, visibility, provider } = definition;
  if (description !== undefined && (typeof description !== "string" || description.trim() === "")) {
    throw invalid(whose, `needs text that is not blank as "description", or none`);
  }
  if (namespace !== undefined && !isResolvable(namespace)) {
    throw invalid(whose, `needs a string, null or a function as "namespace", or none`);
  }
  if (!isResolvable(scope)) throw invalid(whose, `needs a string, null or a function as "scope"`);
  if (visibility !== undefined && visibility !== "scope" && visibility !== "session") {
    throw invalid(whose, `needs "scope" or "session" as "visibility", or none`);
  }
  checkMemoryProvider(provider, `${whose}: its "provider"`);
}

/** The check of {@link defineMemoryProvider}; `whose` begins what it says. */
export function checkMemoryProvider(provider: unknown, whose: string): asserts provider is MemoryProvider {
  if (!isObject(provider)) throw invalid(whose, "must be an object");
  refuseUnknownKeys(provider, ["recall", "capture", "tools"], whose);
  const { recall, capture, tools } = provider;
  if (!isObject(recall)) throw invalid(whose, `needs an object of handlers as "recall"`);
  refuseUnknownKeys(recall, ["turn.started", "compaction.completed"], `${whose}: "recall"`);
  if (typeof recall["turn.started"] !== "function") {
    throw invalid(whose, `needs a function as recall["turn.started"]`);
  }
  checkOptionalHandler(recall, "compaction.completed", `${whose}: recall`);
  if (capture !== undefined) {
    if (!isObject(capture)) throw invalid(whose, `needs an object of handlers as "capture", or none`);
    refuseUnknownKeys(capture, ["compaction.requested", "turn.completed"], `${whose}: "capture"`);
    checkOptionalHandler(capture, "compaction.requested", `${whose}: capture`);
    checkOptionalHandler(capture, "turn.completed", `${whose}: capture`);
  }
  if (tools !== undefined && typeof tools !== "function") {
    throw invalid(whose, `needs a function as "tools", or none`);
  }
}

function checkOptionalHandler(handlers: Record<string, unknown>, key: string, whose: string): void {
  if (handlers[key] !== undefined && typeof handlers[key] !== "function") {
    throw invalid(`${whose}["${key}"]`, "must be a function, or left out");
  }
}

/** Own enumerable string keys only: symbols, hidden and inherited members are none of a host's business. */
function refuseUnknownKeys(value: object, known: readonly string[], whose: string): void {
  const unknown = Object.keys(value).filter((key) => !known.includes(key));
  if (unknown.length > 0) {
    throw invalid(whose, `has unknown keys: ${unknown.join(", ")}. Known are ${known.join(", ")}`);
  }
}

function isResolvable(value: unknown): boolean {
  return value === null || typeof value === "string" || typeof value === "function";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(whose: string, expectation: string): MemoryError {
  return new MemoryError("invalid_definition", `${whose} ${expectation}.`);
}
