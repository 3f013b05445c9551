/** Providers that do not stop as they should, each in one way. */
import { retry, withDeadline } from "@keepsake/core";
import { asMethod, between, type HandlerCall } from "../drive/between.ts";
import type { Mutant } from "../family.ts";

const never = new AbortController().signal;

export const stoppingMutants: readonly Mutant[] = [
  {
    id: "stopping/retries-go-on",
    flaw: "Answers an abort at once, and gives its retries a signal that never aborts.",
    kills: { "stopping/goes-on": "goes-on" },
    spares: ["aborting/before", "aborting/during-backoff", "stopping/two-calls"],
    parts: () => ({ retries: 0 }),
    provider: (provider, { clock }) =>
      between(provider, (call) => {
        if (!call.name.startsWith("capture")) return asMethod(call);
        const shouldRetry = (error: unknown): boolean => Object(error).code === "backend_failed";
        const times = { retries: 2, firstDelayMs: 50, maxDelayMs: 1_000 };
        return withDeadline({ signal: signalOf(call), timeoutMs: 20_000, clock }, () =>
          retry({ ...times, shouldRetry, signal: never, clock }, async () => asMethod(withSignal(call, never))),
        );
      }),
  },
  {
    id: "stopping/keeps-listening",
    flaw: "Passes an abort on to a controller of its own, and never stops listening.",
    kills: { "stopping/listeners": "left" },
    spares: ["aborting/before", "aborting/during-hang", "stopping/goes-on"],
    provider: (provider) =>
      between(provider, (call) => {
        if (call.name === "tools") return asMethod(call);
        const [signal, own] = [signalOf(call), new AbortController()];
        signal.throwIfAborted();
        signal.addEventListener("abort", () => own.abort(signal.reason), { once: true });
        return asMethod(withSignal(call, own.signal));
      }),
  },
  {
    id: "stopping/shares-the-first",
    flaw: "Gives recalls at once the promise of the first, under its signal.",
    kills: { "stopping/two-calls": "held-by-other" },
    spares: ["aborting/before", "aborting/during-hang", "stopping/goes-on"],
    provider: (provider) => {
      const shared = sharing();
      return between(provider, async (call) => {
        if (!call.name.startsWith("recall")) return asMethod(call);
        signalOf(call).throwIfAborted();
        return shared(call);
      });
    },
  },
  {
    id: "stopping/first-ends-all",
    flaw: "Lets each of several recalls at once leave by its own signal, and their one request end by the first's.",
    kills: { "stopping/two-calls": "ended-by-other" },
    spares: ["aborting/before", "aborting/during-hang", "stopping/goes-on"],
    provider: (provider, { clock }) => {
      const shared = sharing();
      return between(provider, (call) => {
        if (!call.name.startsWith("recall")) return asMethod(call);
        return withDeadline({ signal: signalOf(call), timeoutMs: 20_000, clock }, () => shared(call));
      });
    },
  },
];

/** One recall for all of a scope that come while it is under way. */
function sharing(): (call: HandlerCall) => Promise<unknown> {
  const underWay = new Map<string, Promise<unknown>>();
  return (call) => {
    const key: string = Reflect.get(call.context, "memory").scope.key; // every context has it
    const running = underWay.get(key) ?? (async () => asMethod(call))().finally(() => underWay.delete(key));
    underWay.set(key, running);
    return running;
  };
}

function signalOf({ context }: HandlerCall): AbortSignal {
  return Reflect.get(context, "abortSignal") ?? never; // `tools` has none
}

function withSignal(call: HandlerCall, abortSignal: AbortSignal): HandlerCall {
  return { ...call, context: { ...call.context, abortSignal } };
}
