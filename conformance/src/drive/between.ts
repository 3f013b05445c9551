/** Something that stands between a host and a provider, to see or to change what passes. */
import { extendProvider, type MemoryProvider } from "@keepsake/core";

export interface HandlerCall {
  /** Such as `recall["turn.started"]`, or `tools`. */
  readonly name: string;
  readonly handler: Handler;
  /** The object that the handler was read from. */
  readonly owner: object;
  readonly context: object;
}

type Handler = (context: object) => unknown;

const phases = ["turn.started", "compaction.completed", "turn.completed", "compaction.requested"] as const;

/** The provider with every call of a handler made by `make`. What it declares stays. */
export function between(provider: MemoryProvider, make: (call: HandlerCall) => unknown): MemoryProvider {
  const passed = (name: string, owner: object, handler: unknown): Handler | undefined =>
    typeof handler === "function"
      ? (context) => make({ name, owner, handler: handler as Handler, context }) // called with what the host would give
      : undefined;
  const group = (name: string, owner: object): Record<string, Handler> => {
    const handlers = phases.map((phase) => [phase, passed(`${name}["${phase}"]`, owner, Reflect.get(owner, phase))]);
    return Object.fromEntries(handlers.filter(([, handler]) => handler !== undefined));
  };
  const { recall, capture } = provider;
  const tools = passed("tools", provider, provider.tools);
  const handlers = {
    recall: group("recall", recall),
    ...(capture === undefined ? {} : { capture: group("capture", capture) }),
    ...(tools === undefined ? {} : { tools }),
  };
  return extendProvider(provider, handlers as Partial<MemoryProvider>); // the same handlers, by the same names
}

/** The call as a host makes it. */
export function asMethod({ handler, owner, context }: HandlerCall): unknown {
  return Reflect.apply(handler, owner, [context]);
}
