import { parseSubject, type Subject } from "./define.ts";

/**
 * The subject that a module exports as its default.
 * @throws TypeError for a module without one, and whatever the module throws.
 */
export async function loadSubject(moduleUrl: string): Promise<Subject> {
  const { default: subject }: { readonly default?: unknown } = await import(moduleUrl);
  if (subject === undefined)
    throw new TypeError("The module has no default export: export default defineSubject({ ... }).");
  return parseSubject(subject);
}
