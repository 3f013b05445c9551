import { describeProvider, type ExportLine, type MemoryMaintenance } from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import { describe, expect, it } from "vitest";
import { type FileMemoryOptions, fileMemory, inMemory } from "./index.ts";
import { memoryOf } from "./test-support/memory-of.ts";

function setup(options: FileMemoryOptions = {}) {
  const backend = inMemory();
  const provider = fileMemory({ backend, ...options });
  const maintenance = describeProvider(provider)?.maintenance;
  if (maintenance === undefined) throw new Error("File memory always has maintenance.");
  return { backend, provider, maintenance, ann: memoryOf(provider, "ann") };
}

async function exported(maintenance: MemoryMaintenance, key = "ann"): Promise<ExportLine[]> {
  return Array.fromAsync(maintenance.export({ key }));
}

const record = (id: string, text: string): ExportLine => ({ type: "memory", id, text });

describe("an operator", () => {
  it("lists one scope's memories in pages", async () => {
    const { maintenance, ann, provider } = setup();
    for (const text of ["a", "b", "c"]) await ann.save(text);
    await memoryOf(provider, "ben").save("not Ann's");
    const first = await maintenance.list({ key: "ann", limit: 2 });
    expect(first).toEqual({ records: [record("0", "a"), record("1", "b")], cursor: "1" });
    expect(await maintenance.list({ key: "ann", limit: 2, cursor: "1" })).toEqual({ records: [record("2", "c")] });
    await expect(maintenance.list({ key: "ann", limit: 0 })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(maintenance.list({ key: "ann", cursor: "x" })).rejects.toMatchObject({ code: "invalid_input" });
    await expect(maintenance.list({ key: "" })).rejects.toMatchObject({ code: "invalid_scope" });
  });

  it("moves a scope to another store, byte for byte and with its numbers, twice without harm", async () => {
    const from = setup();
    for (const text of ["🦉 <b>bold</b> & more", "人工智能", "gone", '{"a":1}']) await from.ann.save(text);
    await from.ann.remove(2);
    const lines = await exported(from.maintenance);
    const to = setup();
    expect(await to.maintenance.import({ key: "ann", lines })).toEqual({ imported: 3, duplicates: 0, refused: [] });
    expect(await exported(to.maintenance)).toEqual(lines);
    expect(await to.maintenance.import({ key: "ann", lines })).toEqual({ imported: 0, duplicates: 3, refused: [] });
    expect(await exported(to.maintenance)).toEqual(lines);
  });

  it("is told what could not come along, and why", async () => {
    const { maintenance } = setup({ maxCharacters: 400 });
    const lines = [
      record("a", "fits"),
      record("b", `ghp_${"x7Qp2LmZ9".repeat(4)}`),
      record("c", "two\nlines"),
      record("d", "x".repeat(2_049)),
      record("e", "y".repeat(400)),
      { ...record("f", "superseded"), active: false } as ExportLine,
      { ...record("g", "for a day"), expiresAt: 1 } as ExportLine,
    ];
    expect(await maintenance.import({ key: "ann", lines })).toEqual({
      imported: 1,
      duplicates: 0,
      refused: [
        { id: "b", reason: "secret", ruleIds: [expect.any(String)] },
        { id: "c", reason: "not_representable" },
        { id: "d", reason: "too_long" },
        { id: "e", reason: "full" },
        { id: "f", reason: "not_representable" },
        { id: "g", reason: "not_representable" },
      ],
    });
    await expect(
      maintenance.import({ key: "ann", lines: [{ type: "memory", id: "", text: "x" }] }),
    ).rejects.toMatchObject({ code: "invalid_export" });
  });

  it("erases a scope: nothing is recalled, listed or stored of it, and a late repeat brings nothing back", async () => {
    const { backend, maintenance, ann, provider } = setup();
    const ben = memoryOf(provider, "ben");
    await ben.save("Ben's");
    for (let n = 0; n < 50; n += 1) await ann.save(`marker ${n}`, { callId: `c${n}` });
    expect(await maintenance.erase({ key: "ann" })).toEqual({ erased: 50, status: "done" });
    expect((await backend.read({ key: "ann", signal: new AbortController().signal }))?.content).not.toContain("marker");
    await ann.save("marker 7", { callId: "c7" });
    expect(await ann.recall()).not.toContain("marker");
    expect(await exported(maintenance)).toHaveLength(1);
    expect(await ann.save("marker 7", { callId: "new" })).toMatchObject({ duplicate: false, index: 50 });
    expect(await ben.recall()).toContain("Ben's");
    expect(await maintenance.erase({ key: "never written" })).toEqual({ erased: 0, status: "done" });
  });

  it.each([
    "{}",
    "<!-- keepsake-memory v9 next=1 -->\n0: marker\n",
    `<!-- keepsake-memory v1 next=1 -->\n0: ${"marker".repeat(180_000)}\n`,
  ])("erases a scope whose document cannot be read either (%#)", async (content) => {
    const { backend, maintenance, ann } = setup();
    const signal = new AbortController().signal;
    await backend.write({ key: "ann", content, expectedVersion: null, signal });
    await expect(ann.recall()).rejects.toMatchObject({ name: "MemoryError" });
    expect(await maintenance.erase({ key: "ann" })).toEqual({ erased: 0, status: "done" });
    expect(await ann.recall()).toBeNull();
    expect(await ann.save("Likes tea.")).toMatchObject({ saved: true });
  });

  it("takes what fits of an import that is too long for a document, and gives up waiting when told to", async () => {
    const { maintenance } = setup({ maxCharacters: 1_000_000 });
    const lines = Array.from({ length: 100 }, (_, n) => record(`r${n}`, `${n} ${"x".repeat(1_000)}`));
    const { imported, refused } = await maintenance.import({ key: "ann", lines });
    expect(imported).toBeGreaterThan(50);
    expect(refused).toHaveLength(100 - imported);
    expect(new Set(refused.map(({ reason }) => reason))).toEqual(new Set(["full"]));

    const controller = new AbortController();
    const endless = (async function* () {
      await new Promise(() => {});
      yield record("never", "never");
    })();
    const importing = maintenance.import({ key: "ann", lines: endless, signal: controller.signal });
    controller.abort("enough");
    await expect(importing).rejects.toBe("enough");
  });

  it("gets back into an empty store all that a full one held", async () => {
    const from = setup();
    for (let n = 0; ; n += 1) {
      const saved = await from.ann.save(`fact number ${n}`).catch(() => null);
      if (saved === null) break;
    }
    const lines = await exported(from.maintenance);
    expect(lines.length).toBeGreaterThan(100);
    expect(await setup().maintenance.import({ key: "ann", lines })).toMatchObject({
      imported: lines.length - 1,
      refused: [],
    });
  });

  it("gets typed errors from a backend that cannot list", async () => {
    const failing = {
      ...inMemory(),
      keys: () =>
        (async function* () {
          yield Promise.reject(new Error("pin 4711"));
        })(),
    };
    const maintenance = describeProvider(fileMemory({ backend: failing as never }))?.maintenance;
    await expect(Array.fromAsync(maintenance?.scopes?.({}) ?? [])).rejects.toMatchObject({ code: "backend_failed" });
  });

  it("sees which scopes hold something", async () => {
    const { maintenance, provider, backend } = setup();
    const [ann, ben, cem] = ["ann", "ben", "cem"].map((scope) => scopeKey({ namespace: "app", scope }));
    for (const key of [ann, ben]) await memoryOf(provider, key ?? "").save("something");
    await maintenance.erase({ key: ben ?? "" });
    await backend.write({ key: cem ?? "", content: "{}", expectedVersion: null, signal: new AbortController().signal });
    expect(await Array.fromAsync(maintenance.scopes?.({}) ?? [])).toEqual([ann, cem]);
    const custom = describeProvider(fileMemory({ backend: { read: backend.read, write: backend.write } }))?.maintenance;
    await expect(Array.fromAsync(custom?.scopes?.({}) ?? [])).rejects.toMatchObject({ code: "unsupported" });
  });
});
