import { type Fault, faults } from "../../backend.ts";
import type { HttpService } from "../http.ts";

/** Keeps the texts that it is sent, and answers how many there are. */
export function notesService(): HttpService {
  const kept: string[] = [];
  return {
    async fetch(request) {
      if (request.method === "POST") kept.push(await request.text());
      if (new URL(request.url).pathname === "/broken") throw new RangeError("out of order");
      return Response.json({ count: kept.length }, { headers: { "x-notes": "yes" } });
    },
    contents: () => kept,
  };
}

export function httpFault(name: string): Fault {
  const found = faults.http.find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no fault "${name}".`);
  return found;
}
