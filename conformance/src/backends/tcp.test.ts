import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Backend, TcpFault } from "../backend.ts";
import { watchNetwork } from "./net-guard.ts";
import { type TcpConnection, type TcpServer, tcpBackend } from "./tcp.ts";

/** Keeps whatever it is sent, and answers `kept <what>`. Does not answer what begins with a question. */
async function keeper(): Promise<TcpServer> {
  const kept: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("data", (chunk) => {
      kept.push(chunk.toString());
      if (!kept.at(-1)?.startsWith("?")) socket.write(`kept ${chunk}`);
    });
    socket.on("end", () => socket.end());
    socket.on("error", () => {});
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    contents: async () => kept,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

let backend: Backend<TcpConnection>;

beforeEach(async () => {
  backend = await tcpBackend({ server: keeper }).start({ now: () => 42 });
});
afterEach(() => backend.close());

const dial = (): Socket => {
  const { host, port } = backend.connection;
  return connect(port, host).on("error", () => {});
};

/** What comes back until an answer is whole, the connection ends, or it breaks. */
async function ask(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const answered = new Promise<string>((resolve) => {
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
      if (answer === `kept ${text}`) resolve(answer);
    });
    socket.once("error", (error) => resolve(`${answer}!${"code" in error ? error.code : error.message}`));
    socket.once("close", () => resolve(`${answer}!closed`));
  });
  const answer = await answered;
  socket.removeAllListeners("data");
  return answer;
}

/** Somebody else's server, once the port is free. */
async function listening(port: number, host: string): Promise<Server> {
  const server = createServer().listen(port, host);
  const isListening = await new Promise<boolean>((resolve) => {
    server.once("listening", () => resolve(true)).once("error", () => resolve(false));
  });
  return isListening ? server : listening(port, host);
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

const fault = (kind: TcpFault["kind"]): TcpFault => ({ name: kind, kind });

test("a server answers through the proxy", async () => {
  const socket = dial();
  expect(await ask(socket, "apples")).toBe("kept apples");
  expect(await ask(socket, "pears")).toBe("kept pears");
  socket.destroy();
  expect(await backend.contents()).toEqual(["apples", "pears"]);
  expect(backend.observed()).toEqual([
    { summary: "6 bytes", sent: "apples", atMs: 42 },
    { summary: "5 bytes", sent: "pears", atMs: 42 },
  ]);
  expect(backend.ports()).toEqual([backend.connection.port]);
});

test("a client that has said everything still gets its answer", async () => {
  const socket = connect({ ...backend.connection, allowHalfOpen: true });
  socket.end("apples");
  expect(await readText(socket)).toBe("kept apples");
});

test("nobody can connect any more, who was connected is thrown out, and healed it is at the same address", async () => {
  const before = dial();
  await ask(before, "apples");
  const thrownOut = closed(before);
  backend.inject(fault("refused"));
  await thrownOut;
  expect(await ask(dial(), "pears")).toBe("!ECONNREFUSED");
  expect(await ask(dial(), "plums")).toBe("!ECONNREFUSED");
  backend.heal();
  expect(await ask(dial(), "figs")).toBe("kept figs");
  expect(await backend.contents()).toEqual(["apples", "figs"]);
});

test("healed, it comes back as soon as its port is free", async () => {
  backend.inject(fault("refused"));
  const { host, port } = backend.connection;
  const somebody = await listening(port, host);
  backend.heal();
  await new Promise(setImmediate);
  somebody.close();
  await vi.waitFor(async () => expect(await ask(dial(), "figs")).toBe("kept figs"));
});

test("nobody can connect any more after some answers", async () => {
  backend.inject(fault("refused"), { after: 2 });
  const socket = dial();
  const thrownOut = closed(socket);
  expect(await ask(socket, "a")).toBe("kept a");
  expect(await ask(socket, "b")).toBe("kept b");
  await thrownOut;
  expect(await ask(dial(), "c")).toBe("!ECONNREFUSED");
  expect(await backend.contents()).toEqual(["a", "b"]);
});

test("a reset, on connections old and new, without the server being asked", async () => {
  const before = dial();
  await ask(before, "apples");
  backend.inject(fault("reset"));
  expect(await ask(before, "pears")).toBe("!ECONNRESET");
  expect(await ask(dial(), "plums")).toBe("!ECONNRESET");
  backend.heal();
  expect(await ask(dial(), "figs")).toBe("kept figs");
  expect(await backend.contents()).toEqual(["apples", "figs"]);
  expect(backend.observed().map(({ sent }) => sent)).toEqual(["apples", "pears", "plums", "figs"]);
});

test("no answer, without the server being asked, until it is healed and the connection breaks", async () => {
  const before = dial();
  await ask(before, "apples");
  backend.inject(fault("hang"));
  const hanging = [ask(before, "pears"), ask(dial(), "plums")];
  while (backend.observed().length < 3) await new Promise(setImmediate);
  expect(backend.busy()).toBe(false);
  backend.heal();
  expect(await Promise.all(hanging)).toEqual(["!closed", "!closed"]);
  expect(await ask(dial(), "figs")).toBe("kept figs");
  expect(await backend.contents()).toEqual(["apples", "figs"]);
});

test("the answer is lost, and what was asked for is done", async () => {
  const before = dial();
  await ask(before, "apples");
  backend.inject(fault("lost-reply"));
  expect(await ask(before, "pears")).toBe("!closed");
  expect(await ask(dial(), "plums")).toBe("!closed");
  backend.heal();
  expect(await ask(dial(), "figs")).toBe("kept figs");
  expect(await backend.contents()).toEqual(["apples", "pears", "plums", "figs"]);
});

test("half an answer, and what was asked for is done", async () => {
  backend.inject(fault("half-reply"));
  expect(await ask(dial(), "apples")).toBe("kept !closed");
  backend.heal();
  expect(await ask(dial(), "figs")).toBe("kept figs");
  expect(await backend.contents()).toEqual(["apples", "figs"]);
});

test("a fault can wait until some requests were answered", async () => {
  backend.inject(fault("reset"), { after: 1 });
  const socket = dial();
  expect(await ask(socket, "a")).toBe("kept a");
  expect(await ask(socket, "b")).toBe("!ECONNRESET");
});

test("a backend is busy until its server replies", async () => {
  expect(backend.busy()).toBe(false);
  const socket = dial();
  socket.write("?");
  while ((await backend.contents()).length < 1) await new Promise(setImmediate);
  expect(backend.busy()).toBe(true);
  expect(await ask(socket, "apples")).toBe("kept apples");
  expect(backend.busy()).toBe(false);
});

test("a fault of another kind of backend is refused", () => {
  expect(() => backend.inject({ name: "drip", kind: "slow-drip" })).toThrow(TypeError);
});

test("closing does not wait for anybody", async () => {
  backend.inject(fault("hang"));
  const hanging = ask(dial(), "apples");
  while (backend.observed().length < 1) await new Promise(setImmediate);
  await backend.close();
  expect(await hanging).toMatch(/^!(closed|ECONNRESET)$/);
  expect(await ask(dial(), "pears")).toBe("!ECONNREFUSED");
});

test("a backend that has closed is not healed", async () => {
  backend.inject(fault("refused"));
  await backend.close();
  backend.heal();
  expect(await ask(dial(), "apples")).toBe("!ECONNREFUSED");
});

test("behind a network guard the proxy may be reached, and the server only by the proxy", async () => {
  let behind = 0;
  const guarded = await tcpBackend({
    server: async () => {
      const server = await keeper();
      behind = server.port;
      return server;
    },
  }).start({ now: () => 0 });
  const watch = watchNetwork({ allow: (_, port) => guarded.ports().includes(port) });
  expect(await ask(connect(guarded.connection), "apples")).toBe("kept apples");
  expect(await ask(connect(behind, "127.0.0.1"), "pears")).toBe("!ECONNREFUSED");
  watch.stop();
  expect(watch.unexpected).toEqual([`127.0.0.1:${behind}`]);
  expect(await guarded.contents()).toEqual(["apples"]);
  await guarded.close();
});

const client = `
  const { connect } = await import("node:net");
  const socket = connect(JSON.parse(process.argv[1]));
  socket.on("error", ({ code }) => console.log(code));
  socket.on("data", (chunk) => { console.log(String(chunk)); socket.destroy(); });
  socket.write("from a child");
`;

async function child(): Promise<string> {
  const asJson = JSON.stringify(backend.connection);
  const running = spawn(process.execPath, ["--input-type=module", "--eval", client, asJson]);
  return (await readText(running.stdout)).trim();
}

test("another process reaches the same backend, and meets the same fault", async () => {
  expect(await child()).toBe("kept from a child");
  backend.inject(fault("refused"));
  expect(await child()).toBe("ECONNREFUSED");
  backend.heal();
  expect(await child()).toBe("kept from a child");
  expect(await backend.contents()).toEqual(["from a child", "from a child"]);
});
