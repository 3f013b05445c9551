/** The reference service over HTTP, and the client of it. */
import type { HttpService } from "../backends/http.ts";
import type { PutResult, RecordStore, StoredRecord } from "./record-store.ts";
import { RecordTable } from "./record-table.ts";

/** `POST /v1/<operation>` with a JSON body that names its scope; anything else is refused. */
export function recordService({ now }: { readonly now: () => number }): HttpService {
  const table = new RecordTable(now);
  return {
    contents: () => table.contents(),
    async fetch(request) {
      const operation = new URL(request.url).pathname.replace("/v1/", "");
      const body: unknown = await request.json();
      const answer = answerTo(table, operation, Object(body));
      return answer === undefined
        ? Response.json({ error: { message: "unknown request" } }, { status: 400 })
        : Response.json({ result: answer });
    },
  };
}

/** What the service makes of a request; `undefined` for one that it does not know. */
export function answerTo(table: RecordTable, operation: string, body: Readonly<Record<string, unknown>>): unknown {
  if (operation === "scopes") return table.scopes();
  const { scope, id, record, ids } = body;
  if (typeof scope !== "string" || scope === "") return undefined;
  if (operation === "list") return table.list(scope);
  if (operation === "put") return table.put(scope, record as StoredRecord); // our own client wrote it
  if (operation === "remove" && typeof id === "string") return table.remove(scope, id);
  if (operation === "pin" && typeof id === "string" && Array.isArray(ids)) return table.pin(scope, id, ids.map(String));
  return undefined;
}

/** A failed request, with what a retry has to know. Its message holds nothing of the request. */
class ServiceError extends Error {
  readonly status: number;
  /** As the service says it. */
  readonly retryAfter: string;
  /** When it said so, by its own clock. */
  readonly answeredAt: string;

  constructor(status: number, headers: Headers = new Headers()) {
    super("The record service refused.");
    this.name = "ServiceError";
    this.status = status;
    this.retryAfter = headers.get("retry-after") ?? "";
    this.answeredAt = headers.get("date") ?? "";
  }
}

export function httpRecordStore({
  url,
  credential,
}: {
  readonly url: string;
  readonly credential: string;
}): RecordStore {
  const ask = async (operation: string, body: object, signal: AbortSignal): Promise<unknown> => {
    const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
    const response = await fetch(`${url}/v1/${operation}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new ServiceError(response.status, response.headers);
    }
    const answer: unknown = await response.json();
    if (!Object.hasOwn(Object(answer), "result")) throw new ServiceError(502);
    return Reflect.get(Object(answer), "result");
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
