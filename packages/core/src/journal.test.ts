import { describe, expect, it } from "vitest";
import { inMemoryJournal, type JournalPosition } from "./journal.ts";
import { codeOf, collect, memoryErrorOf } from "./test-support/outcome.ts";

const key = "ann";
const { signal } = new AbortController();
const start: JournalPosition = { epoch: 0, offset: 0 };

/** A journal that holds one, two and three. */
async function threeEvents() {
  const journal = inMemoryJournal();
  const first = await journal.append({ key, signal, events: [{ n: 1 }], expectedEnd: start });
  const end = await journal.append({ key, signal, events: [{ n: 2 }, { n: 3 }], expectedEnd: first });
  return { journal, first, end };
}

describe("a journal in memory", () => {
  it("reads what was appended, in order, from the start or from a position on", async () => {
    const { journal, first, end } = await threeEvents();
    expect(await journal.read({ key, signal })).toEqual({ events: [{ n: 1 }, { n: 2 }, { n: 3 }], start, end });
    expect(await journal.read({ key, signal, after: first })).toEqual({
      events: [{ n: 2 }, { n: 3 }],
      start: first,
      end,
    });
    expect(await journal.read({ key, signal, after: end })).toEqual({ events: [], start: end, end });
  });

  it("is empty for a key that was never written, and stays unlisted", async () => {
    const { journal } = await threeEvents();
    expect(await journal.read({ key: "ben", signal })).toEqual({ events: [], start, end: start });
    expect(await collect(journal.keys?.({ signal }))).toEqual([key]);
  });

  it("refuses an append of a writer who has not seen all, and adds nothing of it", async () => {
    const { journal, first, end } = await threeEvents();
    for (const expectedEnd of [start, first, { epoch: 1, offset: 3 }, { epoch: 0, offset: 4 }]) {
      const error = await memoryErrorOf(() => journal.append({ key, signal, events: [{ n: 4 }], expectedEnd }));
      expect(error).toMatchObject({ code: "conflict", retryable: true });
      expect(await codeOf(() => journal.rewrite({ key, signal, events: [], expectedEnd }))).toBe("conflict");
    }
    expect(await journal.read({ key, signal })).toMatchObject({ events: [{ n: 1 }, { n: 2 }, { n: 3 }], end });
    await journal.append({ key, signal, events: [{ n: 4 }], expectedEnd: end });
    expect(await journal.read({ key, signal, after: end })).toMatchObject({ events: [{ n: 4 }] });
  });

  it("adds all of the events or none", async () => {
    const { journal, end } = await threeEvents();
    const circular: Record<string, unknown> = {};
    circular.itself = circular;
    await expect(journal.append({ key, signal, events: [{ n: 4 }, circular], expectedEnd: end })).rejects.toThrow(
      TypeError,
    );
    expect(await journal.read({ key, signal })).toMatchObject({ end });
  });

  it("lets one of twenty simultaneous writers win", async () => {
    const journal = inMemoryJournal();
    const appends = Array.from({ length: 20 }, (_, n) =>
      journal.append({ key, signal, events: [{ n }], expectedEnd: start }),
    );
    const outcomes = await Promise.allSettled(appends);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await journal.read({ key, signal })).events).toHaveLength(1);
  });

  it("drops what was there when it is rewritten, and starts a new epoch", async () => {
    const { journal, first, end } = await threeEvents();
    const rewritten = await journal.rewrite({ key, signal, events: [{ n: 2 }], expectedEnd: end });
    expect(rewritten).toEqual({ epoch: 1, offset: 1 });
    const present = { events: [{ n: 2 }], start: { epoch: 1, offset: 0 }, end: rewritten };
    expect(await journal.read({ key, signal })).toEqual(present);
    for (const after of [start, first, end]) expect(await journal.read({ key, signal, after })).toEqual(present);
    expect(await codeOf(() => journal.append({ key, signal, events: [], expectedEnd: end }))).toBe("conflict");
  });

  it("is erased by an empty rewrite, and an old writer cannot bring anything back", async () => {
    const { journal, end } = await threeEvents();
    await journal.rewrite({ key, signal, events: [], expectedEnd: end });
    expect(await journal.read({ key, signal, after: start })).toMatchObject({ events: [] });
    expect(await codeOf(() => journal.append({ key, signal, events: [{ n: 1 }], expectedEnd: start }))).toBe(
      "conflict",
    );
    await journal.append({ key, signal, events: [{ n: 9 }], expectedEnd: { epoch: 1, offset: 0 } });
    expect(await journal.read({ key, signal })).toMatchObject({ events: [{ n: 9 }] });
  });

  it("reads from the start for a position beyond the end, as one from before a restart may be", async () => {
    const { journal, end } = await threeEvents();
    const after = { epoch: 0, offset: 4 };
    expect(await journal.read({ key, signal, after })).toMatchObject({
      start,
      end,
      events: [{ n: 1 }, { n: 2 }, { n: 3 }],
    });
  });

  it("keeps copies: neither the writer's nor the reader's object reaches into it", async () => {
    const journal = inMemoryJournal();
    const event = { text: "tea", tags: ["drink"] };
    const end = await journal.append({ key, signal, events: [event], expectedEnd: start });
    event.text = "forged";
    event.tags.push("forged");
    const [read] = (await journal.read({ key, signal })).events;
    expect(read).toEqual({ text: "tea", tags: ["drink"] });
    Object.assign(read ?? {}, { text: "forged" });
    expect(await journal.read({ key, signal })).toMatchObject({ events: [{ text: "tea", tags: ["drink"] }], end });
  });

  it("keeps odd texts as they are", async () => {
    const journal = inMemoryJournal();
    const event = JSON.parse('{"text":"\\ud800\\u0000\\u2028","__proto__":{"x":1}}');
    await journal.append({ key, signal, events: [event], expectedEnd: start });
    expect(JSON.stringify((await journal.read({ key, signal })).events[0])).toBe(JSON.stringify(event));
  });

  it("keeps keys and stores apart", async () => {
    const { journal } = await threeEvents();
    await journal.append({ key: "Ann", signal, events: [{ n: 9 }], expectedEnd: start });
    expect((await journal.read({ key: "Ann", signal })).events).toEqual([{ n: 9 }]);
    expect((await journal.read({ key, signal })).events).toHaveLength(3);
    expect((await inMemoryJournal().read({ key, signal })).events).toEqual([]);
  });

  it("does nothing for a caller who has given up, or under a key that cannot be one", async () => {
    const { journal, end } = await threeEvents();
    const aborted = { key, signal: AbortSignal.abort("stopped") };
    await expect(journal.read(aborted)).rejects.toBe("stopped");
    await expect(journal.append({ ...aborted, events: [{ n: 4 }], expectedEnd: end })).rejects.toBe("stopped");
    await expect(journal.rewrite({ ...aborted, events: [], expectedEnd: end })).rejects.toBe("stopped");
    await expect(collect(journal.keys?.(aborted))).rejects.toBe("stopped");
    for (const odd of ["", " ", "\ud800"]) {
      expect(await codeOf(() => journal.read({ key: odd, signal }))).toBe("invalid_scope");
      expect(await codeOf(() => journal.append({ key: odd, signal, events: [], expectedEnd: start }))).toBe(
        "invalid_scope",
      );
    }
    expect(await journal.read({ key, signal })).toMatchObject({ end, events: [{ n: 1 }, { n: 2 }, { n: 3 }] });
  });
});
