/** Tools that a provider offers to the model: plain objects that check their own input, whichever loop calls them. */
import type { MemoryTool, MemoryToolContext, ToolModelOutput } from "./contract.ts";
import { MemoryError } from "./errors.ts";

/** The part of the Standard Schema specification, version 1, that tools need. zod, valibot and arktype implement it. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Absent where the schema cannot show itself as JSON Schema. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> };
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface ToolDefinition<Input, Output = unknown>
  extends Omit<MemoryTool, "inputSchema" | "execute" | "toModelOutput"> {
  readonly inputSchema: StandardSchema<Input>;
  execute(input: Input, context: MemoryToolContext): Output | Promise<Output>;
  readonly toModelOutput?: (output: Output) => ToolModelOutput | Promise<ToolModelOutput>;
}

const toolBrand = Symbol.for("eve:tool-brand");

/**
 * A tool that validates its input before it runs, so that a plain loop is as safe as a framework. Carries the brand that
 * eve looks for. Frameworks validate too and pass on the result, so the schema must accept what it makes: no transforms.
 * @throws MemoryError `invalid_definition` here; `invalid_input` from `execute`, naming fields, never values.
 */
export function defineTool<Input, Output>(definition: ToolDefinition<Input, Output>): MemoryTool {
  if (typeof definition !== "object" || definition === null) {
    throw new MemoryError("invalid_definition", "A tool is defined by an object.");
  }
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
      definition.execute(await parseToolInput(inputSchema, input), context),
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
  const known = declaredFields(schema);
  const fields = [...new Set(result.issues.map((issue) => fieldOf(issue, known)))].join(", ");
  throw new MemoryError("invalid_input", `The tool's input does not fit its schema: ${fields}.`);
}

async function validate<Output>(schema: StandardSchema<Output>, input: unknown): Promise<StandardResult<Output>> {
  try {
    return await schema["~standard"].validate(input);
  } catch (error) {
    throw new MemoryError("invalid_input", "The tool's input could not be checked.", { cause: error });
  }
}

/** The name of a field that the schema itself declares; a key of a record is the caller's, and may hold anything. */
function fieldOf({ path = [] }: StandardIssue, known: readonly string[]): string {
  const [first] = path;
  const field = String(typeof first === "object" ? first.key : first);
  return known.includes(field) ? field : "a field is missing, unknown or of the wrong kind";
}

/** The fields that a schema shows in its JSON Schema; none where it cannot show itself. */
function declaredFields(schema: StandardSchema): readonly string[] {
  try {
    const shown: unknown = schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
    return Object.keys(Object(Reflect.get(Object(shown), "properties")));
  } catch {
    return [];
  }
}
