/**
 * What Keepsake adds to a provider: one non-enumerable symbol property, so that other hosts do not see it and a plain
 * spread of a provider declares nothing.
 */
import type { MemoryProvider } from "./contract.ts";
import { MemoryError } from "./errors.ts";
import type { MemoryMaintenance } from "./maintenance.ts";

/**
 * What a provider promises beyond the contract. Each value can be verified; nothing else can be declared. Frozen in
 * `design/capabilities.json`; keys and values are only ever added. An absent key promises nothing.
 */
export interface MemoryCapabilities {
  /** `scope`: every read and write stays in its scope. `shared`: the service cannot keep scopes apart. */
  readonly partition?: "scope" | "shared";
  /** Which completed messages are captured without the model's doing. */
  readonly capture?: "none" | "user" | "all";
  /** `checked`: expired records are left out on read. `native`: the backend removes them by itself too. */
  readonly ttl?: "none" | "checked" | "native";
  /** Memory outlives the process. */
  readonly durable?: boolean;
  /** The same operation recalls the same after other writes: within the process, or after a restart too. */
  readonly replay?: "none" | "process" | "durable";
  /** `previous-turn`: recall is one turn behind. */
  readonly freshness?: "current" | "previous-turn";
  /** `immediate`: erased when the call returns. `requested`: a service has been asked. */
  readonly erase?: "none" | "immediate" | "requested";
}

export interface MemoryProviderDeclaration {
  readonly version: 1;
  readonly capabilities: MemoryCapabilities;
  readonly maintenance?: MemoryMaintenance;
  /** Releases what the provider holds open. Afterwards the provider is not used again. */
  readonly close?: () => Promise<void>;
}

const declarationKey = Symbol.for("keepsake:provider");

/** The values that each capability may have. */
export const capabilityValues: Readonly<Record<keyof MemoryCapabilities, readonly unknown[]>> = {
  partition: ["scope", "shared"],
  capture: ["none", "user", "all"],
  ttl: ["none", "checked", "native"],
  durable: [true, false],
  replay: ["none", "process", "durable"],
  freshness: ["current", "previous-turn"],
  erase: ["none", "immediate", "requested"],
};

/** What the provider declares, or `null` where it declares nothing. */
export function describeProvider(provider: MemoryProvider): MemoryProviderDeclaration | null {
  if (!isObject(provider)) return null;
  const declaration: unknown = Reflect.get(provider, declarationKey);
  if (typeof declaration !== "object" || declaration === null) return null;
  if (Reflect.get(declaration, "version") !== 1) {
    throw new MemoryError("unsupported_version", "This provider's declaration is of a newer version.");
  }
  return declaration as MemoryProviderDeclaration; // written by declareProvider of some copy of this package
}

/** Changes for {@link extendProvider}: members replace the provider's, capabilities are merged key by key. */
export interface ProviderChanges extends Partial<MemoryProvider> {
  readonly declaration?: Partial<Omit<MemoryProviderDeclaration, "version">>;
}

/** A new provider with some members replaced, that still declares what the first one did. */
export function extendProvider(provider: MemoryProvider, changes: ProviderChanges): MemoryProvider {
  const { declaration: changed, ...members } = changes;
  const extended: MemoryProvider = {
    recall: provider.recall,
    ...(provider.capture === undefined ? {} : { capture: provider.capture }),
    ...(provider.tools === undefined ? {} : { tools: provider.tools.bind(provider) }),
    ...members,
  };
  const declared = describeProvider(provider);
  if (declared === null && changed === undefined) return extended;
  return declareProvider(extended, {
    ...declared,
    ...changed,
    capabilities: { ...declared?.capabilities, ...changed?.capabilities },
  });
}

/**
 * Attaches a declaration to a provider that has none, and answers the same provider.
 * @throws MemoryError `invalid_definition`
 */
export function declareProvider<T extends MemoryProvider>(
  provider: T,
  declaration: Omit<MemoryProviderDeclaration, "version">,
): T {
  const { capabilities, maintenance, close } = declaration ?? {};
  const isDeclaration =
    isObject(capabilities) &&
    (maintenance === undefined || isObject(maintenance)) &&
    (close === undefined || typeof close === "function");
  if (!isDeclaration) {
    throw new MemoryError(
      "invalid_definition",
      "A declaration has capabilities, and may have maintenance (an object) and close (a function).",
    );
  }
  for (const [key, value] of Object.entries(capabilities)) {
    const allowed = Object.hasOwn(capabilityValues, key)
      ? capabilityValues[key as keyof MemoryCapabilities]
      : undefined;
    if (!allowed?.includes(value)) {
      throw new MemoryError("invalid_definition", `"${key}" is not a capability, or has a value that is not known.`);
    }
  }
  const frozen: MemoryProviderDeclaration = Object.freeze({
    ...(maintenance === undefined ? {} : { maintenance }),
    ...(close === undefined ? {} : { close }),
    version: 1,
    capabilities: Object.freeze({ ...capabilities }),
  });
  if (!Reflect.defineProperty(provider, declarationKey, { value: frozen })) {
    throw new MemoryError(
      "invalid_definition",
      "The provider is frozen or has a declaration already: extendProvider() makes a new one.",
    );
  }
  return provider;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
