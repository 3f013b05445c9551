/**
 * OpenTelemetry spans for what providers do, in the semantic conventions for generative AI: a recall is `search_memory`, a
 * capture `upsert_memory`, a tool `execute_tool`. What those do not name is under `keepsake.`.
 */
import { checkOptions, describeError, optionIs } from "@keepsake/core";
import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { MemoryTracer, TracedCall, TracedResult } from "./tracer.ts";

export interface OpenTelemetryTracerOptions {
  /** Default: the global provider's tracer `@keepsake/host`. */
  readonly tracer?: Tracer;
  /** Records what people said, what was recalled, and what tools were asked and answered. Default `false`. */
  readonly recordContent?: boolean;
}

/**
 * Give it to `createMemoryHost({ tracer })`. Spans hold sizes, ids, the slot and how it ended: `keepsake.outcome` is
 * `completed`, `failed` or `cancelled`, and `error.type` an error's code or name, never its message. The store's id is the
 * partition's derived key. Spans nest in whatever span is active.
 * @throws MemoryError `invalid_options`
 */
export function openTelemetryTracer(options: OpenTelemetryTracerOptions = {}): MemoryTracer {
  checkOptions("openTelemetryTracer()", options, {
    tracer: optionIs.having("startActiveSpan"),
    recordContent: optionIs.flag, // a mere "no" would be true
  });
  const { recordContent = false } = options;
  return {
    trace(call, run, { result, wasGivenUp }) {
      const tracer = options.tracer ?? trace.getTracer("@keepsake/host");
      const kind = call.kind === "tool" ? SpanKind.INTERNAL : SpanKind.CLIENT;
      return tracer.startActiveSpan(spanName(call), { kind, attributes: callAttributes(call) }, async (span) => {
        if (recordContent) quietly(() => span.setAttributes(inputAttributes(call)));
        try {
          const value = await run();
          quietly(() => {
            const told = result(value);
            span.setAttributes({ ...resultAttributes(call, told), "keepsake.outcome": "completed" });
            if (recordContent) span.setAttributes(outputAttributes(call, told));
          });
          return value;
        } catch (error) {
          quietly(() => {
            if (wasGivenUp()) span.setAttribute("keepsake.outcome", "cancelled");
            else recordFailure(span, error);
          });
          throw error;
        } finally {
          quietly(() => span.end());
        }
      });
    },
  };
}

/** An observer must not be able to fail what it watches. */
function quietly(observe: () => void): void {
  try {
    observe();
  } catch {
    // the span is lost, the call is not
  }
}

const operations = { recall: "search_memory", capture: "upsert_memory", tool: "execute_tool" } as const;

function spanName({ kind, toolName }: TracedCall): string {
  return toolName === undefined ? operations[kind] : `${operations[kind]} ${toolName}`;
}

function callAttributes(call: TracedCall): Attributes {
  return {
    "gen_ai.operation.name": operations[call.kind],
    "gen_ai.conversation.id": call.sessionId,
    "gen_ai.memory.store.id": call.scopeKey,
    "keepsake.slot": call.slot,
    "keepsake.turn.id": call.turnId,
    ...present("keepsake.phase", call.phase),
    ...present("keepsake.operation.id", call.operationId),
    ...present("gen_ai.tool.name", call.toolName),
    ...present("gen_ai.tool.description", call.toolDescription),
    ...present("gen_ai.tool.call.id", call.callId),
    ...(call.kind === "tool" ? { "gen_ai.tool.type": "function" } : {}),
  };
}

function resultAttributes({ kind }: TracedCall, { records, characters }: TracedResult): Attributes {
  return {
    ...present("gen_ai.memory.record.count", records),
    ...present(kind === "tool" ? "keepsake.tool.result.characters" : "keepsake.recall.characters", characters),
  };
}

function inputAttributes({ kind, input }: TracedCall): Attributes {
  const names = {
    recall: "gen_ai.memory.query.text",
    capture: "gen_ai.memory.records",
    tool: "gen_ai.tool.call.arguments",
  };
  return present(names[kind], asText(input()));
}

function outputAttributes({ kind }: TracedCall, { output }: TracedResult): Attributes {
  if (output === undefined) return {};
  return present(kind === "tool" ? "gen_ai.tool.call.result" : "gen_ai.memory.records", asText(output()));
}

function recordFailure(span: Span, error: unknown): void {
  const { name, code } = describeError(error);
  span.setAttributes({ "error.type": code ?? name, "keepsake.outcome": "failed" });
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function present(name: string, value: string | number | undefined): Attributes {
  return value === undefined ? {} : { [name]: value };
}

function asText(value: unknown): string | undefined {
  try {
    return typeof value === "string" ? value : JSON.stringify(value);
  } catch {
    return undefined; // cyclic, or holding what JSON cannot
  }
}
