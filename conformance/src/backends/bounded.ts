/** A backend that answers in the end: somebody's stand-in or server may hang as well, and that is not the provider's doing. */
import { type Backend, type BackendFactory, delegate } from "../backend.ts";
import { settlesWithin } from "../time/wait.ts";

const longestMs = 30_000;

/** The factory, with an end to everything that is waited for: what takes longer rejects, with what it was. */
export function bounded(factory: BackendFactory, limitMs: number = longestMs): BackendFactory {
  async function within<T>(call: Promise<T>, what: string): Promise<T> {
    const outcome = await settlesWithin(call, limitMs);
    if (outcome.state === "fulfilled") return outcome.value;
    if (outcome.state === "rejected") throw outcome.error;
    throw new Error(`The backend (${factory.kind}) was still ${what} after ${limitMs} ms.`);
  }
  const { kind, attach } = factory;
  return {
    kind,
    async start(context) {
      const starting = factory.start(context);
      const backend: Backend = await within(starting, "starting").catch((error: unknown) => {
        starting.then((late) => late.close()).catch(() => {});
        throw error;
      });
      return {
        ...delegate(backend),
        contents: () => within(backend.contents(), "listing what it holds"),
        close: () => within(backend.close(), "closing"),
      };
    },
    ...(attach === undefined
      ? {}
      : {
          async attach(connection) {
            const detach = await within(attach.call(factory, connection), "being attached to");
            return () => within(detach(), "being detached from");
          },
        }),
  };
}
