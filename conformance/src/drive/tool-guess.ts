/** Which of a provider's tools save, search and forget, and with what input: as the subject says, else by their names. */
import type { MemoryToolSet } from "@keepsake/core";
import type { ForgetTarget, SubjectTools } from "../subject/define.ts";
import { type Field, fieldFor, fieldsOf, inputWith, typeOf } from "./schema-input.ts";

export interface ToolGuess {
  readonly save?: TextTool;
  readonly search?: TextTool;
  readonly forget?: ForgetTool;
  /** What was guessed, a sentence each. */
  readonly guesses: readonly string[];
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
  const pick = (role: keyof SubjectTools, guessed: string | undefined): string | undefined => {
    const use = told[role];
    const name = typeof use === "string" ? use : (use?.name ?? guessed);
    if (name !== undefined && use === undefined)
      guesses.push(`The tool "${name}" is taken to ${role} (tools.${role}).`);
    return name !== undefined && Object.hasOwn(tools, name) ? name : undefined;
  };
  const forget = pick(
    "forget",
    names.find((name) => forgetting.test(name)),
  );
  const save = pick(
    "save",
    names.find((name) => name !== forget && saving.test(name)),
  );
  const search = pick(
    "search",
    names.find((name) => name !== forget && name !== save && searching.test(name)),
  );
  const saveTool = save === undefined ? undefined : textTool(save, tools[save]?.inputSchema, told.save, textNames);
  const searchTool =
    search === undefined ? undefined : textTool(search, tools[search]?.inputSchema, told.search, queryNames);
  const forgetTool = forget === undefined ? undefined : forgetToolOf(forget, tools[forget]?.inputSchema, told.forget);
  return {
    ...(saveTool === undefined ? {} : { save: saveTool }),
    ...(searchTool === undefined ? {} : { search: searchTool }),
    ...(forgetTool === undefined ? {} : { forget: forgetTool }),
    guesses,
  };
}

function textTool(
  name: string,
  schema: unknown,
  told: SubjectTools["save"] | SubjectTools["search"],
  names: RegExp,
): TextTool | undefined {
  const custom = typeof told === "object" ? told.input : undefined;
  if (custom !== undefined) return { name, input: custom };
  const fields = fieldsOf(schema);
  const field = fieldFor(fields, names);
  return field === undefined ? undefined : { name, input: (text) => inputWith(fields, field, text) };
}

function forgetToolOf(name: string, schema: unknown, told: SubjectTools["forget"]): ForgetTool {
  const custom = typeof told === "object" ? told.input : undefined;
  if (custom !== undefined)
    return { name, inputs: (target) => [{ how: "as the subject says", input: custom(target) }] };
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
