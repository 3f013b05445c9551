import { expect, it, vi } from "vitest";
import type { Backend, BackendFactory } from "../backend.ts";
import { bounded } from "./bounded.ts";
import { directoryBackend } from "./directory.ts";

const never = new Promise<never>(() => {});
const context = { now: () => 0 };

function broken(parts: Partial<Backend>): BackendFactory {
  const { kind, start } = directoryBackend();
  return { kind, start: async (about) => ({ ...(await start(about)), ...parts }) as Backend };
}

it("passes on what a backend answers, and what it throws", async () => {
  const backend = await bounded(directoryBackend()).start(context);
  expect(await backend.contents()).toEqual([]);
  await backend.close();
  const failing = await bounded(broken({ contents: () => Promise.reject(new RangeError("no")) })).start(context);
  await expect(failing.contents()).rejects.toThrow(RangeError);
});

it("ends the wait for a backend that hangs, and says what it was doing", async () => {
  const hanging = broken({ contents: () => never, close: () => never });
  const backend = await bounded(hanging, 5).start(context);
  await expect(backend.contents()).rejects.toThrow(
    "The backend (directory) was still listing what it holds after 5 ms.",
  );
  await expect(backend.close()).rejects.toThrow("still closing");
  await expect(bounded({ kind: "tcp", start: () => never }, 5).start(context)).rejects.toThrow(
    "(tcp) was still starting",
  );
  const unattachable: BackendFactory = { ...hanging, attach: () => never };
  await expect(bounded(unattachable, 5).attach?.(backend.connection)).rejects.toThrow("still being attached to");
  const undetachable: BackendFactory = { ...hanging, attach: async () => () => never };
  const detach = await bounded(undetachable, 5).attach?.(backend.connection);
  await expect(detach?.()).rejects.toThrow("still being detached from");
});

it("closes a backend that started when nobody waited for it any more", async () => {
  const close = vi.fn(async () => {});
  const { promise, resolve } = Promise.withResolvers<Backend>();
  await expect(bounded({ kind: "tcp", start: () => promise }, 5).start(context)).rejects.toThrow("still starting");
  resolve({ close } as unknown as Backend);
  await vi.waitFor(() => expect(close).toHaveBeenCalledOnce());
});

it("undoes an attachment that came when nobody waited for it any more", async () => {
  const detach = vi.fn(async () => {});
  const { promise, resolve } = Promise.withResolvers<() => Promise<void>>();
  const late: BackendFactory = { ...directoryBackend(), attach: () => promise };
  const connection = { kind: "directory", root: "/" } as const;
  await expect(bounded(late, 5).attach?.(connection)).rejects.toThrow("still being attached to");
  resolve(detach);
  await vi.waitFor(() => expect(detach).toHaveBeenCalledOnce());
});

it("rejects with what is thrown at once, and takes what is answered at once", async () => {
  const thrown = (): never => {
    throw new RangeError("no");
  };
  const backend = await bounded(broken({ contents: thrown, close: (() => {}) as never })).start(context);
  await expect(backend.contents()).rejects.toThrow(RangeError);
  expect(await backend.close()).toBeUndefined();
  await expect(bounded({ kind: "tcp", start: thrown }).start(context)).rejects.toThrow(RangeError);
});
