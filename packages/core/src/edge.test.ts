import { EdgeVM } from "@edge-runtime/vm";
import { build } from "vite";
import { beforeAll, describe, expect, it } from "vitest";

/** What an edge function would run: the package in one bundle, evaluated where there is no Node. */
async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: false,
      lib: { entry: `${import.meta.dirname}/test-support/edge-entry.ts`, formats: ["iife"], name: "keepsake" },
    },
  });
  if (!Array.isArray(built)) throw new Error("Expected one build, not a watcher.");
  const chunks = built.flatMap(({ output }) => output).map((chunk) => ("code" in chunk ? chunk.code : ""));
  expect(chunks).toHaveLength(1);
  return chunks.join("");
}

let code = "";
let vm: EdgeVM;

/** Evaluates an expression in the edge runtime and brings its result over as JSON. */
async function onTheEdge(expression: string): Promise<unknown> {
  const result: string = await vm.evaluate(`(async () => JSON.stringify(await (${expression})))()`);
  return JSON.parse(result);
}

beforeAll(async () => {
  code = await bundle();
  vm = new EdgeVM();
  vm.evaluate(code);
});

describe("on an edge runtime", () => {
  it("there is nothing of Node, and the bundle asks for nothing of it", async () => {
    expect(await onTheEdge("[typeof process, typeof Buffer, typeof require, typeof TextEncoder]")).toEqual([
      "undefined",
      "undefined",
      "undefined",
      "function",
    ]);
    expect(code.match(/["'`]node:|\brequire\(|\bimport\s*\(|browser-external/)).toBeNull();
    expect(code).toContain("eve-memory-composite-v1");
  });

  it("a scope key is derived, and names its storage", async () => {
    const key = "memscope1_QgrrLxjWiZQEgz5yp2pMCojhLQOypkfqmxj8GHUFmfQ";
    expect(await onTheEdge(`keepsake.scopeKey({ namespace: "app", scope: "user_1" })`)).toBe(key);
    expect(await onTheEdge(`keepsake.scopeKeyOfStorageName(keepsake.storageName("${key}"))`)).toBe(key);
  });

  it("callers are told apart", async () => {
    const current = { attributes: {}, authenticator: "app", principalId: "u1", principalType: "user" };
    const context = JSON.stringify({ session: { id: "s", auth: { current, initiator: null } }, channel: {} });
    expect(await onTheEdge(`keepsake.byPrincipal(${context})`)).toBe('["user","app",null,"u1"]');
  });

  it("durations are read, and wrong ones refused with a typed error", async () => {
    expect(await onTheEdge(`keepsake.parseDuration("30d")`)).toBe(2_592_000_000);
    const refusal = `(() => { try { keepsake.parseDuration("soon"); } catch (error) {
      return { code: error.code, known: keepsake.MemoryError.isInstance(error) }; } })()`;
    expect(await onTheEdge(refusal)).toEqual({ code: "invalid_options", known: true });
  });

  it("text is framed, escaped and cut between emoji", async () => {
    const framed = `keepsake.frameRecall({ slot: "notes", guidance: "Notes.", lines: [keepsake.escapeText("</b>")] })`;
    expect(await onTheEdge(framed)).toBe('<keepsake-memory slot="notes">\nNotes.\n&lt;/b>\n</keepsake-memory>');
    expect(await onTheEdge(`keepsake.isRecallFrame(${framed})`)).toBe(true);
    expect(await onTheEdge(`keepsake.cutText("\\u{1F600}\\u{1F468}\\u200D\\u{1F469}", 4)`)).toBe("\u{1F600}");
  });

  it("a recall that hangs ends with its budget", async () => {
    const setTimer = "setTimer: (callback) => { Promise.resolve().then(callback); return () => {}; }";
    const recall = `keepsake.withRecallPolicy(
      { recall: { "turn.started": () => new Promise(() => {}) } },
      { onFailure: "skip", budgetMs: 1, clock: { now: () => 0, ${setTimer} } },
    ).recall["turn.started"]({ abortSignal: new AbortController().signal, memory: { slot: "notes" }, messages: [] })`;
    expect(await onTheEdge(recall)).toMatchObject({ messages: [{ id: "keepsake-recall-status" }] });
  });

  it("documents are kept", async () => {
    const kept = `(async () => {
      const documents = keepsake.inMemoryDocuments();
      const { signal } = new AbortController();
      await documents.write({ key: "ann", signal, content: "tea", expectedVersion: null });
      return [await documents.read({ key: "ann", signal }), await documents.read({ key: "ben", signal })];
    })()`;
    expect(await onTheEdge(kept)).toMatchObject([{ content: "tea" }, null]);
  });

  it("a tool checks its input", async () => {
    const run = (input: unknown): string => `keepsake.defineTool({
      description: "Save.",
      inputSchema: { "~standard": { version: 1, vendor: "own", validate: (value) =>
        typeof value.text === "string" ? { value } : { issues: [{ message: "no", path: ["text"] }] } } },
      execute: ({ text }) => ({ saved: text }),
    }).execute(${JSON.stringify(input)}, {})`;
    expect(await onTheEdge(run({ text: "tea" }))).toEqual({ saved: "tea" });
    await expect(onTheEdge(run({ text: 4711 }))).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("a secret is found", async () => {
    // In two parts, so that scanners of this repository do not take it for a real one.
    const token = ["ghp", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].join("_");
    expect(await onTheEdge(`keepsake.inspect("my token is ${token}").length`)).toBe(1);
    expect(await onTheEdge(`keepsake.inspect("my snack is seaweed").length`)).toBe(0);
  });
});
