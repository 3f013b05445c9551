/** Attempts to make file memory with options it cannot work with. */
import { fileMemory } from "../file-memory.ts";

export const invalidOptions: readonly (() => unknown)[] = [
  () => fileMemory({ backend: {} as never }),
  () => fileMemory({ maxCharacters: 159 }),
  () => fileMemory({ timeoutMs: 0 }),
  () => fileMemory({ clock: {} as never }),
  () => fileMemory({ secrets: { rules: [{}] } as never }),
  () => fileMemory({ onEvent: "console" as never }),
  () => fileMemory({ ttlMs: 1_000 } as never),
];
