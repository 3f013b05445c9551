/** Inputs of tools, changed in one place: another value in a field, a field less, arguments that nobody declared. */
import { isStandardSchema, type MemoryTool } from "@keepsake/core";
import { jsonSchemaOf, typeOf } from "./schema-input.ts";

/** The field of an input that holds this value, at its top. */
export function fieldHolding(input: unknown, value: unknown): string | undefined {
  return Object.entries(Object(input)).find(
    ([, each]) => each === value || (Array.isArray(each) && each[0] === value),
  )?.[0];
}

export function without(input: unknown, field: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(Object(input)).filter(([name]) => name !== field));
}

/** Names of all fields that a schema declares, at any depth. */
export function declaredNames(schema: unknown, depth = 0): readonly string[] {
  if (typeof schema !== "object" || schema === null || depth > 8) return [];
  const properties = Object(Reflect.get(schema, "properties"));
  const within = Object.values(schema).flatMap((each) => declaredNames(each, depth + 1));
  return typeOf(schema as Readonly<Record<string, unknown>>) === "object"
    ? [...Object.keys(properties), ...within]
    : within;
}

/** Whether the tool's own schema turns this input down, as far as it can be asked: its validator, else what it shows. */
export async function schemaRefuses({ inputSchema }: MemoryTool, input: unknown): Promise<boolean> {
  if (isStandardSchema(inputSchema)) {
    const result = await inputSchema["~standard"].validate(input);
    return result.issues !== undefined;
  }
  const { properties, required, additionalProperties } = jsonSchemaOf(inputSchema);
  const fields = Object(properties) as Readonly<Record<string, Readonly<Record<string, unknown>>>>; // as JSON Schema has them
  const entries = Object.entries(Object(input));
  const isMissing = (Array.isArray(required) ? required : []).some(
    (name) => !Object.hasOwn(Object(input), String(name)),
  );
  const isUnknown = additionalProperties === false && entries.some(([name]) => !Object.hasOwn(fields, name));
  return isMissing || isUnknown || entries.some(([name, value]) => !fits(Object(fields[name]), value));
}

function fits(schema: Readonly<Record<string, unknown>>, value: unknown): boolean {
  const type = typeOf(schema);
  const { minLength, maxLength, minItems } = schema;
  if (type === "string")
    return (
      typeof value === "string" &&
      value.length >= Number(minLength ?? 0) &&
      value.length <= Number(maxLength ?? Number.POSITIVE_INFINITY)
    );
  if (type === "array") return Array.isArray(value) && value.length >= Number(minItems ?? 0);
  if (type === "integer" || type === "number") return typeof value === "number";
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  return type === "boolean" ? typeof value === "boolean" : true;
}
