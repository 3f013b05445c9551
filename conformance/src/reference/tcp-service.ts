/** The reference service over TCP, one JSON line a request and one a reply, and the client of it. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TcpServer } from "../backends/tcp.ts";
import { answerTo } from "./http-service.ts";
import type { PutResult, RecordStore, StoredRecord } from "./record-store.ts";
import { RecordTable } from "./record-table.ts";

export async function recordServer({ now }: { readonly now: () => number }): Promise<TcpServer> {
  const table = new RecordTable(now);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    let unread = "";
    // Not readline, which takes U+2028 within a text for the end of a line.
    socket.setEncoding("utf8").on("data", (chunk) => {
      const lines = `${unread}${chunk}`.split("\n");
      unread = lines.pop() ?? "";
      for (const line of lines) {
        const { operation, ...body } = Object(JSON.parse(line));
        socket.write(`${JSON.stringify({ result: answerTo(table, String(operation), body) })}\n`);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server's address is one
  return {
    host: "127.0.0.1",
    port,
    contents: async () => table.contents(),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A connection for each request: nothing is left open. */
export function tcpRecordStore({ host, port }: { readonly host: string; readonly port: number }): RecordStore {
  const ask = async (operation: string, body: object, signal: AbortSignal): Promise<unknown> => {
    signal.throwIfAborted();
    const socket = connect({ host, port });
    const stop = (): void => void socket.destroy(new TypeError("stopped"));
    signal.addEventListener("abort", stop, { once: true });
    try {
      socket.write(`${JSON.stringify({ operation, ...body })}\n`);
      let reply = "";
      for await (const chunk of socket.setEncoding("utf8")) {
        reply += chunk;
        if (reply.endsWith("\n")) return Reflect.get(Object(JSON.parse(reply)), "result");
      }
      throw new TypeError("The connection ended before the reply did.");
    } finally {
      signal.removeEventListener("abort", stop);
      socket.destroy();
    }
  };
  return {
    durable: true,
    expiry: "native",
    list: async (scope, signal) => (await ask("list", { scope }, signal)) as StoredRecord[],
    put: async (scope, record, signal) => (await ask("put", { scope, record }, signal)) as PutResult,
    remove: async (scope, id, signal) => (await ask("remove", { scope, id }, signal)) as boolean,
    pin: async (scope, id, ids, signal) => (await ask("pin", { scope, id, ids }, signal)) as string[],
    scopes: async (signal) => (await ask("scopes", {}, signal)) as string[],
  };
}
