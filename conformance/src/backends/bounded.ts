/** A backend that answers in the end: somebody's stand-in or server may hang as well, and that is not the provider's doing. */
import { type Backend, type BackendFactory, delegate } from "../backend.ts";
import { settlesWithin } from "../time/wait.ts";

const longestMs = 30_000;

/** The factory, with an end to everything that is waited for: what takes longer rejects, with what it was. */
export function bounded(factory: BackendFactory, limitMs: number = longestMs): BackendFactory {
  async function within<T>(call: () => T | Promise<T>, what: string): Promise<T> {
    const outcome = await settlesWithin((async () => call())(), limitMs);
    if (outcome.state === "fulfilled") return outcome.value;
    if (outcome.state === "rejected") throw outcome.error;
    throw new Error(`The backend (${factory.kind}) was still ${what} after ${limitMs} ms.`);
  }
  /** What comes too late is put away again. */
  async function opened<T>(opening: Promise<T>, what: string, putAway: (late: T) => unknown): Promise<T> {
    try {
      return await within(() => opening, what);
    } catch (error) {
      opening.then(putAway).catch(() => {});
      throw error;
    }
  }
  const { kind, attach } = factory;
  return {
    kind,
    async start(context) {
      const starting = (async () => factory.start(context))();
      const backend: Backend = await opened(starting, "starting", (late) => late.close());
      return {
        ...delegate(backend),
        contents: () => within(() => backend.contents(), "listing what it holds"),
        close: () => within(() => backend.close(), "closing"),
      };
    },
    ...(attach === undefined
      ? {}
      : {
          async attach(connection) {
            const attaching = (async () => attach.call(factory, connection))();
            const detach = await opened(attaching, "being attached to", (late) => late());
            return () => within(detach, "being detached from");
          },
        }),
  };
}
