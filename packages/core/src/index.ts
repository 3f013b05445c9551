export * from "./bounded-map.ts";
export * from "./clock.ts";
export * from "./contract.ts";
export * from "./deadline.ts";
export {
  capabilityValues,
  describeProvider,
  extendProvider,
  type MemoryCapabilities,
  type MemoryProviderDeclaration,
  type ProviderChanges,
} from "./declaration.ts";
export * from "./define.ts";
export * from "./document-backend.ts";
export * from "./duration.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./export-format.ts";
export * from "./journal.ts";
export * from "./keyed-queue.ts";
export * from "./ledger.ts";
export * from "./maintenance.ts";
export * from "./model-message.ts";
export * from "./options.ts";
export * from "./recall-policy.ts";
export * from "./replay.ts";
export * from "./retry.ts";
export * from "./text.ts";
export * from "./tool.ts";
