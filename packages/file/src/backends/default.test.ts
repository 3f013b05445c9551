import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MemoryDocumentBackend } from "@keepsake/core";
import { scopeKey } from "@keepsake/core/keys";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { createBlobService } from "../test-support/blob-service.ts";
import { defaultBackend } from "./default.ts";
import { directory } from "./directory.ts";

const home = vi.hoisted(() => ({ folder: "", asked: 0 }));
vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  homedir: () => {
    home.asked += 1;
    return home.folder;
  },
}));

const service = createBlobService();
const key = scopeKey({ namespace: "tests", scope: "ada" });
let folder = "";

beforeAll(() => service.start());
afterAll(() => service.stop());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "keepsake-default-"));
  Object.assign(home, { folder: join(folder, "home"), asked: 0 });
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
  const stray = [...service.strayRequests];
  service.reset();
  expect(stray, "requests to anything but the Blob service").toEqual([]);
});

const signal = new AbortController().signal;
const read = (backend: MemoryDocumentBackend) => backend.read({ key, signal });
const write = (backend: MemoryDocumentBackend) =>
  backend.write({ key, signal, content: "kept", expectedVersion: null });
const keptUnder = async (root: string) => (await read(directory({ root })))?.content;

it("on Vercel without a Blob store fails with what to do, sends nothing and touches no file", async () => {
  const backend = defaultBackend({ VERCEL: "1", KEEPSAKE_HOME: folder });
  for (const operation of [
    () => read(backend),
    () => write(backend),
    () => backend.setAside?.({ key, signal }),
    () => backend.removeLeftovers?.({ key, signal }),
    async () => {
      for await (const _ of backend.keys?.({ signal }) ?? []);
    },
  ]) {
    await expect(operation()).rejects.toMatchObject({
      name: "MemoryError",
      code: "not_configured",
      message: expect.stringMatching(/connect a Blob store to the project.*fileMemory\(\{ backend \}\)/),
    });
  }
  expect(service.requests).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  expect(home.asked).toBe(0);
});

it("on Vercel with a read-write token keeps documents in Blob, whatever KEEPSAKE_HOME says", async () => {
  const backend = defaultBackend({ VERCEL: "1", BLOB_READ_WRITE_TOKEN: ` ${service.token}\n`, KEEPSAKE_HOME: folder });
  await write(backend);
  expect((await read(backend))?.content).toBe("kept");
  expect([...service.objects.keys()]).toEqual([`keepsake/memory/file/${key}/MEMORY.md`]);
  expect(readdirSync(folder)).toEqual([]);

  const listed: string[] = [];
  for await (const each of backend.keys?.({ signal }) ?? []) listed.push(each);
  expect(listed).toEqual([key]);
});

it("on Vercel with a store id uses the store's OIDC token", async () => {
  vi.stubEnv("VERCEL_OIDC_TOKEN", oidcToken);
  const backend = defaultBackend({ VERCEL: "1", BLOB_STORE_ID: `store_${service.storeId}` });
  await expect(write(backend)).rejects.toThrow(); // the service of these tests knows no OIDC token
  expect(service.requests.map(({ headers }) => headers.get("authorization"))).toContain(`Bearer ${oidcToken}`);
  expect(service.requests.map(({ headers }) => headers.get("x-vercel-blob-store-id"))).toContain(service.storeId);
});

it("on Vercel with a store id and no OIDC token falls back on the read-write token", async () => {
  vi.stubEnv("VERCEL_OIDC_TOKEN", undefined);
  vi.stubEnv("BLOB_READ_WRITE_TOKEN", service.token);
  vi.stubEnv("BLOB_STORE_ID", service.storeId);
  vi.stubEnv("VERCEL", "1");
  await write(defaultBackend());
  expect(service.objects.size).toBe(1);
});

it.each([
  ["", "1"],
  ["  ", "1"],
])("takes a variable that is set to %j as not set", async (blank) => {
  await expect(read(defaultBackend({ VERCEL: "1", BLOB_READ_WRITE_TOKEN: blank }))).rejects.toMatchObject({
    code: "not_configured",
  });
  await write(defaultBackend({ VERCEL: blank, BLOB_READ_WRITE_TOKEN: service.token, KEEPSAKE_HOME: blank }));
  expect(service.requests).toEqual([]);
  expect(await keptUnder(join(home.folder, ".keepsake", "file"))).toBe("kept");
});

it("elsewhere keeps documents under KEEPSAKE_HOME, also where a Blob token is set", async () => {
  const backend = defaultBackend({ KEEPSAKE_HOME: join(folder, "mine"), BLOB_READ_WRITE_TOKEN: service.token });
  await write(backend);
  expect(await keptUnder(join(folder, "mine", "file"))).toBe("kept");
  expect(readdirSync(join(folder, "mine"))).toEqual(["file"]);
  expect(existsSync(home.folder)).toBe(false);
  expect(service.requests).toEqual([]);
});

it("elsewhere keeps documents in .keepsake in the home folder when KEEPSAKE_HOME is not set", async () => {
  await write(defaultBackend({}));
  expect(await keptUnder(join(home.folder, ".keepsake", "file"))).toBe("kept");
  expect(readdirSync(home.folder)).toEqual([".keepsake"]);
});

it("makes a failed choice again, and keeps a good one", async () => {
  const environment: Record<string, string> = { VERCEL: "1" };
  const backend = defaultBackend(environment);
  await expect(write(backend)).rejects.toMatchObject({ code: "not_configured" });
  environment.BLOB_READ_WRITE_TOKEN = service.token;
  expect((await write(backend)).content).toBe("kept");

  delete environment.VERCEL;
  environment.KEEPSAKE_HOME = folder;
  expect((await read(backend))?.content).toBe("kept");
  expect(readdirSync(folder)).toEqual([]);
});

it("reads the environment and the disk at the first operation: not at import, nor when it is made", async () => {
  const environment = process.env;
  const asked = new Set<unknown>();
  const mine = join(folder, "mine");
  process.env = new Proxy<NodeJS.ProcessEnv>(
    { ...environment, KEEPSAKE_HOME: mine },
    {
      get(target, name) {
        asked.add(name);
        return Reflect.get(target, name);
      },
    },
  );
  try {
    vi.resetModules();
    const { fileMemory, vercelBlob } = await import("../index.ts");
    const fresh = await import("./default.ts");
    fileMemory();
    vercelBlob();
    const backend = fresh.defaultBackend();
    expect([...asked].filter((name) => /KEEPSAKE|VERCEL|BLOB|HOME/.test(String(name)))).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    expect(home.asked).toBe(0);

    await write(backend);
    expect([...asked]).toEqual(expect.arrayContaining(["VERCEL", "KEEPSAKE_HOME"]));
    expect(await keptUnder(join(mine, "file"))).toBe("kept");
  } finally {
    process.env = environment;
  }
});

/** Unsigned, and good for a hundred years: the client asks for another when it sees one that has expired. */
const oidcToken = ["{}", JSON.stringify({ exp: Math.floor(Date.now() / 1_000) + 3_155_760_000 }), "signature"]
  .map((part) => Buffer.from(part).toString("base64url"))
  .join(".");
