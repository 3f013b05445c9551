import { describe, expect, it } from "vitest";
import type { LedgerOperation } from "./ledger.ts";
import {
  createReplay,
  inMemoryReplayStore,
  type RecalledReference,
  type ReplayEntry,
  type ReplayStore,
} from "./replay.ts";
import { manualClock } from "./test-support/manual-clock.ts";
import { codeOf } from "./test-support/outcome.ts";

const operation: LedgerOperation = { scopeKey: "ann", operation: ["operation"] };
const reference = (id: string): RecalledReference => ({ id, revision: "1" });
const choosing =
  (...ids: string[]) =>
  async () =>
    ids.map(reference);

describe("the same operation", () => {
  it("recalls the same after other writes, without choosing again", async () => {
    const replay = createReplay();
    expect(await replay.recall(operation, choosing("tea"))).toEqual([reference("tea")]);
    let chosen = 0;
    const again = await replay.recall(operation, async () => {
      chosen += 1;
      return [reference("trains"), reference("tea")];
    });
    expect([again, chosen]).toEqual([[reference("tea")], 0]);
  });

  it("recalls nothing again, if nothing was the first answer", async () => {
    const replay = createReplay();
    expect(await replay.recall(operation, choosing())).toEqual([]);
    expect(await replay.recall(operation, choosing("tea"))).toEqual([]);
  });

  it("recalls the same after a restart over the same store", async () => {
    const store = inMemoryReplayStore();
    await createReplay({ store }).recall(operation, choosing("tea"));
    expect(await createReplay({ store }).recall(operation, choosing("trains"))).toEqual([reference("tea")]);
    expect(await createReplay().recall(operation, choosing("trains"))).toEqual([reference("trains")]);
  });

  it("recalls the same at once from two handles, whoever chose first", async () => {
    const store = inMemoryReplayStore();
    const [one, other] = await Promise.all([
      createReplay({ store }).recall(operation, choosing("tea")),
      createReplay({ store }).recall(operation, choosing("trains")),
    ]);
    expect(one).toEqual(other);
    expect(one).toHaveLength(1);
  });

  it("of another scope, or another operation, chooses for itself", async () => {
    const replay = createReplay();
    await replay.recall(operation, choosing("tea"));
    expect(await replay.recall({ ...operation, scopeKey: "ben" }, choosing("trains"))).toEqual([reference("trains")]);
    expect(await replay.recall({ ...operation, operation: ["next"] }, choosing("trains"))).toEqual([
      reference("trains"),
    ]);
    expect(await replay.recall(operation, choosing("trains"))).toEqual([reference("tea")]);
  });

  it("chooses anew after a choice that failed", async () => {
    const replay = createReplay();
    await expect(replay.recall(operation, () => Promise.reject(new Error("down")))).rejects.toThrow("down");
    expect(await replay.recall(operation, choosing("tea"))).toEqual([reference("tea")]);
  });

  it("chooses anew exactly when the window has passed", async () => {
    const clock = manualClock(1_000);
    const replay = createReplay({ clock, window: "10s" });
    await replay.recall(operation, choosing("tea"));
    clock.advance(9_999);
    expect(await replay.recall(operation, choosing("trains"))).toEqual([reference("tea")]);
    clock.advance(1);
    expect(await replay.recall(operation, choosing("trains"))).toEqual([reference("trains")]);
    expect(await codeOf(() => createReplay({ window: "soon" }))).toBe("invalid_options");
  });
});

describe("the store", () => {
  it("keeps ids and revisions, and no text", async () => {
    const kept: [string, ReplayEntry][] = [];
    const store: ReplayStore = {
      get: async () => null,
      async add(key, entry) {
        kept.push([key, entry]);
        return entry;
      },
    };
    const record = { ...reference("m1"), text: "pin 4711" };
    await createReplay({ store, clock: manualClock(5) }).recall(operation, async () => [record]);
    expect(kept).toMatchObject([
      [expect.any(String), { references: [{ id: "m1", revision: "1" }], expiresAt: 3_600_005 }],
    ]);
    expect(JSON.stringify(kept)).not.toMatch(/4711|ann|operation/);
  });

  it("is bounded, and forgets the oldest", async () => {
    const replay = createReplay({ store: inMemoryReplayStore({ maxEntries: 2 }) });
    const recall = (id: string, answer: string) => replay.recall({ ...operation, operation: [id] }, choosing(answer));
    for (const id of ["first", "second", "third"]) await recall(id, "tea");
    expect(await recall("second", "trains")).toEqual([reference("tea")]);
    expect(await recall("third", "trains")).toEqual([reference("tea")]);
    expect(await recall("first", "trains")).toEqual([reference("trains")]);
  });
});
