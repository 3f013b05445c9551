/** Tools that a provider offers to the model: plain objects that check their own input, whichever loop calls them. */
import type { MemoryTool, MemoryToolContext } from "./contract.ts";
import { MemoryError } from "./errors.ts";

/** The part of the Standard Schema specification, version 1, that tools need. zod, valibot and arktype implement it. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface ToolDefinition<Input> extends Omit<MemoryTool, "inputSchema" | "execute"> {
  readonly inputSchema: StandardSchema<Input>;
  execute(input: Input, context: MemoryToolContext): unknown;
}

const toolBrand = Symbol.for("eve:tool-brand");

/**
 * A tool that validates its input before it runs, so that a plain loop is as safe as a framework. Carries the brand that
 * eve looks for.
 * @throws MemoryError `invalid_definition` here; `invalid_input` from `execute`, naming fields, never values.
 */
export function defineTool<Input>(definition: ToolDefinition<Input>): MemoryTool {
  const { description, inputSchema, execute } = definition;
  if (typeof description !== "string" || description.trim() === "") {
    throw new MemoryError("invalid_definition", "A tool needs a description that is not blank.");
  }
  if (!isStandardSchema(inputSchema)) {
    throw new MemoryError("invalid_definition", "A tool needs a Standard Schema as its inputSchema.");
  }
  if (typeof execute !== "function") {
    throw new MemoryError("invalid_definition", "A tool needs a function as its execute.");
  }
  const tool = {
    ...definition,
    execute: async (input: unknown, context: MemoryToolContext) =>
      execute(await parseToolInput(inputSchema, input), context),
    [toolBrand]: true,
  };
  return tool;
}

/** Whether a value was made by `defineTool`, Keepsake's or eve's. */
export function isDefinedTool(value: unknown): value is MemoryTool {
  return typeof value === "object" && value !== null && Reflect.get(value, toolBrand) === true;
}

export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return typeof standard === "object" && standard !== null && typeof Reflect.get(standard, "validate") === "function";
}

/**
 * Validates a tool's input.
 * @throws MemoryError `invalid_input`. A validator's own message may quote the value, so only the fields are named.
 */
export async function parseToolInput<Output>(schema: StandardSchema<Output>, input: unknown): Promise<Output> {
  const result = await validate(schema, input);
  if (result.issues === undefined) return result.value;
  const fields = [...new Set(result.issues.map(fieldOf))].join(", ");
  throw new MemoryError("invalid_input", `The tool's input does not fit its schema: ${fields}.`);
}

async function validate<Output>(schema: StandardSchema<Output>, input: unknown): Promise<StandardResult<Output>> {
  try {
    return await schema["~standard"].validate(input);
  } catch (error) {
    throw new MemoryError("invalid_input", "The tool's input could not be checked.", { cause: error });
  }
}

function fieldOf({ path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length > 0 && keys.every((key) => /^[A-Za-z0-9_]{1,32}$/.test(key))
    ? keys.join(".")
    : "a field is missing, unknown or of the wrong kind";
}
