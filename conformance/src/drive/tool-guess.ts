/** Which of a provider's tools save, search and forget, and with what input: as the subject says, else by their names. */
import type { MemoryToolSet } from "@keepsake/core";
import { Verdict } from "../check.ts";
import type { ForgetTarget, SubjectTools } from "../subject/define.ts";
import { type Field, fieldFor, fieldsOf, inputWith, typeOf } from "./schema-input.ts";

export interface ToolGuess {
  readonly save?: TextTool;
  readonly search?: TextTool;
  readonly forget?: ForgetTool;
  /** What was guessed, a sentence each. */
  readonly guesses: readonly string[];
  /** Tools that the subject names and the provider does not offer, such as `tools.forget`. */
  readonly unknown: readonly string[];
  /** Tools that are offered, and nobody knows what for. */
  readonly unused: readonly string[];
}

export interface TextTool {
  readonly name: string;
  input(text: string): unknown;
}

export interface ForgetTool {
  readonly name: string;
  /** Inputs that may name the memory, likeliest first. `how` is stable from one memory to the next. */
  inputs(
    target: ForgetTarget & { readonly word: string },
  ): readonly { readonly how: string; readonly input: unknown }[];
}

const forgetting = /forget|remove|delete|erase|drop|discard/i;
const saving = /save|remember|store|write|add|create|upsert|keep|memori[sz]e|insert|append|note|update/i;
const searching = /search|find|recall|query|read|get|list|look|retrieve/i;
const textNames = /^(text|content|memory|fact|note|value|data|message|body|statement|information|summary)$/i;
const queryNames = /^(query|q|search|question|text|term|terms|keyword|keywords|topic|input)$/i;
const idNames = /id$|^(index|key|number|name|ref|memory)/i;

export function guessTools(tools: MemoryToolSet, told: SubjectTools = {}): ToolGuess {
  const names = Object.keys(tools);
  const guesses: string[] = [];
  const unknown: string[] = [];
  const named = Object.values(told).map((use) => (typeof use === "string" ? use : use.name));
  const free = names.filter((name) => !named.includes(name));
  const pick = (role: keyof SubjectTools, guessed: string | undefined): string | undefined => {
    const use = told[role];
    const name = typeof use === "string" ? use : (use?.name ?? guessed);
    if (name === undefined || name === "none") return undefined;
    if (use === undefined) guesses.push(`The tool "${name}" is taken to ${role} (tools.${role}).`);
    if (Object.hasOwn(tools, name)) return name;
    unknown.push(`tools.${role}`);
    return undefined;
  };
  const unlike = (...others: readonly (string | undefined)[]): readonly string[] =>
    free.filter((name) => !others.includes(name));
  const find = (pattern: RegExp, among: readonly string[]): string | undefined =>
    among.find((name) => pattern.test(name));
  const forget = pick("forget", find(forgetting, free));
  const save = pick("save", find(saving, unlike(forget)));
  const search = pick("search", find(searching, unlike(forget, save)));
  const unused = names.filter((name) => ![forget, save, search].includes(name));
  for (const name of unused) guesses.push(`The tool "${name}" is not used: nobody knows what for (tools).`);
  const saveTool = save === undefined ? undefined : textTool(save, tools[save]?.inputSchema, told.save, textNames);
  const searchTool =
    search === undefined ? undefined : textTool(search, tools[search]?.inputSchema, told.search, queryNames);
  const forgetTool = forget === undefined ? undefined : forgetToolOf(forget, tools[forget]?.inputSchema, told.forget);
  return {
    ...(saveTool === undefined ? {} : { save: saveTool }),
    ...(searchTool === undefined ? {} : { search: searchTool }),
    ...(forgetTool === undefined ? {} : { forget: forgetTool }),
    guesses,
    unknown,
    unused,
  };
}

/** An input that the subject makes. When that fails, it is the subject's fault, not the provider's. */
function madeBy<A>(where: string, make: (argument: A) => unknown, argument: A): unknown {
  try {
    return make(argument);
  } catch (error) {
    throw new Verdict("untestable", `${where} of the subject threw ${Object(error).name}.`);
  }
}

function textTool(
  name: string,
  schema: unknown,
  told: SubjectTools["save"] | SubjectTools["search"],
  names: RegExp,
): TextTool | undefined {
  const custom = typeof told === "object" ? told.input : undefined;
  if (custom !== undefined) return { name, input: (text) => madeBy(`The input for "${name}"`, custom, text) };
  const fields = fieldsOf(schema);
  const field = fieldFor(fields, names);
  return field === undefined ? undefined : { name, input: (text) => inputWith(fields, field, text) };
}

function forgetToolOf(name: string, schema: unknown, told: SubjectTools["forget"]): ForgetTool {
  const custom = typeof told === "object" ? told.input : undefined;
  if (custom !== undefined)
    return {
      name,
      inputs: (target) => [{ how: "as the subject says", input: madeBy(`The input for "${name}"`, custom, target) }],
    };
  const fields = fieldsOf(schema);
  const field = fields.find((each) => idNames.test(each.name)) ?? fields.find(({ required }) => required) ?? fields[0];
  if (field === undefined) return { name, inputs: () => [{ how: "without input", input: {} }] };
  return {
    name,
    inputs: (target) =>
      [...candidates(field, target)]
        .filter(({ value }) => fits(field, value))
        .map(({ how, value }) => ({ how, input: inputWith(fields, field, value) })),
  };
}

function* candidates(
  field: Field,
  { saved, found, recalled, text, word }: ForgetTarget & { readonly word: string },
): Generator<{ how: string; value: unknown }> {
  yield* idsIn(saved, field, "what the save tool answered");
  yield* idsIn(objectsWith(found, word), field, "what the search tool found");
  const line = recalled.split("\n").find((each) => each.toLowerCase().includes(word)) ?? "";
  const before = line.slice(0, line.toLowerCase().indexOf(word));
  const tokens = before.match(/[A-Za-z0-9][A-Za-z0-9_.-]*/g) ?? [];
  for (const [place, value] of tokens.slice(0, 3).entries())
    yield { how: `word ${place + 1} of the recalled line`, value };
  yield { how: "the text itself", value: text };
  yield { how: "its word", value: word };
}

function* idsIn(value: unknown, field: Field, where: string): Generator<{ how: string; value: unknown }> {
  const entries = flatten(value);
  for (const [name, each] of entries) if (name === field.name) yield { how: `"${name}" in ${where}`, value: each };
  for (const [name, each] of entries) {
    if (name !== field.name && /id$|^(index|key|number|uuid)$/i.test(name))
      yield { how: `"${name}" in ${where}`, value: each };
  }
}

/** Every member that is text or a number, at any depth; JSON in text counts too. */
function flatten(value: unknown, depth = 0): [string, unknown][] {
  if (depth > 5) return [];
  if (typeof value === "string") return flattenText(value, depth);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]): [string, unknown][] =>
    typeof each === "object" || (typeof each === "string" && /^\s*[[{]/.test(each))
      ? flatten(each, depth + 1)
      : [[name, each]],
  );
}

function flattenText(text: string, depth: number): [string, unknown][] {
  try {
    return flatten(Object(JSON.parse(text)), depth + 1);
  } catch {
    return [...text.matchAll(/\b(id|index|key)\b["':= #]+([A-Za-z0-9_-]+)/gi)].map(([, name = "", id]) => [name, id]);
  }
}

/** The innermost objects that hold the word. */
function objectsWith(value: unknown, word: string): readonly unknown[] {
  if (typeof value === "string") {
    try {
      return /^\s*[[{]/.test(value) ? objectsWith(JSON.parse(value), word) : [value];
    } catch {
      return [value];
    }
  }
  if (typeof value !== "object" || value === null || !JSON.stringify(value).toLowerCase().includes(word)) return [];
  const within = Object.values(value).flatMap((each) =>
    typeof each === "object" && each !== null ? objectsWith(each, word) : [],
  );
  return within.length > 0 ? within : [value];
}

function fits({ schema }: Field, value: unknown): boolean {
  const type = typeOf(schema);
  if (type === "integer" || type === "number") return Number.isFinite(Number(value)) && String(value).trim() !== "";
  return ["string", "number"].includes(typeof value);
}
