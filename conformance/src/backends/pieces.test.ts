import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import type { Readable } from "node:stream";
import { expect, it } from "vitest";
import { httpBackend } from "./http.ts";
import { inPieces } from "./pieces.ts";
import { tcpBackend } from "./tcp.ts";

const answer = "Zoë 🍣";

/** Some may meet on their way. */
const fewest = 4;

/** The pieces in which something arrives, until all of the answer has. */
async function piecesOf(stream: Readable): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) {
    pieces.push(piece);
    if (Buffer.concat(pieces).toString() === answer) break;
  }
  return pieces;
}

it("an HTTP answer arrives in pieces, until it is healed", async () => {
  const service = { fetch: () => new Response(answer), contents: () => [] };
  const backend = await httpBackend({ service: () => service }).start({ now: () => 0 });
  const ask = async () => piecesOf((await once(get(backend.connection.url, { agent: false }), "response"))[0]);
  backend.answerInPieces?.();
  expect((await ask()).length).toBeGreaterThan(fewest);
  backend.heal();
  expect(await ask()).toHaveLength(1);
  await backend.close();
});

it("a TCP answer arrives in pieces, until it is healed", async () => {
  const server = createServer((socket) => void socket.on("data", () => socket.write(answer)).on("error", () => {}));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const behind = { host: "127.0.0.1", port, contents: async () => [], close: async () => void server.close() };
  const backend = await tcpBackend({ server: async () => behind }).start({ now: () => 0 });
  const ask = async () => {
    const socket = connect(backend.connection);
    socket.write("?");
    return piecesOf(socket);
  };
  backend.answerInPieces?.();
  expect((await ask()).length).toBeGreaterThan(fewest);
  backend.heal();
  expect(await ask()).toHaveLength(1);
  await backend.close();
});

it("what is long comes in 2,000 pieces at most, and whole", async () => {
  const pieces: Buffer[] = [];
  await inPieces(Buffer.from("abc".repeat(1_500)), (piece) => pieces.push(piece));
  expect([pieces.length, Buffer.concat(pieces).toString()]).toEqual([1_500, "abc".repeat(1_500)]);
});
