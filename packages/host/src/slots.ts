/** Named memory slots, checked and in the order in which everything about them happens. */
import {
  checkMemoryDefinition,
  isDefinedMemory,
  type MemoryDefinition,
  MemoryError,
  type MemoryScope,
  type MemoryVisibility,
} from "@keepsake/core";
import type { LockState } from "./session-state.ts";

export interface Slot {
  readonly name: string;
  readonly definition: MemoryDefinition;
  /** Scopes that it was locked to lately, since deriving a key is most of a turn's work. */
  readonly recentLocks: Map<string, SlotLock>;
}

/** The scope that a slot works on for one turn. */
export interface SlotLock {
  readonly slot: Slot;
  readonly scope: MemoryScope;
  readonly namespaceKey: string;
  readonly visibility: MemoryVisibility;
  /** What a session's state keeps of it. */
  readonly state: LockState;
}

// One order on every machine, whatever its language.
const byName = new Intl.Collator("en");
export const slotName: RegExp = /^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/;

/**
 * Slots in the order of their file names, which is a person's alphabetical order and not that of bytes.
 * @throws MemoryError `invalid_definition` naming the slot and what is expected of it.
 */
export function parseSlots(slots: Readonly<Record<string, MemoryDefinition>>): readonly Slot[] {
  return Object.entries(slots)
    .map(([name, definition]) => {
      if (!slotName.test(name)) {
        throw new MemoryError(
          "invalid_definition",
          `"${name}" cannot be a memory slot's name: it starts with an ASCII letter and goes on with letters, digits, ` +
            "underscores or dashes, 64 characters at most.",
        );
      }
      if (!isDefinedMemory(definition)) {
        throw new MemoryError("invalid_definition", `Memory slot "${name}" must be made with defineMemory().`, {
          slot: name,
        });
      }
      checkMemoryDefinition(definition, name);
      return { name, definition, recentLocks: new Map() };
    })
    .sort((a, b) => byName.compare(`memory/${a.name}.ts`, `memory/${b.name}.ts`));
}
