/** Inputs for tools that nobody has described: made from their schemas and the names that such fields usually have. */
import { createRequire } from "node:module";
import { isStandardSchema } from "@keepsake/core";
import type { ZodType } from "zod";

export interface Field {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required: boolean;
}

/** The tool's input as JSON Schema, however it is given; `{}` where it cannot be shown. */
export function jsonSchemaOf(inputSchema: unknown): Readonly<Record<string, unknown>> {
  try {
    if (isStandardSchema(inputSchema)) {
      const { jsonSchema } = inputSchema["~standard"];
      if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
      if (Reflect.has(inputSchema, "_zod")) return ofZod(inputSchema);
    }
    const wrapped: unknown = Reflect.get(Object(inputSchema), "jsonSchema"); // the AI SDK's own wrapping
    return Object(typeof wrapped === "object" && wrapped !== null ? wrapped : inputSchema);
  } catch {
    return {};
  }
}

/** Of a zod that cannot say it itself. Loaded where it is wanted: it is most of what a process would load. */
function ofZod(schema: unknown): Readonly<Record<string, unknown>> {
  const { toJSONSchema }: typeof import("zod") = createRequire(import.meta.url)("zod");
  return toJSONSchema(schema as ZodType);
}

/** The fields of schemas that were seen before: most providers make theirs once, and offer them every turn. */
const knownFields = new WeakMap<object, readonly Field[]>();

export function fieldsOf(inputSchema: unknown): readonly Field[] {
  const schema = Object(inputSchema);
  const fields = knownFields.get(schema) ?? readFields(inputSchema);
  knownFields.set(schema, fields);
  return fields;
}

function readFields(inputSchema: unknown): readonly Field[] {
  const { properties, required } = jsonSchemaOf(inputSchema);
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(Object(properties)).map(([name, schema]) => ({
    name,
    schema: Object(schema),
    required: names.includes(name),
  }));
}

/** An input with a value for one field, and something harmless for the others that must be there. */
export function inputWith(fields: readonly Field[], field: Field, value: unknown): Record<string, unknown> {
  const others = fields.filter((other) => other.required && other !== field);
  return Object.fromEntries([
    ...others.map(({ name, schema }) => [name, harmless(schema)]),
    [field.name, suited(field.schema, value)],
  ]);
}

/** The field that a text goes into, by its usual names, else the first one that takes text. */
export function fieldFor(fields: readonly Field[], names: RegExp): Field | undefined {
  const takesText = fields.filter(({ schema }) => typeOf(schema) === "string" || typeOf(schema) === "array");
  const open = takesText.filter(({ schema }) => schema.enum === undefined && schema.const === undefined);
  return open.find(({ name }) => names.test(name)) ?? open.find(({ required }) => required) ?? open[0];
}

export function typeOf(schema: Readonly<Record<string, unknown>>): unknown {
  const { type, anyOf } = schema;
  if (Array.isArray(type)) return type.find((each) => each !== "null");
  if (type === undefined && Array.isArray(anyOf)) return typeOf(Object(anyOf[0]));
  return type;
}

function suited(schema: Readonly<Record<string, unknown>>, value: unknown): unknown {
  const type = typeOf(schema);
  if (type === "array") return [value];
  if (type === "integer" || type === "number") return Number(value);
  return type === "string" ? String(value) : value;
}

function harmless(schema: Readonly<Record<string, unknown>>): unknown {
  if ("default" in schema) return schema.default;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const type = typeOf(schema);
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return false;
  if (type === "array") return [];
  if (type === "object") return {};
  return "general";
}
