import type { Subject } from "./define.ts";

/**
 * What a module exports as its default, not looked at any closer.
 * @throws TypeError for a module without a default export, and whatever the module throws.
 */
export async function loadSubject(moduleUrl: string): Promise<Subject> {
  const { default: subject }: { readonly default?: Subject } = await import(moduleUrl);
  if (subject === undefined)
    throw new TypeError("The module has no default export: export default defineSubject({ ... }).");
  return subject;
}
