/** Tools that say their input in JSON Schema alone: shown to the model as it is written, and held to all that it says. */
import { Validator } from "@cfworker/json-schema";
import { parseToolInput, setBounded } from "@keepsake/core";
import { frozenCopy } from "./frozen-copy.ts";
import type { ToolInputSchema } from "./tools.ts";

/** By their text: a provider shows the same ones turn after turn, and preparing one is most of what a tool costs. */
const known = new Map<string, ToolInputSchema>();
const maxKnown = 1_000;

/** @throws Error for what is no JSON Schema, or one that cannot be checked: a reference to elsewhere, a broken pattern. */
export function jsonSchemaInput(schema: unknown): ToolInputSchema {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) throw new TypeError("not a schema");
  const text = JSON.stringify(schema);
  const before = known.get(text);
  if (before !== undefined) return before;
  const shown = frozenCopy(JSON.parse(text)) as Record<string, unknown>;
  checkSchema(shown, shown);
  const input = asInput(shown, new Validator(JSON.parse(text), "2020-12"));
  setBounded(known, text, input, maxKnown);
  return input;
}

function asInput(shown: Record<string, unknown>, validator: Validator): ToolInputSchema {
  const show = (): Record<string, unknown> => shown;
  const validate = (value: unknown) => {
    const text = JSON.stringify(value); // as it would arrive: members that are undefined do not
    if (text === undefined) return { issues: [{ message: "There is no input." }] };
    const { valid, errors } = validator.validate(JSON.parse(text));
    if (valid) return { value };
    const within = errors.filter(({ instanceLocation }) => instanceLocation !== "#");
    const issues = (within.length > 0 ? within : errors).map(({ error, instanceLocation }) => ({
      message: error,
      path: pathOf(instanceLocation),
    }));
    return { issues };
  };
  const schema: ToolInputSchema = {
    "~standard": { version: 1, vendor: "json-schema", validate, jsonSchema: { input: show, output: show } },
  };
  // It bears the AI SDK's mark too: what that is shown by a Standard Schema alone, it changes to forbid every member that is
  // not declared.
  const ofAiSdk = {
    [Symbol.for("vercel.ai.schema")]: true,
    jsonSchema: shown,
    validate: (value: unknown) =>
      parseToolInput(schema, value).then(
        (input) => ({ success: true, value: input }),
        (error: unknown) => ({ success: false, error }),
      ),
  };
  return Object.assign(schema, ofAiSdk);
}

const types = ["null", "boolean", "object", "array", "number", "string", "integer"];

/** What the validator would only find out in the middle of a call. */
function checkSchema(schema: unknown, root: unknown): void {
  if (Array.isArray(schema)) for (const each of schema) checkSchema(each, root);
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return;
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "pattern" && typeof value === "string") new RegExp(value, "u");
    if (keyword === "patternProperties") for (const pattern of Object.keys(Object(value))) new RegExp(pattern, "u");
    if (keyword === "type" && (typeof value === "string" || Array.isArray(value))) {
      if (![value].flat().every((type) => types.includes(type))) throw new TypeError("not a type of JSON Schema");
    }
    if (keyword === "$ref" && typeof value === "string" && resolve(root, value) === undefined) {
      throw new TypeError("a reference to something that is not there");
    }
    if (["properties", "patternProperties", "$defs", "definitions"].includes(keyword)) {
      if (typeof value !== "object" || value === null) throw new TypeError("not a map of schemas");
      for (const each of Object.values(value)) checkSchema(each, root); // names of members are no keywords
    } else if (!["const", "enum", "default", "examples"].includes(keyword)) {
      checkSchema(value, root);
    }
  }
}

/** What a reference within the schema leads to: `#`, `#/$defs/name`. */
function resolve(root: unknown, reference: string): unknown {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  return pathOf(reference).reduce<unknown>((at, name) => {
    const place = Object(at);
    return Object.hasOwn(place, name) ? Reflect.get(place, name) : undefined;
  }, root);
}

/** `#/a/b~1c` is `["a", "b/c"]`. */
function pathOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
}
