import { describe, expect, it } from "vitest";
import { createKeyedQueue } from "./keyed-queue.ts";

describe("a keyed queue", () => {
  it("runs one key's operations in order, also after a failure, and does not hold up another key", async () => {
    const inOrder = createKeyedQueue();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = inOrder("a", async () => {
      await gate.promise;
      log.push("a1");
      throw new Error("a1");
    });
    const second = inOrder("a", async () => log.push("a2"));
    await inOrder("b", async () => log.push("b1"));
    expect(log).toEqual(["b1"]);
    gate.resolve();
    await expect(first).rejects.toThrow("a1");
    await second;
    expect(log).toEqual(["b1", "a1", "a2"]);
  });
});
