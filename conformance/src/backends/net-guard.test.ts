import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { get as secureGet } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as secureConnect } from "node:tls";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type NetworkWatch, unguarded, watchNetwork } from "./net-guard.ts";

let backend: Server;
let port: number;
let connections: number;
let watch: NetworkWatch;

beforeEach(async () => {
  connections = 0;
  backend = createServer((socket) => {
    connections += 1;
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"));
  });
  await once(backend.listen(0, "127.0.0.1"), "listening");
  port = (backend.address() as AddressInfo).port;
});

afterEach(() => {
  watch.stop();
  backend.close();
});

const guard = (...allowed: number[]): NetworkWatch => {
  watch = watchNetwork({ allow: (_, asked) => allowed.includes(asked) });
  return watch;
};

test("a provider reaches its backend by fetch, http.request and a bare socket", async () => {
  guard(port);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
  const [response] = await once(get({ host: "127.0.0.1", port }), "response");
  expect(response.resume().statusCode).toBe(200);
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
  expect(watch.unexpected).toEqual([]);
  expect(connections).toBe(3);
});

test("everybody else is refused and named, however they are asked", async () => {
  guard(port);
  await expect(fetch("http://telemetry.example:8080/")).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  await expect(fetch("https://203.0.113.7/")).rejects.toThrow("fetch failed");
  await expect(once(get("http://other.example/"), "response")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await expect(once(secureGet("https://secure.example/"), "response")).rejects.toThrow("secure.example:443");
  await expect(once(connect(6379, "db.example"), "connect")).rejects.toThrow("db.example:6379");
  await expect(once(connect({ port: 5432, host: "::1" }), "connect")).rejects.toThrow("::1:5432");
  await expect(once(secureConnect(993, "mail.example"), "secureConnect")).rejects.toThrow("mail.example:993");
  expect(watch.unexpected).toEqual([
    "telemetry.example:8080",
    "203.0.113.7:443",
    "other.example:80",
    "secure.example:443",
    "db.example:6379",
    "::1:5432",
    "mail.example:993",
  ]);
});

test("another port of loopback is refused, and nothing arrives there", async () => {
  guard();
  await expect(fetch(`http://localhost:${port}/`)).rejects.toThrow("fetch failed");
  expect(watch.unexpected).toEqual([`localhost:${port}`]);
  expect(connections).toBe(0);
});

test("an address outside is refused even where the callback approves of it", async () => {
  guard(443);
  await fetch("https://198.51.100.4/").catch(() => {});
  expect(watch.unexpected).toEqual(["198.51.100.4:443"]);
});

test("swallowing the error hides nothing", async () => {
  guard(port);
  await fetch("http://phone-home.example/").catch(() => {});
  connect(4000, "phone-home.example").on("error", () => {});
  expect(watch.unexpected).toEqual(["phone-home.example:80", "phone-home.example:4000"]);
});

test("a socket in the file system is let through", async () => {
  guard();
  const folder = mkdtempSync(join(tmpdir(), "net-guard-"));
  const path = join(folder, "socket");
  const pipe = createServer((socket) => socket.end());
  await once(pipe.listen(path), "listening");
  const socket = connect(path);
  await once(socket, "connect");
  socket.destroy();
  pipe.close();
  rmSync(folder, { recursive: true });
  expect(watch.unexpected).toEqual([]);
});

test("the kit's own connections are let through, and those after them are not", async () => {
  guard();
  expect(await unguarded(async () => (await fetch(`http://127.0.0.1:${port}/`)).text())).toBe("ok");
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  expect(watch.unexpected).toEqual([`127.0.0.1:${port}`]);
});

test("of two guards each keeps its own list, and either one refuses", async () => {
  const inner = watchNetwork({ allow: () => true });
  guard();
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow("fetch failed");
  inner.stop();
  expect(watch.unexpected).toHaveLength(1);
  expect(inner.unexpected).toEqual([]);
});

test("after the end connections are as before", async () => {
  guard().stop();
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
  expect(watch.unexpected).toEqual([]);
});
