/** All that the package exports, by the name others import it by, and a way to define a slot. */
export { defineMemory } from "@keepsake/core";
export * from "@keepsake/host";
