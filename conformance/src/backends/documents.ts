/**
 * A store of documents over HTTP, for providers that keep one document per scope and take their storage as an object: all
 * that an HTTP backend can do wrong, they are put through.
 */
import {
  type Clock,
  inMemoryDocuments,
  type MemoryDocument,
  type MemoryDocumentBackend,
  MemoryDocumentConflictError,
  MemoryError,
  systemClock,
  withDeadline,
} from "@keepsake/core";
import type { BackendFactory, Connection } from "../backend.ts";
import { type HttpService, httpBackend } from "./http.ts";

type HttpConnection = Extract<Connection, { kind: "http" }>;

/** The backend. {@link httpDocuments} is what a provider is given of it. */
export function documentsBackend(): BackendFactory<HttpConnection> {
  return httpBackend({ service: documentService });
}

export interface HttpDocumentsOptions {
  readonly clock?: Clock;
  /** Time for one request, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number;
}

/** Documents of a {@link documentsBackend}: what `fileMemory({ backend })` takes, Keepsake's and eve's. */
export function httpDocuments(
  { url }: HttpConnection,
  options: HttpDocumentsOptions = {},
): Required<Pick<MemoryDocumentBackend, "durable" | "read" | "write" | "keys">> {
  const { clock = systemClock, timeoutMs = 10_000 } = options;
  const ask = (path: string, signal: AbortSignal, init: RequestInit = {}): Promise<{ status: number; body: unknown }> =>
    withDeadline({ signal, timeoutMs, clock }, async (running) => {
      const response = await fetch(`${url}/documents${path}`, { ...init, signal: running });
      if (![200, 412].includes(response.status)) {
        await response.body?.cancel();
        throw new MemoryError("backend_failed", "The document service refused.", { cause: response, retryable: true });
      }
      return { status: response.status, body: await response.json() };
    });
  const pathOf = (key: string): string => `/${encodeURIComponent(key)}`;
  return {
    durable: true,
    async read({ key, signal }) {
      const { body } = await ask(pathOf(key), signal);
      const document: unknown = Reflect.get(Object(body), "document");
      if (document !== null && !isDocument(document)) throw new MemoryError("backend_failed", "That is no document.");
      return document;
    },
    async write({ key, signal, content, expectedVersion }) {
      const headers = { "content-type": "application/json" };
      const put = { method: "PUT", headers, body: JSON.stringify({ content, expectedVersion }) };
      const { status, body } = await ask(pathOf(key), signal, put);
      if (status === 412) throw new MemoryDocumentConflictError(key);
      if (!isDocument(body)) throw new MemoryError("backend_failed", "That is no document.");
      return body;
    },
    async *keys({ signal }) {
      const { body } = await ask("", signal);
      const keys: unknown = Reflect.get(Object(body), "keys");
      if (!Array.isArray(keys)) throw new MemoryError("backend_failed", "These are no keys.");
      yield* keys.map(String);
    },
  };
}

/** `GET /documents`, `GET /documents/<key>`, `PUT /documents/<key>` with the version that it replaces. */
function documentService(): HttpService {
  const documents = inMemoryDocuments();
  const { signal } = new AbortController();
  const keys = async (): Promise<string[]> => {
    const all: string[] = [];
    for await (const key of documents.keys?.({ signal }) ?? []) all.push(key);
    return all;
  };
  return {
    async contents() {
      const held = (await keys()).map(async (key) => JSON.stringify([key, await documents.read({ key, signal })]));
      return Promise.all(held);
    },
    async fetch(request) {
      const key = decodeURIComponent(new URL(request.url).pathname.replace(/^\/documents\/?/, ""));
      if (key === "") return Response.json({ keys: await keys() });
      if (request.method === "GET") return Response.json({ document: await documents.read({ key, signal }) });
      const { content, expectedVersion } = Object(await request.json());
      try {
        return Response.json(await documents.write({ key, signal, content, expectedVersion }));
      } catch (error) {
        if (!MemoryDocumentConflictError.isInstance(error)) throw error;
        return Response.json({ error: "conflict" }, { status: 412 });
      }
    },
  };
}

function isDocument(value: unknown): value is MemoryDocument {
  const { content, version } = Object(value);
  return typeof content === "string" && typeof version === "string" && version !== "";
}
