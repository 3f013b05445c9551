/** One answer of each kind of backend is kept back, and whoever asks meanwhile gets theirs. */
import { once } from "node:events";
import { existsSync, readFile as readByCallback } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { Backend } from "../backend.ts";
import { watch } from "../time/wait.ts";
import { directoryBackend } from "./directory.ts";
import { httpBackend } from "./http.ts";
import { tcpBackend } from "./tcp.ts";
import { notesService } from "./test-support/notes-service.ts";
import { byCallback } from "./test-support/outcome.ts";

interface Case {
  readonly backend: Backend;
  ask(): Promise<unknown>;
  /** What the first and the second answer are. */
  readonly answers: readonly [unknown, unknown];
}

let started: Backend | undefined;
afterEach(() => started?.close());

async function overHttp(): Promise<Case> {
  const backend = await httpBackend({ service: notesService }).start({ now: () => 0 });
  const { url } = backend.connection;
  const ask = async () => (await fetch(url, { method: "POST", body: "note" })).json();
  return { backend, ask, answers: [{ count: 1 }, { count: 2 }] };
}

async function overTcp(
  answer = (socket: Socket, asked: number): unknown => socket.write(String(asked)),
): Promise<Case> {
  let asked = 0;
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", () => {
        asked += 1;
        answer(socket, asked);
      });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => void server.close();
  const behind = { host: "127.0.0.1", port, contents: async () => [], close };
  const backend = await tcpBackend({ server: async () => behind }).start({ now: () => 0 });
  const ask = async () => {
    const socket = connect(backend.connection).on("error", () => {});
    socket.write("?");
    const [answer] = await once(socket, "data");
    socket.destroy();
    return String(answer);
  };
  return { backend, ask, answers: ["1", "2"] };
}

async function overFiles(read: (path: string) => Promise<unknown>): Promise<Case> {
  const backend = await directoryBackend().start({ now: () => 0 });
  const path = join(backend.connection.root, "notes.txt");
  await writeFile(path, "kept");
  return {
    backend,
    ask: async () => String(await read(path)),
    answers: ["kept", "kept"],
  };
}

describe.each([
  ["http", overHttp],
  ["tcp", () => overTcp()],
  ["directory, by promises", () => overFiles((path) => readFile(path))],
  ["directory, by callbacks", () => overFiles((path) => byCallback<Buffer>((done) => readByCallback(path, done)))],
])("a backend (%s)", (_, start) => {
  it("keeps one answer back until it is released", async () => {
    const { backend, ask, answers } = await start();
    started = backend;
    const held = backend.hold();
    const first = watch(ask());
    while (!held.isHeld()) await new Promise(setImmediate);
    expect(await ask()).toEqual(answers[1]);
    expect([first.outcome.state, backend.busy()]).toEqual(["pending", true]);
    held.release();
    await first.settled;
    expect(first.outcome).toEqual({ state: "fulfilled", value: answers[0] });
    expect(backend.busy()).toBe(false);
  });

  it("keeps back the one that comes after some", async () => {
    const { backend, ask, answers } = await start();
    started = backend;
    const held = backend.hold({ after: 1 });
    expect(await ask()).toEqual(answers[0]);
    const second = watch(ask());
    while (!held.isHeld()) await new Promise(setImmediate);
    expect(second.outcome.state).toBe("pending");
    backend.heal();
    await second.settled;
    expect(second.outcome).toEqual({ state: "fulfilled", value: answers[1] });
  });

  it("keeps nothing back that was released before it was asked", async () => {
    const { backend, ask, answers } = await start();
    started = backend;
    const held = backend.hold();
    held.release();
    expect([await ask(), held.isHeld()]).toEqual([answers[0], false]);
  });
});

it("a server that leaves behind its answer does not take it along", async () => {
  const { backend, ask } = await overTcp((socket) => socket.end("last"));
  started = backend;
  const held = backend.hold();
  const first = watch(ask());
  while (!held.isHeld()) await new Promise(setImmediate);
  await new Promise(setImmediate);
  expect([first.outcome.state, backend.busy()]).toEqual(["pending", true]);
  held.release();
  await first.settled;
  expect(first.outcome).toEqual({ state: "fulfilled", value: "last" });
});

it("what is at once or meets a fault is passed over, and what fails is kept back too", async () => {
  const { backend, ask, answers } = await overFiles((path) => readFile(path));
  started = backend;
  const { root } = backend.connection as { root: string };
  const held = backend.hold();
  existsSync(root);
  backend.inject({ name: "EIO", kind: "EIO" }, { after: 0 });
  await expect(ask()).rejects.toThrow("EIO");
  expect(held.isHeld()).toBe(false);
  backend.inject({ name: "EIO", kind: "EIO" }, { after: 10 });
  const missing = watch(readFile(join(root, "missing.txt")));
  while (!held.isHeld()) await new Promise(setImmediate);
  expect(missing.outcome.state).toBe("pending");
  held.release();
  await missing.settled;
  expect([missing.outcome.state, await ask()]).toEqual(["rejected", answers[0]]);
});

it("of two, each keeps back one answer", async () => {
  const { backend, ask } = await overHttp();
  started = backend;
  const both = [backend.hold(), backend.hold({ after: 1 })];
  const asked = [watch(ask()), watch(ask())];
  while (!both.every((held) => held.isHeld())) await new Promise(setImmediate);
  for (const held of both) held.release();
  await Promise.all(asked.map(({ settled }) => settled));
  expect(asked.map(({ outcome }) => outcome.state)).toEqual(["fulfilled", "fulfilled"]);
});

it("an operation on files whose arguments are refused at once is over", async () => {
  const { backend } = await overFiles((path) => readFile(path));
  started = backend;
  const { root } = backend.connection as { root: string };
  expect(() => readByCallback(join(root, "notes.txt"), { encoding: "bogus" as never }, () => {})).toThrow("encoding");
  expect(backend.busy()).toBe(false);
});

it("a file that was read before it was replaced is answered as it was", async () => {
  const backend = await directoryBackend().start({ now: () => 0 });
  started = backend;
  const path = join(backend.connection.root, "notes.txt");
  await writeFile(path, "before");
  const held = backend.hold();
  const read = readFile(path, "utf8");
  while (!held.isHeld()) await new Promise(setImmediate);
  await writeFile(path, "after");
  held.release();
  expect([await read, await readFile(path, "utf8")]).toEqual(["before", "after"]);
});
