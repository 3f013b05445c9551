/** All that can be read off a value, whatever it is. */
import { inspect } from "node:util";

export function spelledOut(value: unknown): readonly string[] {
  let json = "";
  try {
    json = JSON.stringify(value) ?? "";
  } catch {
    // it refers to itself, and inspect shows what there is
  }
  return [json, inspect(value, { depth: 12, showHidden: true, maxArrayLength: null, maxStringLength: null })];
}
