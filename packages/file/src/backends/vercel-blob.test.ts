import { inspect } from "node:util";
import {
  describeProvider,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  MemoryError,
  type MemoryToolContext,
  type MemoryToolsContext,
  type MemoryTurnContext,
} from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { fileMemory, type RemoveResult, type SaveResult } from "../file-memory.ts";
import type { FileMemoryOptions } from "../options.ts";
import { type BlobFault, type BlobOperation, createBlobService } from "../test-support/blob-service.ts";
import { vercelBlob } from "./vercel-blob.ts";

const service = createBlobService({ pageSize: 2 });
const key = scopeKey({ namespace: "tests", scope: "ada" });
const pathname = `keepsake/memory/file/${key}/MEMORY.md`;

beforeAll(() => service.start());
afterAll(() => service.stop());
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  const stray = [...service.strayRequests];
  service.reset();
  expect(stray, "requests to anything but the Blob service").toEqual([]);
});

const neverAborted = (): AbortSignal => new AbortController().signal;
const backend = (): MemoryDocumentBackend => vercelBlob({ token: service.token });
const read = (documents = backend()) => documents.read({ key, signal: neverAborted() });
const write = (content: string, expectedVersion: string | null, documents = backend()) =>
  documents.write({ key, content, expectedVersion, signal: neverAborted() });

/** What the client's own retries would do is tried where a test says so; the rest sees the first failure. */
function withoutClientRetries(): void {
  vi.stubEnv("VERCEL_BLOB_RETRIES", "0");
}

/**
 * Makes time stand still, so that only what a test does can end a wait. `begun` settles when the client starts the wait
 * before its second try, which is one to two seconds long.
 */
function stopTime(): { readonly begun: Promise<void>; readonly waits: readonly number[] } {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const waits: number[] = [];
  const setFakeTimeout = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (callback: (...rest: unknown[]) => void, delayMs: number, ...rest: unknown[]) => {
    if (delayMs >= 1_000 && delayMs <= 2_000) {
      waits.push(delayMs);
      resolve();
    }
    return setFakeTimeout(callback, delayMs, ...rest);
  });
  return { begun, waits };
}

async function keysOf(documents: MemoryDocumentBackend, signal: AbortSignal): Promise<string[]> {
  const keys: string[] = [];
  for await (const each of documents.keys?.({ signal }) ?? []) keys.push(each);
  return keys;
}

function requested(operation: BlobOperation): number {
  return service.requests.filter((request) => request.operation === operation).length;
}

async function failureOf(running: Promise<unknown>): Promise<unknown> {
  const outcome = await running.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome) return outcome.error;
  throw new Error(`It should have failed, and answered ${inspect(outcome.value)}.`);
}

/** File memory over a backend, called as a host calls it, for the one scope of these tests. */
function memory({ backend: documents = backend(), ...options }: FileMemoryOptions = {}) {
  const provider = fileMemory({ backend: documents, ...options });
  const slot = { slot: "profile", scope: { key, namespace: "tests", value: "ada" } };
  let calls = 0;
  const session = { id: `session-${Math.random()}` };
  const use = async (name: string, input: unknown, context: { callId?: string; abortSignal?: AbortSignal } = {}) => {
    calls += 1;
    const tool = (await provider.tools?.({ memory: slot } as unknown as MemoryToolsContext))?.[name];
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    const full = { callId: `call-${calls}`, abortSignal: neverAborted(), session, ...context };
    return tool.execute(input as never, full as unknown as MemoryToolContext);
  };
  return {
    save: (text: string, context?: Parameters<typeof use>[2]) =>
      use("save_memory", { text }, context) as Promise<SaveResult>,
    remove: (index: number, context?: Parameters<typeof use>[2]) =>
      use("remove_memory", { index }, context) as Promise<RemoveResult>,
    recall: async (abortSignal = neverAborted()): Promise<string | null> => {
      const context = { memory: slot, abortSignal, messages: [] } as unknown as MemoryTurnContext;
      const result = await provider.recall["turn.started"](context);
      return result?.messages.map(({ content }) => content).join("\n") ?? null;
    },
  };
}

function entriesOf(document: string | undefined): string[] {
  return (document ?? "").split("\n").flatMap((line) => /^[0-9]+: (.*)$/.exec(line)?.[1] ?? []);
}

const storedEntries = (): string[] => entriesOf(service.objects.get(pathname)?.content);

describe("a document", () => {
  it("is created once, and creating it again is a conflict that leaves it as it was", async () => {
    const created = await write("first", null);
    expect(created).toEqual({ content: "first", version: service.objects.get(pathname)?.etag });
    await expect(write("second", null)).rejects.toSatisfy(MemoryDocumentConflictError.isInstance);
    expect(await read()).toEqual(created);
  });

  it("is replaced where the version is still the one that was read", async () => {
    await write("first", null);
    const known = await read();
    const replaced = await write("second", known?.version ?? null);
    expect(replaced.version).not.toBe(known?.version);
    expect(await read()).toEqual({ content: "second", version: replaced.version });
  });

  it("is not replaced under a stale version: that is a conflict, found out with a single request", async () => {
    const { version } = await write("first", null);
    service.store(pathname, "by another process");
    const requestsBefore = service.requests.length;
    await expect(write("second", version)).rejects.toSatisfy(MemoryDocumentConflictError.isInstance);
    expect(service.requests).toHaveLength(requestsBefore + 1);
    expect((await read())?.content).toBe("by another process");
  });

  it("is not replaced where it has vanished: that is a conflict too", async () => {
    const { version } = await write("first", null);
    service.reset();
    await expect(write("second", version)).rejects.toSatisfy(MemoryDocumentConflictError.isInstance);
    expect(service.objects.size).toBe(0);
  });

  it("that cannot be understood is removed when its scope is erased", async () => {
    service.store(pathname, "{}");
    service.store("keepsake/memory/file/other/MEMORY.md", "stays");
    const { maintenance } = describeProvider(fileMemory({ backend: backend() })) ?? {};
    expect(await maintenance?.erase({ key })).toEqual({ erased: 0, status: "done" });
    expect([...service.objects.keys()]).toEqual(["keepsake/memory/file/other/MEMORY.md"]);
  });

  it("in a store that does not exist is a failure, and not a document that was never written", async () => {
    expect(await read()).toBeNull();
    service.fail("head", { kind: "no_store" });
    await expect(read()).rejects.toMatchObject({ name: "Error" });
    await expect(memory().recall()).rejects.toMatchObject({ code: "backend_failed" });
  });

  it("that appears while it is looked for is found", async () => {
    service.store(pathname, "just now");
    service.fail("get", { kind: "status", status: 404 }, { times: 1 });
    expect((await read())?.content).toBe("just now");
  });

  it("that was never written is null, and one that was is not", async () => {
    expect(await read()).toBeNull();
    service.store(pathname, "hällo ✓ 你好");
    expect((await read())?.content).toBe("hällo ✓ 你好");
  });

  it("is read as it is now, not as the service's cache remembers it", async () => {
    service.store(pathname, "old");
    // Anybody's plain read puts it in the cache.
    const { get } = await import("@vercel/blob");
    const cachedRead = async (): Promise<string> => {
      const found = await get(pathname, { access: "private", token: service.token });
      return new Response(found?.stream ?? null).text();
    };
    await cachedRead();
    service.store(pathname, "new");
    expect(await cachedRead()).toBe("old");
    expect((await read())?.content).toBe("new");
  });

  it("is private, and text in Markdown", async () => {
    await write("first", null);
    const put = service.requests.find(({ operation }) => operation === "put");
    expect(put?.headers.get("x-vercel-blob-access")).toBe("private");
    expect(service.objects.get(pathname)?.contentType).toBe("text/markdown; charset=utf-8");
  });
});

describe("pathnames", () => {
  it("are the prefix, the scope key and MEMORY.md", async () => {
    await write("first", null);
    expect([...service.objects.keys()]).toEqual([`keepsake/memory/file/${key}/MEMORY.md`]);
  });

  it("take another prefix, with or without outer slashes", async () => {
    await write("first", null, vercelBlob({ token: service.token, prefix: "//mine/too/" }));
    expect([...service.objects.keys()]).toEqual([`mine/too/${key}/MEMORY.md`]);
    expect((await read(vercelBlob({ token: service.token, prefix: "mine/too" })))?.content).toBe("first");
  });

  it.each(["", "/", "///"])("refuse the empty prefix %j", (prefix) => {
    expect(() => vercelBlob({ token: service.token, prefix })).toThrow(
      expect.objectContaining({ code: "invalid_options" }),
    );
  });

  it("hold no text of a key that is a person's name, and keep two such keys apart", async () => {
    const documents = backend();
    const signal = neverAborted();
    for (const name of ["../ada lovelace", "..%2Fada lovelace"]) {
      await documents.write({ key: name, content: `of ${name}`, expectedVersion: null, signal });
    }
    expect((await documents.read({ key: "../ada lovelace", signal }))?.content).toBe("of ../ada lovelace");
    expect((await documents.read({ key: "..%2Fada lovelace", signal }))?.content).toBe("of ..%2Fada lovelace");
    expect(service.objects.size).toBe(2);
    expect(
      [...service.objects.keys()].filter((path) => !/^keepsake\/memory\/file\/[0-9a-f]{66}\/MEMORY\.md$/.test(path)),
    ).toEqual([]);
  });

  it("find under eve/memory/file what eve's file memory kept there", async () => {
    service.store(
      `eve/memory/file/${encodeURIComponent(key)}/MEMORY.md`,
      "<!-- eve-memory-file-v1 lastAllocatedIndex=4 -->\n1: likes tea\n4: lives in Basel\n",
    );
    const { recall, save } = memory({ backend: vercelBlob({ token: service.token, prefix: "eve/memory/file" }) });
    expect(entriesOf((await recall()) ?? "")).toEqual(["likes tea", "lives in Basel"]);
    expect(await save("prefers trains")).toEqual({ saved: true, duplicate: false, index: 5 });
    expect(entriesOf((await recall()) ?? "")).toEqual(["likes tea", "lives in Basel", "prefers trains"]);
    expect(service.objects.size).toBe(1);
  });
});

describe("listing", () => {
  it("gives the keys of all documents under the prefix over several pages, and of nothing else", async () => {
    const keys = ["ada", "grace", "mary"].map((scope) => scopeKey({ namespace: "tests", scope }));
    for (const each of keys) service.store(`keepsake/memory/file/${each}/MEMORY.md`, "kept");
    const stranger = scopeKey({ namespace: "tests", scope: "stranger" });
    service.store(`keepsake/memory/file2/${stranger}/MEMORY.md`, "another prefix");
    service.store(`keepsake/memory/file/${stranger}`, "not a document");
    service.store(`keepsake/memory/file/${stranger}/memory.md`, "not a document");
    service.store("keepsake/memory/file/readme/MEMORY.md", "not a scope");

    const listed = await keysOf(backend(), neverAborted());
    expect(listed.toSorted()).toEqual(keys.toSorted());
    expect(requested("list")).toBe(3);
  });

  it("throws when a later page fails: a part never passes as the whole", async () => {
    withoutClientRetries();
    for (const scope of ["ada", "grace", "mary"]) {
      service.store(`keepsake/memory/file/${scopeKey({ namespace: "tests", scope })}/MEMORY.md`, "kept");
    }
    const seen: string[] = [];
    const listing = (async () => {
      for await (const each of backend().keys?.({ signal: neverAborted() }) ?? []) {
        seen.push(each);
        if (seen.length === 1) service.fail("list", { kind: "status", status: 503 });
      }
    })();
    await failureOf(listing);
    expect(seen).toHaveLength(2);
  });
});

describe("a failure of the service", () => {
  const faults: Record<string, BlobFault> = {
    "403": { kind: "status", status: 403 },
    "429": { kind: "status", status: 429 },
    "500": { kind: "status", status: 500 },
    "503": { kind: "status", status: 503 },
    "a broken connection": { kind: "lost_response" },
    "an answer cut short": { kind: "truncated" },
  };

  describe.each(Object.entries(faults))("%s", (_, fault) => {
    it("makes a read throw; it is never taken for no document", async () => {
      service.fail("get", fault, { times: 1 });
      service.store(pathname, "kept all along");
      expect(await failureOf(read())).toBeInstanceOf(Error);
      expect((await read())?.content).toBe("kept all along");
    });

    it("makes a replacing write throw, and not as a conflict", async () => {
      withoutClientRetries();
      const { version } = await write("first", null);
      service.fail("put", fault, { times: 1 });
      const failure = await failureOf(write("second", version));
      expect(MemoryDocumentConflictError.isInstance(failure)).toBe(false);
    });

    it("makes recall and the tools of file memory fail as backend_failed, and they work again after it", async () => {
      withoutClientRetries();
      const { save, remove, recall } = memory();
      await save("likes tea");
      service.fail("get", fault, { times: 3 });
      for (const operation of [recall, () => save("likes rain"), () => remove(0)]) {
        await expect(operation()).rejects.toMatchObject({ name: "MemoryError", code: "backend_failed" });
      }
      expect(entriesOf((await recall()) ?? "")).toEqual(["likes tea"]);
    });
  });

  it.each(["403", "429", "500", "503"])("%s makes a creating write throw, and nothing is created", async (status) => {
    withoutClientRetries();
    service.fail("put", { kind: "status", status: Number(status) as 403 | 429 | 500 | 503 }, { times: 1 });
    const failure = await failureOf(write("first", null));
    expect(MemoryDocumentConflictError.isInstance(failure)).toBe(false);
    expect(service.objects.size).toBe(0);
    expect((await write("first", null)).content).toBe("first");
  });

  it("is a wrong token too", async () => {
    service.store(pathname, "kept");
    const stranger = vercelBlob({ token: `vercel_blob_rw_${service.storeId}_wrong` });
    expect(await failureOf(read(stranger))).toBeInstanceOf(Error);
    expect(await failureOf(write("mine", null, stranger))).toBeInstanceOf(Error);
    expect((await read())?.content).toBe("kept");
  });

  it.each<[string, BlobFault, string]>([
    [
      "a page of a proxy",
      { kind: "wrong_body", body: "<html>Sign in</html>", contentType: "text/html" },
      "backend_failed",
    ],
    [
      "another file",
      { kind: "wrong_body", body: "<html>Hello</html>", contentType: "text/html", etag: '"page"' },
      "corrupt_store",
    ],
    ["the word that nothing changed", { kind: "status", status: 304 }, "backend_failed"],
  ])("is %s in place of the document: memory is not empty then, it cannot be read", async (_, fault, code) => {
    const { save, recall } = memory();
    await save("likes tea");
    service.fail("get", fault, { times: 1 });
    await expect(recall()).rejects.toMatchObject({ code });
    expect(entriesOf((await recall()) ?? "")).toEqual(["likes tea"]);
  });

  it.each([
    ["an error under a good status", JSON.stringify({ error: { code: "internal", message: "no" } })],
    ["a page of a proxy", "<html>Sign in</html>"],
  ])("is %s in answer to a write: the save does not count as done", async (_, body) => {
    withoutClientRetries();
    const { save } = memory();
    service.fail("put", { kind: "wrong_body", body, contentType: "application/json" }, { times: 1 });
    await expect(save("likes tea")).rejects.toMatchObject({ code: "backend_failed" });
    expect(storedEntries()).toEqual([]);
    expect(await save("likes tea")).toMatchObject({ saved: true, duplicate: false });
    expect(storedEntries()).toEqual(["likes tea"]);
  });

  it("is got over by the client's own retries where it passes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }).setTimerTickMode("nextTimerAsync");
    service.fail("put", { kind: "status", status: 503 }, { times: 2 });
    expect(await memory({ timeoutMs: 3_600_000 }).save("likes tea")).toMatchObject({ saved: true });
    expect(requested("put")).toBe(3);
    expect(storedEntries()).toEqual(["likes tea"]);
  });

  it.each([200, 404] as const)(
    "is an answer under %d that never ends: it is not waited for, and let go of",
    async (status) => {
      service.store(pathname, "kept");
      const { promise: hungUp, resolve: onHangUp } = Promise.withResolvers<void>();
      service.fail("get", { kind: "endless", status, onHangUp }, { times: 1 });
      const outcome = await read().catch((error: unknown) => error);
      if (status === 404) expect(outcome).toMatchObject({ content: "kept" });
      else expect(outcome).toMatchObject({ code: "backend_failed" });
      await hungUp;
    },
  );

  it("never shows memory, the key or the token in its error", async () => {
    withoutClientRetries();
    const { save, remove, recall } = memory();
    await save("canary: likes tea");
    const errors: unknown[] = [];
    for (const fault of [
      ...Object.values(faults),
      { kind: "wrong_body", body: `canary ${key} ${service.token}`, contentType: "application/json" },
    ] satisfies BlobFault[]) {
      for (const operation of ["get", "put"] as const) {
        service.fail(operation, fault, { times: 1 });
        errors.push(await failureOf(operation === "get" ? recall() : save(`canary ${errors.length}`)));
      }
    }
    service.fail("get", { kind: "status", status: 403 }, { times: 1 });
    errors.push(await failureOf(remove(0)));
    const brokenToken = vercelBlob({ token: `vercel_blob_rw_${service.storeId}_canary\nbroken over two lines` });
    errors.push(await failureOf(memory({ backend: brokenToken }).recall()));

    expect(errors.every(MemoryError.isInstance)).toBe(true);
    const everything = errors
      .map((error) => `${inspect(error, { depth: 9, showHidden: true })}${JSON.stringify(error)}`)
      .join("\n");
    expect(everything).toContain("The memory backend failed.");
    for (const secret of ["canary", key, service.token, "tokenSecretCanary"]) expect(everything).not.toContain(secret);
  });
});

describe("file memory over Vercel Blob", () => {
  it("shows one provider object what another has saved and removed", async () => {
    const here = memory();
    const there = memory();
    expect(await here.recall()).toBeNull();
    expect(await here.save("likes tea")).toEqual({ saved: true, duplicate: false, index: 0 });
    expect(await there.save("lives in Basel")).toEqual({ saved: true, duplicate: false, index: 1 });
    expect(entriesOf((await here.recall()) ?? "")).toEqual(["likes tea", "lives in Basel"]);
    expect(await there.remove(0)).toEqual({ removed: true, index: 0 });
    expect(entriesOf((await here.recall()) ?? "")).toEqual(["lives in Basel"]);
  });

  it("keeps every one of 20 saves made at once", async () => {
    const { save } = memory();
    const texts = Array.from({ length: 20 }, (_, index) => `fact ${index}`);
    const results = await Promise.all(texts.map((text) => save(text)));
    expect(storedEntries().toSorted()).toEqual(texts.toSorted());
    expect(new Set(results.map(({ index }) => index)).size).toBe(20);
  });

  it("keeps every save of two provider objects that make 10 each at once", async () => {
    const handles = [memory(), memory()];
    const texts = handles.flatMap((_, handle) => Array.from({ length: 10 }, (_, index) => `fact ${handle}.${index}`));
    await Promise.all(texts.map((text, index) => handles[index < 10 ? 0 : 1]?.save(text)));
    expect(storedEntries().toSorted()).toEqual(texts.toSorted());
  });

  it.each([
    ["creates the document", []],
    ["changes the document", ["lives in Basel"]],
  ])("saves once when the answer to the write that %s is lost and the call comes again", async (_, earlier) => {
    withoutClientRetries();
    const { save } = memory();
    for (const text of earlier) await save(text);
    service.fail("put", { kind: "lost_response" }, { times: 1 });
    const first = await save("likes tea", { callId: "same" }).catch((error: unknown) => error);
    const second = await save("likes tea", { callId: "same" });
    expect([first, second]).toContainEqual({ saved: true, duplicate: false, index: earlier.length });
    expect(second).toEqual({ saved: true, duplicate: false, index: earlier.length });
    expect(storedEntries()).toEqual([...earlier, "likes tea"]);
  });

  it("saves once when the client itself repeats a write whose answer was lost", async () => {
    const { save } = memory({ timeoutMs: 3_600_000 });
    await save("lives in Basel");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }).setTimerTickMode("nextTimerAsync");
    service.fail("put", { kind: "lost_response" }, { times: 1 });
    expect(await save("likes tea")).toEqual({ saved: true, duplicate: false, index: 1 });
    expect(storedEntries()).toEqual(["lives in Basel", "likes tea"]);
  });
});

describe("a caller that gives up", () => {
  const operations: readonly [string, BlobOperation, (signal: AbortSignal) => Promise<unknown>][] = [
    ["recall", "get", (signal) => memory().recall(signal)],
    ["save_memory while it reads", "get", (abortSignal) => memory().save("likes tea", { abortSignal })],
    ["save_memory while it writes", "put", (abortSignal) => memory().save("likes tea", { abortSignal })],
    ["remove_memory", "get", (abortSignal) => memory().remove(0, { abortSignal })],
    ["a read of the backend", "get", (signal) => backend().read({ key, signal })],
    [
      "a write of the backend",
      "put",
      (signal) => backend().write({ key, signal, content: "a", expectedVersion: null }),
    ],
    ["a listing", "list", (signal) => keysOf(backend(), signal)],
  ];

  it.each(operations)("ends %s during a hang with the reason it gave", async (_, operation, run) => {
    const { waits } = stopTime();
    service.fail(operation, { kind: "hang" });
    const reason = new Error("the user left");
    const controller = new AbortController();
    const arrived = service.nextRequest(operation);
    const running = failureOf(run(controller.signal));
    await arrived;
    controller.abort(reason);
    expect(await running).toBe(reason);
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(waits, "tries that the client still plans").toEqual([]);
    expect(requested(operation)).toBe(1);
  });

  it.each(operations.filter(([, operation]) => operation !== "get"))(
    "ends %s during the client's wait before its next try, which then never comes",
    async (_, operation, run) => {
      const { begun } = stopTime();
      service.fail(operation, { kind: "status", status: 503 });
      const reason = new Error("the user left");
      const controller = new AbortController();
      const running = failureOf(run(controller.signal));
      await begun;
      controller.abort(reason);
      expect(await running).toBe(reason);
      await vi.advanceTimersByTimeAsync(86_400_000);
      expect(requested(operation)).toBe(1);
    },
  );

  it.each(operations)("sends nothing for %s when it gave up before", async (_, __, run) => {
    const reason = new Error("the user left");
    expect(await failureOf(run(AbortSignal.abort(reason)))).toBe(reason);
    expect(service.requests).toEqual([]);
    await run(neverAborted());
    expect(service.requests).not.toEqual([]);
  });
});

describe("an answer that does not come", () => {
  it.each(["get", "put"] as const)(
    "to a %s is a timeout after timeoutMs of the clock, and the next call works",
    async (operation) => {
      const timers = new Map<() => void, number>();
      const clock = {
        now: () => 0,
        setTimer(callback: () => void, delayMs: number) {
          timers.set(callback, delayMs);
          return () => timers.delete(callback);
        },
      };
      const { save } = memory({ clock, timeoutMs: 1_234 });
      service.fail(operation, { kind: "hang" }, { times: 1 });
      const arrived = service.nextRequest(operation);
      const running = failureOf(save("likes tea"));
      await arrived;
      expect([...timers.values()]).toEqual([1_234]);
      for (const callback of timers.keys()) callback();
      expect(await running).toMatchObject({ name: "MemoryError", code: "timeout", retryable: true });
      expect(await save("likes tea")).toMatchObject({ saved: true, duplicate: false });
      expect(storedEntries()).toEqual(["likes tea"]);
    },
  );
});

it("a request to anywhere else fails, and these tests notice it", async () => {
  const elsewhere = vercelBlob({ token: "vercel_blob_rw_otherstore_secret" });
  expect(await failureOf(read(elsewhere))).toBeInstanceOf(Error);
  expect(service.strayRequests).toEqual([
    expect.stringContaining("https://otherstore.private.blob.vercel-storage.com/"),
  ]);
  service.reset();
});

describe("what is not set up", () => {
  it("is named when @vercel/blob is not installed", async () => {
    vi.doMock("@vercel/blob", () => {
      throw new Error("Cannot find package '@vercel/blob'");
    });
    try {
      for (const operation of [read(), write("first", null), memory().recall(), memory().save("likes tea")]) {
        await expect(operation).rejects.toMatchObject({
          code: "not_configured",
          message: expect.stringContaining("Install @vercel/blob"),
        });
      }
    } finally {
      vi.doUnmock("@vercel/blob");
    }
    expect(service.requests).toEqual([]);
    expect((await write("first", null)).content).toBe("first");
  });

  it("is named when there are no credentials, and nothing is sent", async () => {
    for (const name of ["BLOB_READ_WRITE_TOKEN", "BLOB_STORE_ID", "VERCEL_OIDC_TOKEN"]) vi.stubEnv(name, undefined);
    for (const documents of [vercelBlob(), vercelBlob({ oidcToken: "token" })]) {
      for (const operation of [
        read(documents),
        write("first", null, documents),
        memory({ backend: documents }).recall(),
      ]) {
        await expect(operation).rejects.toMatchObject({
          code: "not_configured",
          message: expect.stringContaining("BLOB_READ_WRITE_TOKEN"),
        });
      }
    }
    expect(service.requests).toEqual([]);
    vi.stubEnv("BLOB_READ_WRITE_TOKEN", service.token);
    expect((await write("first", null, vercelBlob())).content).toBe("first");
  });
});
