/** A service that has an address of its own: requests to it are answered by a backend, over a real wire. */
import { once } from "node:events";
import { createServer, get } from "node:http";
import { type AddressInfo, connect, Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import tls from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Backend } from "../backend.ts";
import { type HttpConnection, httpBackend } from "./http.ts";
import { connectUnencrypted, unguarded, watchNetwork } from "./net-guard.ts";
import { httpFault, notesService } from "./test-support/notes-service.ts";

const origin = "https://api.example.com";
const factory = httpBackend({ service: notesService, origin });
let away: Backend<HttpConnection>;
let detach: () => Promise<void>;

beforeEach(async () => {
  away = await factory.start({ now: () => 0 });
  detach = await (factory.attach?.(JSON.parse(JSON.stringify(away.connection))) ?? Promise.reject());
});
afterEach(async () => {
  await detach();
  await away.close();
});

const call = (init: RequestInit = {}) => fetch(`${origin}/v1/notes?x=1`, { method: "POST", body: "apples", ...init });

describe("a service with an address of its own", () => {
  test("is reached at that address, with everything that was sent", async () => {
    expect(away.connection.url).toBe(origin);
    const response = await call({ headers: { authorization: "Bearer key-1" } });
    expect(await response.json()).toEqual({ count: 1 });
    expect(response.headers.get("x-notes")).toBe("yes");
    expect(await away.contents()).toEqual(["apples"]);
    const [exchange] = away.observed();
    expect(exchange?.summary).toBe("POST /v1/notes?x");
    expect(exchange?.sent).toContain(`POST ${origin}/v1/notes?x=1`);
    expect(exchange?.sent).toContain("authorization: Bearer key-1");
    expect(exchange?.sent).toContain("host: api.example.com");
  });

  test("is reached by http.request, too", async () => {
    const plain = httpBackend({ service: notesService, origin: "http://plain.example.com" });
    const started = await plain.start({ now: () => 0 });
    const undo = await plain.attach?.(started.connection);
    const [response] = await once(get("http://plain.example.com/v1/notes"), "response");
    expect(await readText(response)).toBe('{"count":0}');
    expect((await call()).status).toBe(200);
    await undo?.();
    await started.close();
    expect(await away.contents()).toEqual(["apples"]);
  });

  test("fails there as it does on the wire", async () => {
    for (const name of ["connection reset", "answer lost after the commit"]) {
      away.inject(httpFault(name));
      await expect(call(), name).rejects.toThrow(TypeError);
    }
    expect(await away.contents()).toEqual(["apples"]);
    away.inject(httpFault("truncated JSON"));
    const truncated = await call();
    expect(truncated.status).toBe(200);
    await expect(truncated.text()).rejects.toThrow();
    away.inject(httpFault("HTTP 429"));
    expect((await call()).headers.get("retry-after")).toBe("7");
    away.heal();
    expect((await call()).status).toBe(200);
  });

  test("lets go of a client that gives up, before the answer and in it", async () => {
    away.inject(httpFault("no answer"));
    const abort = new AbortController();
    const hanging = call({ signal: abort.signal });
    while (away.observed().length < 1 || away.busy()) await new Promise(setImmediate);
    abort.abort(new Error("enough"));
    await expect(hanging).rejects.toThrow("enough");

    away.inject(httpFault("slow drip"));
    const again = new AbortController();
    const dripping = await call({ signal: again.signal });
    const reader = dripping.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    again.abort(new Error("enough"));
    await expect(reader?.read()).rejects.toThrow("enough");
    await expect.poll(() => away.busy()).toBe(false);
  });

  test("closes the connection behind a client that gives up", async () => {
    const closed: string[] = [];
    const left = Promise.withResolvers<void>();
    const server = createServer(({ url = "" }, response) => {
      if (url === "/begun") response.write("{");
      asked.get(url)?.resolve();
      response.once("close", () => {
        closed.push(url);
        if (closed.length === 2) left.resolve();
      });
    });
    const asked = new Map(["/silent", "/begun"].map((path) => [path, Promise.withResolvers<void>()]));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const forwardTo = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const undo = await factory.attach?.({ kind: "http", url: "https://quiet.example.com", forwardTo });
    const abort = new AbortController();
    const { signal } = abort;
    const silent = fetch("https://quiet.example.com/silent", { signal }).catch(() => "gone");
    const begun = await fetch("https://quiet.example.com/begun", { signal });
    await asked.get("/silent")?.promise;
    expect(closed).toEqual([]);
    abort.abort();
    expect(await silent).toBe("gone");
    await expect(begun.text()).rejects.toThrow();
    await left.promise;
    expect(closed.toSorted()).toEqual(["/begun", "/silent"]);
    await undo?.();
    server.close();
  });

  test("breaks a drip off when it is healed", async () => {
    away.inject(httpFault("slow drip"));
    const dripping = await call();
    const reader = dripping.body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    away.heal();
    await expect(reader?.closed).rejects.toThrow();
  });

  test("is reached past a network guard that allows nobody, which still catches others", async () => {
    const watch = watchNetwork({ allow: () => false });
    expect((await call()).status).toBe(200);
    await fetch("https://elsewhere.example.com/").catch(() => {});
    watch.stop();
    expect(watch.unexpected).toEqual(["elsewhere.example.com:443"]);
  });

  test("is reached past a guard that was there before it", async () => {
    await detach();
    for (const _ of ["once", "and again"]) {
      const watch = watchNetwork({ allow: () => false });
      detach = await (factory.attach?.(away.connection) ?? Promise.reject());
      expect((await call()).status).toBe(200);
      await fetch("http://elsewhere.example.com/").catch(() => {});
      watch.stop();
      expect(new Set(watch.unexpected)).toEqual(new Set(["elsewhere.example.com:80"]));
      expect((await call()).status).toBe(200);
      await detach();
    }
  });

  test("is not there any more after detaching", async () => {
    expect((await call()).status).toBe(200);
    await detach();
    const watch = watchNetwork({ allow: () => false });
    await expect(call()).rejects.toThrow("fetch failed");
    watch.stop();
    expect(watch.unexpected).toEqual(["api.example.com:443"]);
  });

  test("is reached by sockets with their callbacks, however its name is spelt", async () => {
    const calls: string[] = [];
    const secure = await new Promise<Socket>((resolve) => {
      const socket = tls.connect(443, "API.example.com.", {}, function (this: Socket) {
        calls.push(this === socket ? "secure" : "nobody's");
        resolve(socket);
      });
    });
    secure.end("GET /v1/notes HTTP/1.1\r\nhost: api.example.com\r\nconnection: close\r\n\r\n");
    expect(await readText(secure)).toContain('{"count":0}');
    for (const [origin, target] of [
      ["http://plain.example.com", { host: "plain.example.com", port: 80 }],
      ["http://[2001:db8::1]:8080", { host: "2001:db8::1", port: 8_080 }],
    ] as const) {
      const undo = await factory.attach?.({ ...away.connection, url: origin });
      await new Promise<void>((resolve) => {
        const socket = connect(target, () => {
          calls.push(origin);
          socket.destroy();
          resolve();
        });
      });
      await undo?.();
    }
    expect(calls).toEqual(["secure", "http://plain.example.com", "http://[2001:db8::1]:8080"]);
  });

  test("is not reached by those who do not encrypt where they have to, nor by those who do where they must not", async () => {
    const undo = await factory.attach?.({ ...away.connection, url: "http://plain.example.com:8080" });
    const watch = watchNetwork({ allow: () => true });
    await expect(fetch("http://api.example.com:443/")).rejects.toThrow("fetch failed");
    await expect(fetch("https://plain.example.com:8080/")).rejects.toThrow("fetch failed");
    expect((await fetch("http://plain.example.com:8080/")).status).toBe(200);
    watch.stop();
    await undo?.();
    expect(new Set(watch.unexpected)).toEqual(new Set(["api.example.com:443", "plain.example.com:8080"]));
    await expect(once(connect(443, "api.example.com"), "connect")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  test("gets nothing unencrypted of the kit's own work, which may ask the real one", () => {
    const target = { host: "api.example.com", port: 443 };
    const made = () => new Socket();
    expect(unguarded(() => connectUnencrypted(target, made))).toBeUndefined();
    const socket = connectUnencrypted(target, made);
    expect(socket).toBeInstanceOf(Socket);
    socket?.destroy();
  });

  test("is reached though somebody put back an earlier way to connect", async () => {
    const ours = Socket.prototype.connect;
    Socket.prototype.connect = () => {
      throw new Error("out to the real one");
    };
    try {
      expect((await call()).status).toBe(200);
    } finally {
      Socket.prototype.connect = ours;
    }
  });

  test("has an origin and nothing more for an address", () => {
    expect(() => httpBackend({ service: notesService, origin: "https://api.example.com/v1" })).toThrow("`origin`");
    expect(() => httpBackend({ service: notesService, origin: "api.example.com" })).toThrow("`origin`");
  });
});
