/** The reference store on a real Redis: records in a hash for each scope. And the server itself, started for the occasion. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { TcpServer } from "../backends/tcp.ts";
import type { PutResult, RecordStore, StoredRecord } from "../reference/record-store.ts";

type Reply = string | number | null | readonly Reply[];

/** One command on a connection of its own, so that nothing is left open. */
async function command(host: string, port: number, parts: readonly string[], signal: AbortSignal): Promise<Reply> {
  signal.throwIfAborted();
  const socket = connect({ host, port });
  const stop = (): void => void socket.destroy(new TypeError("stopped"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    socket.write(`*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join("")}`);
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk]);
      const reply = parsed(received.toString("latin1"), 0);
      if (reply !== undefined) return reply.value;
    }
    throw new TypeError("The connection ended before the reply did.");
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}

/** A reply in the protocol's second version; `undefined` while it is incomplete. */
function parsed(text: string, at: number): { readonly value: Reply; readonly end: number } | undefined {
  const lineEnd = text.indexOf("\r\n", at);
  if (lineEnd < 0) return undefined;
  const line = text.slice(at + 1, lineEnd);
  const end = lineEnd + 2;
  const type = text[at];
  if (type === "-") throw new TypeError("Redis refused.");
  if (type === "+") return { value: line, end };
  if (type === ":") return { value: Number(line), end };
  const length = Number(line);
  if (length < 0) return { value: null, end };
  if (type === "$") {
    if (text.length < end + length + 2) return undefined;
    const value = Buffer.from(text.slice(end, end + length), "latin1").toString("utf8");
    return { value, end: end + length + 2 };
  }
  const values: Reply[] = [];
  let next = end;
  for (let index = 0; index < length; index += 1) {
    const member = parsed(text, next);
    if (member === undefined) return undefined;
    values.push(member.value);
    next = member.end;
  }
  return { value: values, end: next };
}

const putScript = `
if redis.call("SISMEMBER", KEYS[2], ARGV[1]) == 1 then return "gone" end
if redis.call("HSETNX", KEYS[1], ARGV[1], ARGV[2]) == 1 then return "stored" end
return "known"`;
const removeScript = `
if redis.call("HDEL", KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call("SADD", KEYS[2], ARGV[1])`;

export function redisRecordStore({ host, port }: { readonly host: string; readonly port: number }): RecordStore {
  const ask = (signal: AbortSignal, ...parts: readonly string[]): Promise<Reply> => command(host, port, parts, signal);
  const keys = (scope: string): readonly [string, string] => [`{${scope}}:records`, `{${scope}}:gone`];
  const list = async (scope: string, signal: AbortSignal): Promise<readonly StoredRecord[]> => {
    const values = await ask(signal, "HVALS", keys(scope)[0]);
    if (!Array.isArray(values)) throw new TypeError("That is no list.");
    const records: StoredRecord[] = values.map((value) => JSON.parse(String(value)));
    // A hash has no order that stays the same from one page of a list to the next.
    return records.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  };
  return {
    durable: true,
    expiry: "checked",
    list,
    put: async (scope, record, signal) =>
      (await ask(signal, "EVAL", putScript, "2", ...keys(scope), record.id, JSON.stringify(record))) as PutResult,
    remove: async (scope, id, signal) => (await ask(signal, "EVAL", removeScript, "2", ...keys(scope), id)) === 1,
    async pin(scope, operation, ids, signal) {
      const key = `{${scope}}:pin:${operation}`;
      await ask(signal, "SET", key, JSON.stringify(ids), "NX");
      return JSON.parse(String(await ask(signal, "GET", key)));
    },
    async scopes(signal) {
      const found = await ask(signal, "KEYS", "*:records");
      if (!Array.isArray(found)) throw new TypeError("These are no keys.");
      return found.map((key) => String(key).slice(1, -"}:records".length));
    },
  };
}

/**
 * A redis-server of this machine, with nothing on disk. `null` where there is none.
 * @param somePort A port that is free, as far as can be known.
 */
export async function redisServer(somePort = freePort): Promise<TcpServer | null> {
  const folder = await mkdtemp(join(tmpdir(), "keepsake-redis-"));
  const started = await start(folder, somePort);
  if (started === null) {
    await rm(folder, { recursive: true });
    return null;
  }
  const { server, port } = started;
  const { signal } = new AbortController();
  const ask = (...parts: readonly string[]): Promise<Reply> => command("127.0.0.1", port, parts, signal);
  return {
    host: "127.0.0.1",
    port,
    async contents() {
      const keys = await ask("KEYS", "*");
      if (!Array.isArray(keys)) return [];
      const read: Readonly<Record<string, string[]>> = { hash: ["HGETALL"], set: ["SMEMBERS"], string: ["GET"] };
      return Promise.all(
        keys.map(async (key) => {
          const [verb = "GET"] = read[String(await ask("TYPE", String(key)))] ?? [];
          return JSON.stringify([key, await ask(verb, String(key))]);
        }),
      );
    },
    async close() {
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

/** A free port may be somebody's by the time the server wants it: then another one is tried. */
async function start(
  folder: string,
  somePort: () => Promise<number>,
): Promise<{ readonly server: ChildProcess; readonly port: number } | null> {
  let said = "";
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await somePort();
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
    const server = spawn("redis-server", args, { stdio: ["ignore", "pipe", "inherit"] });
    const lines: string[] = [];
    const state = await readiness(server, lines);
    if (state === "ready") return { server, port };
    if (state === "missing") return null;
    said = lines.slice(-3).join(" ");
  }
  throw new Error(`redis-server does not start: ${said}`);
}

async function readiness(server: ChildProcess, lines: string[]): Promise<"ready" | "missing" | "ended"> {
  return new Promise((resolve) => {
    server.once("error", () => resolve("missing")).once("close", () => resolve("ended"));
    createInterface({ input: server.stdout as Readable }).on("line", (line) => {
      lines.push(line);
      if (line.includes("Ready to accept connections")) resolve("ready");
    });
  });
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo; // a TCP server's address is one
  probe.close();
  await once(probe, "close");
  return port;
}
