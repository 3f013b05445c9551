/** Inputs of tools with a text put where another one stands, or where a schema has room for one. */
import { fieldsOf, typeOf } from "./schema-input.ts";

/** The input once for each text in it, with this one in its place. */
export function withTextsReplaced(input: unknown, text: string): readonly unknown[] {
  if (typeof input === "string") return [text];
  if (Array.isArray(input))
    return input.flatMap((each, index) => withTextsReplaced(each, text).map((made) => input.with(index, made)));
  return Object.entries(Object(input)).flatMap(([name, each]) =>
    withTextsReplaced(each, text).map((made) => ({ ...Object(input), [name]: made })),
  );
}

/** The input once for each other field that takes a text, with this one in it. */
export function withOtherTexts(
  inputSchema: unknown,
  input: unknown,
  { text, except }: { readonly text: string; readonly except: string | undefined },
): readonly unknown[] {
  return fieldsOf(inputSchema)
    .filter(({ name }) => name !== except)
    .map(({ name, schema }) => ({ name, value: holding(schema, text) }))
    .filter(({ value }) => value !== undefined)
    .map(({ name, value }) => ({ ...Object(input), [name]: value }));
}

/** A value of this schema that holds the text; `undefined` where there is none, such as for a choice of words. */
function holding(schema: Readonly<Record<string, unknown>>, text: string, depth = 0): unknown {
  if (depth > 3 || schema.enum !== undefined || schema.const !== undefined) return undefined;
  const type = typeOf(schema);
  if (type === "string") return text;
  if (type === "array") {
    const item = holding(Object(schema.items), text, depth + 1);
    return item === undefined ? undefined : [item];
  }
  if (type !== "object") return undefined;
  const members = Object.entries({ note: Object(schema.additionalProperties), ...Object(schema.properties) })
    .map(([name, each]) => [name, holding(Object(each), text, depth + 1)])
    .filter(([, value]) => value !== undefined);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
