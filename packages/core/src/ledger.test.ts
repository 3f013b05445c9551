import { describe, expect, it } from "vitest";
import {
  createLedger,
  inMemoryLedgerStore,
  type Ledger,
  type LedgerEntry,
  type LedgerOperation,
  type LedgerStore,
  messageDigests,
  operationDigest,
} from "./ledger.ts";
import type { ModelMessage } from "./model-message.ts";
import { manualClock } from "./test-support/manual-clock.ts";
import { codeOf, settle } from "./test-support/outcome.ts";

const turn: LedgerOperation = { scopeKey: "ann", operation: ["session", "turn_0"] };
const user = (content: string): ModelMessage => ({ role: "user", content });

/** What was really written, and a way to write. */
function recorder(ledger: Ledger) {
  const written: string[] = [];
  return {
    written,
    take: (operation: LedgerOperation, ...texts: string[]) =>
      ledger.take(operation, texts.map(user), async (unseen) => {
        written.push(...unseen.map(({ content }) => String(content)));
      }),
  };
}

it("tells messages apart that differ in an image only", () => {
  const look = (image: string) => ({ role: "user" as const, content: [{ type: "image" as const, image }] });
  expect(messageDigests([look("u1")])).toEqual(messageDigests([look("u1")]));
  expect(messageDigests([look("u1")])).not.toEqual(messageDigests([look("u2")]));
});

describe("an operation", () => {
  it("that comes again with the same messages writes nothing", async () => {
    const { written, take } = recorder(createLedger());
    expect(await take(turn, "tea", "trains")).toEqual({ taken: 2, extended: false });
    expect(await take(turn, "tea", "trains")).toEqual({ taken: 0, extended: false });
    expect(await take(turn, "trains")).toEqual({ taken: 0, extended: false });
    expect(await take(turn, "tea", "trains")).toEqual({ taken: 0, extended: false });
    expect(written).toEqual(["tea", "trains"]);
  });

  it("that comes again with more writes what is new, and says so", async () => {
    const { written, take } = recorder(createLedger());
    await take(turn, "tea");
    expect(await take(turn, "tea", "trains")).toEqual({ taken: 1, extended: true });
    expect(await take(turn, "tea", "trains")).toEqual({ taken: 0, extended: false });
    expect(written).toEqual(["tea", "trains"]);
  });

  it("comes again after a restart over the same store", async () => {
    const store = inMemoryLedgerStore();
    const before = recorder(createLedger({ store }));
    await before.take(turn, "tea");
    const after = recorder(createLedger({ store }));
    expect(await after.take(turn, "tea")).toEqual({ taken: 0, extended: false });
    expect([before.written, after.written]).toEqual([["tea"], []]);
  });

  it("that comes at once from two handles over one store is written once", async () => {
    const store = inMemoryLedgerStore();
    const gate = Promise.withResolvers<void>();
    let written = 0;
    const take = () =>
      createLedger({ store }).take(turn, [user("tea")], async () => {
        written += 1;
        await gate.promise;
      });
    const both = Promise.all([take(), take()]);
    await settle();
    gate.resolve();
    expect(await both).toEqual([
      { taken: 1, extended: false },
      { taken: 0, extended: false },
    ]);
    expect(written).toBe(1);
  });

  it("whose write fails is untaken, and can come again", async () => {
    const store = inMemoryLedgerStore();
    const ledger = createLedger({ store });
    const failing = ledger.take(turn, [user("tea")], () => Promise.reject(new Error("disk full")));
    const { written, take } = recorder(ledger);
    const waiting = take(turn, "tea");
    await expect(failing).rejects.toThrow("disk full");
    expect(await waiting).toEqual({ taken: 1, extended: false });
    expect(written).toEqual(["tea"]);
  });

  it("of another scope, session or turn is another operation", async () => {
    const { written, take } = recorder(createLedger());
    await take(turn, "tea");
    const others: LedgerOperation[] = [
      { ...turn, scopeKey: "ben" },
      { ...turn, operation: ["session", "turn_1"] },
      { ...turn, operation: ["other", "turn_0"] },
      { ...turn, operation: ["sessionturn_0"] },
      { ...turn, operation: ["session", "turn_0", ""] },
    ];
    for (const other of others) expect(await take(other, "tea")).toEqual({ taken: 1, extended: false });
    expect(written).toHaveLength(others.length + 1);
    expect(await take(turn, "tea")).toEqual({ taken: 0, extended: false });
  });

  it("takes equal texts as often as the turn says them", async () => {
    const { written, take } = recorder(createLedger());
    await take(turn, "yes");
    expect(await take(turn, "yes", "yes")).toEqual({ taken: 1, extended: true });
    expect(await take(turn, "yes", "yes")).toEqual({ taken: 0, extended: false });
    expect(written).toEqual(["yes", "yes"]);
  });

  it("needs a scope key that can be one", async () => {
    const { take } = recorder(createLedger());
    for (const scopeKey of ["", " ", "\ud800"]) {
      expect(await codeOf(() => take({ ...turn, scopeKey }, "tea"))).toBe("invalid_scope");
    }
  });
});

describe("the window", () => {
  it("ends exactly on time, counted from the last take", async () => {
    const clock = manualClock(1_000);
    const { take } = recorder(createLedger({ clock, window: "10s" }));
    await take(turn, "tea");
    clock.advance(9_999);
    expect(await take(turn, "tea")).toMatchObject({ taken: 0 });
    clock.advance(10_000);
    expect(await take(turn, "tea")).toEqual({ taken: 1, extended: false });
  });

  it("must be a duration", async () => {
    expect(await codeOf(() => createLedger({ window: "soon" }))).toBe("invalid_options");
  });
});

describe("the store", () => {
  it("is bounded, and forgets the operation that came longest ago", async () => {
    const { take } = recorder(createLedger({ store: inMemoryLedgerStore({ maxEntries: 2 }) }));
    const operation = (id: string): LedgerOperation => ({ scopeKey: "ann", operation: [id] });
    for (const id of ["first", "second", "first", "third"]) await take(operation(id), "tea");
    expect(await take(operation("first"), "tea")).toMatchObject({ taken: 0 });
    expect(await take(operation("third"), "tea")).toMatchObject({ taken: 0 });
    expect(await take(operation("second"), "tea")).toMatchObject({ taken: 1 });
  });

  it("does not let one key wait for another", async () => {
    const ledger = createLedger();
    void ledger.take(turn, [user("tea")], () => new Promise(() => {}));
    const { take } = recorder(ledger);
    expect(await take({ ...turn, scopeKey: "ben" }, "tea")).toMatchObject({ taken: 1 });
  });

  it("is given digests, never text, scope or operation", async () => {
    const kept: [string, LedgerEntry][] = [];
    const store: LedgerStore = {
      async update(key, change) {
        const { entry, result } = await change(null);
        kept.push([key, entry]);
        return result;
      },
    };
    await recorder(createLedger({ store, clock: manualClock(5) })).take(turn, "pin 4711");
    expect(kept).toEqual([
      [operationDigest(turn), { digests: messageDigests([user("pin 4711")]), expiresAt: 86_400_005 }],
    ]);
    expect(JSON.stringify(kept)).not.toMatch(/pin|4711|ann|session|turn_0/);
    expect(operationDigest(turn)).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

describe("messageDigests", () => {
  it("go by role, text and how often it was said", () => {
    const messages: ModelMessage[] = [
      user("yes"),
      { role: "assistant", content: "yes" },
      user("no"),
      user("yes"),
      { role: "user", content: [{ type: "text", text: "yes" }] },
    ];
    const digests = messageDigests(messages);
    expect(new Set(digests).size).toBe(5);
    expect(messageDigests(messages.slice(0, 4))).toEqual(digests.slice(0, 4));
    expect(messageDigests([user("yes")])).toEqual(
      messageDigests([{ role: "user", content: [{ type: "text", text: "yes" }] }]),
    );
  });
});
