/** An answer arrives in pieces, cut anywhere: who reads each piece as a text of its own loses the letters at the edges. */
import { connect } from "node:net";
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import type { StoredRecord } from "../reference/record-store.ts";

const texts = ["Łukasz trinkt Tee.", "妹の誕生日は来月です。", "On Fridays 🍣🧭 at Éloïse's."];

const whole = defineCheck({
  id: "answers-in-pieces/whole",
  clause: "MEM-PCS-01",
  title: "Memories with letters of several bytes are read from answers that arrive byte by byte",
  needs: ["backend"],
  reasons: {
    cut: "Each piece of an answer is made a text by itself: join the bytes first, or decode them as a stream.",
    "not-read": "An answer is taken for whole before it is.",
  },
  async run(bench, fail) {
    const person = bench.someone(await bench.open());
    const told = texts.map((text) => `${text} ${bench.canary().text}`);
    for (const text of told) await person.write(text);
    const before = await shown(person);
    const seen = [...texts, ...told.flatMap((text) => text.split(" "))].filter((part) => before.includes(part));
    if (bench.backend.answerInPieces === undefined)
      return bench.notApplicable("Its backend sends nothing over a wire.");
    bench.backend.answerInPieces();
    const after = await bench.outcome(() => shown(person));
    bench.backend.heal();
    if (after.state !== "fulfilled")
      return fail("not-read", "From answers that arrived in pieces, nothing could be read.");
    if (after.value.includes("\ufffd")) fail("cut", "Letters had become U+FFFD.");
    if (seen.some((part) => !after.value.includes(part)))
      fail("not-read", "From answers that arrived in pieces, not everything was read.");
  },
});

export const answersInPieces: Family = defineFamily({
  name: "answers-in-pieces",
  clauses: [
    {
      id: "MEM-PCS-01",
      level: "MUST",
      profile: "base",
      sentence: "What is read does not depend on where the network cuts an answer into pieces.",
      source: "P14, C12",
    },
  ],
  checks: [whole],
  mutants: [
    {
      id: "answers-in-pieces/decodes-each",
      flaw: "Makes a text of each piece of an answer as it comes.",
      kills: { "answers-in-pieces/whole": "cut" },
      spares: ["language/verbatim", "freshness/current"],
      backend: "tcp",
      store: (store, connection) => ({
        ...store,
        async list(scope, signal) {
          signal.throwIfAborted();
          const { host, port } = Object(connection);
          const socket = connect({ host, port, signal });
          socket.write(`${JSON.stringify({ operation: "list", scope })}\n`);
          let reply = "";
          for await (const piece of socket) {
            reply += piece.toString();
            if (reply.endsWith("\n")) break;
          }
          return JSON.parse(reply).result as StoredRecord[];
        },
      }),
    },
    {
      id: "answers-in-pieces/first-only",
      flaw: "Takes the first piece of an answer for all of it.",
      kills: { "answers-in-pieces/whole": "not-read" },
      spares: ["language/verbatim", "freshness/current"],
      backend: "tcp",
      store: (store, connection) => ({
        ...store,
        list(scope, signal) {
          signal.throwIfAborted();
          const { host, port } = Object(connection);
          const socket = connect({ host, port, signal });
          socket.write(`${JSON.stringify({ operation: "list", scope })}\n`);
          return new Promise((resolve, reject) => {
            socket.once("error", reject).once("data", (piece) => {
              socket.destroy();
              try {
                resolve(JSON.parse(piece.toString()).result);
              } catch (error) {
                reject(error);
              }
            });
          });
        },
      }),
    },
  ],
});

/** What every read path shows when it is asked for each of the texts. */
async function shown(person: Person): Promise<string> {
  const readings = [];
  for (const text of texts) readings.push(await person.readings(text));
  return JSON.stringify(readings);
}
