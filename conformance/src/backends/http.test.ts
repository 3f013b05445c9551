import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Backend } from "../backend.ts";
import { type HttpConnection, httpBackend } from "./http.ts";
import { httpFault, notesService } from "./test-support/notes-service.ts";

let backend: Backend<HttpConnection>;
let url: string;

beforeEach(async () => {
  backend = await httpBackend({ service: notesService }).start({ now: () => 42 });
  url = backend.connection.url;
});

afterEach(() => backend.close());

const post = (text: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/v1/notes`, { method: "POST", body: text, ...init });

/** Until the backend has been asked this often and holds every answer back. */
async function untilHeld(requests: number): Promise<void> {
  while (backend.observed().length < requests || backend.busy()) await new Promise(setImmediate);
}

test("a service answers over the wire", async () => {
  const response = await post("apples");
  expect(response.status).toBe(200);
  expect(response.headers.get("x-notes")).toBe("yes");
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toEqual({ count: 1 });
  expect(await backend.contents()).toEqual(["apples"]);
  expect(backend.ports()).toEqual([Number(new URL(url).port)]);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test.each([401, 403, 404, 409, 429, 500, 503])("status %i, without the service being asked", async (status) => {
  backend.inject(httpFault(`HTTP ${status}`));
  const response = await post("apples");
  expect(response.status).toBe(status);
  expect(response.headers.get("retry-after")).toBe(status === 429 ? "7" : null);
  expect(await response.json()).toEqual({ error: "injected fault" });
  expect(await backend.contents()).toEqual([]);
  expect(backend.observed()).toHaveLength(1);
});

test("a reset connection, without the service being asked", async () => {
  backend.inject(httpFault("connection reset"));
  await expect(post("apples")).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNRESET" } });
  expect(await backend.contents()).toEqual([]);
  expect(backend.observed()).toHaveLength(1);
});

test("no answer, until the client gives up", async () => {
  backend.inject(httpFault("no answer"));
  const abort = new AbortController();
  const call = post("apples", { signal: abort.signal });
  await untilHeld(1);
  abort.abort(new Error("enough"));
  await expect(call).rejects.toThrow("enough");
  expect(await backend.contents()).toEqual([]);
});

test("no answer, until the fault is healed: then the connection breaks, and the next request is fine", async () => {
  backend.inject(httpFault("no answer"));
  const call = post("apples").then(
    () => "answered",
    () => "broken",
  );
  await untilHeld(1);
  backend.heal();
  expect(await call).toBe("broken");
  expect(await (await post("pears")).json()).toEqual({ count: 1 });
  expect(await backend.contents()).toEqual(["pears"]);
});

test("half of the JSON, after the service did its work", async () => {
  backend.inject(httpFault("truncated JSON"));
  const response = await post("apples");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-length")).toBe(String('{"count":1}'.length));
  await expect(response.json()).rejects.toThrow("terminated");
  expect(await backend.contents()).toEqual(["apples"]);

  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  expect(await readText(socket)).toMatch(/\r\n\r\n\{"cou$/);
});

test("a page where JSON was asked for, without the service being asked", async () => {
  backend.inject(httpFault("wrong content type"));
  const response = await post("apples");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html");
  expect(await response.text()).toContain("<!doctype html>");
  expect(await backend.contents()).toEqual([]);
});

test("200 with an error in it, without the service being asked", async () => {
  backend.inject(httpFault("200 with an error body"));
  const response = await post("apples");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ error: { message: "injected fault" } });
  expect(await backend.contents()).toEqual([]);
});

test("the answer is lost, and what was asked for is done", async () => {
  backend.inject(httpFault("answer lost after the commit"));
  await expect(post("apples")).rejects.toThrow("fetch failed");
  expect(await backend.contents()).toEqual(["apples"]);
});

test("an answer that begins and never ends", async () => {
  backend.inject(httpFault("slow drip"));
  const response = await post("apples");
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toMatch(/^ +$/);
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toMatch(/^ +$/);
  expect(backend.busy()).toBe(false);
  expect(await backend.contents()).toEqual(["apples"]);

  backend.heal();
  const drain = async () => {
    while (!(await reader?.read())?.done);
  };
  await expect(drain()).rejects.toThrow("terminated");
  expect((await post("pears")).status).toBe(200);
});

test("it drips while the kit holds time still", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  try {
    backend.inject(httpFault("slow drip"));
    const response = await post("apples");
    const reader = response.body?.getReader();
    for (const _ of ["a drop", "another"]) expect((await reader?.read())?.done).toBe(false);
    await reader?.cancel();
  } finally {
    vi.useRealTimers();
  }
});

test("a client can leave a slow drip", async () => {
  backend.inject(httpFault("slow drip"));
  const response = await post("apples");
  await response.body?.cancel();
  backend.heal();
  expect(await (await post("pears")).json()).toEqual({ count: 2 });
});

test("a fault can wait until some requests were answered", async () => {
  backend.inject(httpFault("HTTP 500"), { after: 2 });
  const statuses: number[] = [];
  for (const text of ["a", "b", "c", "d"]) statuses.push((await post(text)).status);
  expect(statuses).toEqual([200, 200, 500, 500]);
  backend.heal();
  expect((await post("e")).status).toBe(200);
  expect(await backend.contents()).toEqual(["a", "b", "e"]);
});

test("what was asked is told without content, and kept with it", async () => {
  await fetch(`${url}/v1/users/user-7f3a9/notes?q=secret&limit=1`, {
    method: "POST",
    headers: { authorization: "Bearer key-1" },
    body: "apples",
  });
  await fetch(`${url}/get/keepsake%3Aalice`);
  const [first, second] = backend.observed();
  expect(first?.summary).toBe("POST /v1/users/:id/notes?q&limit");
  expect(first?.atMs).toBe(42);
  for (const part of ["/v1/users/user-7f3a9/notes?q=secret&limit=1", "authorization: Bearer key-1", "apples"]) {
    expect(first?.sent).toContain(part);
  }
  expect(second?.summary).toBe("GET /get/:id");
});

test("a backend is busy while its service works, and not while a fault holds the answer back", async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const slow = await httpBackend({
    service: () => ({
      async fetch() {
        asked.resolve();
        await gate.promise;
        return new Response(null, { status: 204 });
      },
      contents: () => [],
    }),
  }).start({ now: Date.now });
  expect(slow.busy()).toBe(false);
  const call = fetch(slow.connection.url);
  await asked.promise;
  expect(slow.busy()).toBe(true);
  gate.resolve();
  expect((await call).status).toBe(204);
  await slow.close();
});

test("a service that throws answers 500, and its author finds out why", async () => {
  expect((await fetch(`${url}/broken`)).status).toBe(500);
  expect(backend.observed()[0]?.summary).toBe("GET /broken (the service threw RangeError)");
});

test("a fault of another kind of backend is refused", () => {
  expect(() => backend.inject({ name: "EIO", kind: "EIO" })).toThrow(TypeError);
});

test("closing does not wait for anybody", async () => {
  const idle = connect(Number(new URL(url).port), "127.0.0.1");
  await once(idle, "connect");
  backend.inject(httpFault("no answer"));
  const call = post("apples").catch(() => "broken");
  await untilHeld(1);
  await backend.close();
  expect(await call).toBe("broken");
  await expect(fetch(url)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
});

const client = `
  const { url } = JSON.parse(process.argv[1]);
  const response = await fetch(url + "/v1/notes", { method: "POST", body: "from a child" }).catch(() => undefined);
  console.log(response === undefined ? "failed" : response.status);
`;

async function child(connection: HttpConnection): Promise<string> {
  const running = spawn(process.execPath, ["--input-type=module", "--eval", client, JSON.stringify(connection)]);
  return (await readText(running.stdout)).trim();
}

test("another process reaches the same backend, and meets the same fault", async () => {
  expect(await child(backend.connection)).toBe("200");
  backend.inject(httpFault("HTTP 503"));
  expect(await child(backend.connection)).toBe("503");
  backend.inject(httpFault("answer lost after the commit"));
  expect(await child(backend.connection)).toBe("failed");
  expect(await backend.contents()).toEqual(["from a child", "from a child"]);
});
