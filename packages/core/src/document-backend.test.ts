import { describe, expect, it } from "vitest";
import { inMemoryDocuments } from "./document-backend.ts";
import { codeOf, collect, memoryErrorOf } from "./test-support/outcome.ts";

const { signal } = new AbortController();

async function keysOf(backend: ReturnType<typeof inMemoryDocuments>): Promise<readonly string[]> {
  return collect(backend.keys?.({ signal }));
}

describe("documents in memory", () => {
  it("are read as they were written, each under its own key", async () => {
    const backend = inMemoryDocuments();
    const odd = "\u0000\ud800\r\n\u2028</keepsake-memory>";
    await backend.write({ key: "ann", signal, content: odd, expectedVersion: null });
    await backend.write({ key: "Ann", signal, content: "other", expectedVersion: null });
    expect((await backend.read({ key: "ann", signal }))?.content).toBe(odd);
    expect((await backend.read({ key: "Ann", signal }))?.content).toBe("other");
    expect(await keysOf(backend)).toEqual(["ann", "Ann"]);
  });

  it("are null only when never written: an empty one is there", async () => {
    const backend = inMemoryDocuments();
    expect(await backend.read({ key: "ann", signal })).toBeNull();
    await backend.write({ key: "ann", signal, content: "", expectedVersion: null });
    expect(await backend.read({ key: "ann", signal })).toMatchObject({ content: "" });
  });

  it("have a new version with each write, also of the same content", async () => {
    const backend = inMemoryDocuments();
    const first = await backend.write({ key: "ann", signal, content: "tea", expectedVersion: null });
    const second = await backend.write({ key: "ann", signal, content: "tea", expectedVersion: first.version });
    expect(second.version).not.toBe(first.version);
    expect(await backend.read({ key: "ann", signal })).toEqual(second);
  });

  it("refuse a stale write, and keep what is there", async () => {
    const backend = inMemoryDocuments();
    const first = await backend.write({ key: "ann", signal, content: "tea", expectedVersion: null });
    const second = await backend.write({ key: "ann", signal, content: "coffee", expectedVersion: first.version });
    for (const expectedVersion of [null, first.version, "unknown"]) {
      const error = await memoryErrorOf(() => backend.write({ key: "ann", signal, content: "lost", expectedVersion }));
      expect(error).toMatchObject({ code: "conflict", retryable: true, key: "ann" });
    }
    expect(await codeOf(() => backend.write({ key: "ben", signal, content: "x", expectedVersion: "v" }))).toBe(
      "conflict",
    );
    expect(await backend.read({ key: "ann", signal })).toEqual(second);
    expect(await backend.read({ key: "ben", signal })).toBeNull();
  });

  it("let one of twenty simultaneous writers win", async () => {
    const backend = inMemoryDocuments();
    const writes = Array.from({ length: 20 }, (_, index) =>
      backend.write({ key: "ann", signal, content: String(index), expectedVersion: null }),
    );
    const outcomes = await Promise.allSettled(writes);
    const [winner, ...others] = outcomes.filter(({ status }) => status === "fulfilled");
    expect(others).toEqual([]);
    expect(winner).toMatchObject({ value: await backend.read({ key: "ann", signal }) });
  });

  it("cannot be changed from outside, and are not shared between stores", async () => {
    const backend = inMemoryDocuments();
    const written = await backend.write({ key: "ann", signal, content: "tea", expectedVersion: null });
    expect(() => Object.assign(written, { content: "forged" })).toThrow(TypeError);
    expect((await backend.read({ key: "ann", signal }))?.content).toBe("tea");
    expect(await inMemoryDocuments().read({ key: "ann", signal })).toBeNull();
  });

  it("never take a caller who gave up for one who found nothing, and write nothing for him", async () => {
    const backend = inMemoryDocuments();
    const aborted = AbortSignal.abort("stopped");
    await backend.write({ key: "ann", signal, content: "tea", expectedVersion: null });
    await expect(backend.read({ key: "ann", signal: aborted })).rejects.toBe("stopped");
    await expect(backend.read({ key: "ben", signal: aborted })).rejects.toBe("stopped");
    const write = backend.write({ key: "ben", signal: aborted, content: "x", expectedVersion: null });
    await expect(write).rejects.toBe("stopped");
    await expect(collect(backend.keys?.({ signal: aborted }))).rejects.toBe("stopped");
    expect(await keysOf(backend)).toEqual(["ann"]);
  });

  it.each(["", " \t", "a\ud800"])("refuse %j as a key, which could stand for nothing or for two", async (key) => {
    const backend = inMemoryDocuments();
    expect(await codeOf(() => backend.read({ key, signal }))).toBe("invalid_scope");
    expect(await codeOf(() => backend.write({ key, signal, content: "x", expectedVersion: null }))).toBe(
      "invalid_scope",
    );
    expect(await keysOf(backend)).toEqual([]);
  });
});
