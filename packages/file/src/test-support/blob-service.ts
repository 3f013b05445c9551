/**
 * Vercel Blob with one private store, as far as documents need it: put, get and list over the wire of the real client,
 * with the service's error bodies. It keeps state, records every request, refuses what the service would not understand,
 * and fails on demand.
 */
import { createHash } from "node:crypto";
import { HttpRequestInterceptor } from "@mswjs/interceptors/http";
import { defineNetwork, InterceptorSource } from "msw/experimental";
import { HttpResponse, http } from "msw/http";

export type BlobOperation = "get" | "head" | "put" | "delete" | "list";

/** What goes wrong with a request. */
export type BlobFault =
  | { readonly kind: "status"; readonly status: 304 | 403 | 404 | 429 | 500 | 503 }
  /** The store behind the credentials does not exist. */
  | { readonly kind: "no_store" }
  /** No answer, ever. */
  | { readonly kind: "hang" }
  /** The request is carried out, and the connection breaks before the answer. */
  | { readonly kind: "lost_response" }
  /** The connection breaks in the middle of the answer. */
  | { readonly kind: "truncated" }
  /** Another answer under a good status, as a proxy or a maintenance page gives. */
  | { readonly kind: "wrong_body"; readonly body: string; readonly contentType: string; readonly etag?: string };

export interface BlobRequest {
  readonly operation: BlobOperation;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty for all but `put`. */
  readonly body: string;
}

export interface BlobObject {
  readonly content: string;
  readonly etag: string;
  readonly contentType: string;
}

export interface BlobService {
  readonly storeId: string;
  readonly token: string;
  /** By pathname. */
  readonly objects: ReadonlyMap<string, BlobObject>;
  readonly requests: readonly BlobRequest[];
  /** Requests to anywhere else. Whoever swallows their failure is found out here. */
  readonly strayRequests: readonly string[];
  /** Puts an object there without a request. */
  store(pathname: string, content: string): BlobObject;
  /** Fails the next requests of an operation, `times` of them or all that follow. */
  fail(operation: BlobOperation, fault: BlobFault, options?: { readonly times?: number }): void;
  /** Settles when a request of the operation has come in, counted from this call. */
  nextRequest(operation: BlobOperation): Promise<BlobRequest>;
  /** Forgets objects, requests and faults, and lets hanging requests go. */
  reset(): void;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const apiUrl = "https://vercel.com/api/blob";
const pathnameParameters = new Set(["pathname"]);
const listParameters = new Set(["prefix", "cursor", "limit"]);
const clientHeaders = new Set([
  "x-api-blob-request-attempt",
  "x-api-blob-request-id",
  "x-api-version",
  "x-vercel-blob-store-id",
]);
const putHeaders = new Set([
  ...clientHeaders,
  "x-add-random-suffix",
  "x-allow-overwrite",
  "x-content-type",
  "x-if-match",
  "x-vercel-blob-access",
]);

/** @param options.pageSize How many objects one page of a list has. */
export function createBlobService({ pageSize = 1_000 }: { readonly pageSize?: number } = {}): BlobService {
  const storeId = "teststore0123456";
  const token = `vercel_blob_rw_${storeId}_tokenSecretCanary7391`;
  const storeOrigin = `https://${storeId}.private.blob.vercel-storage.com`;

  const objects = new Map<string, BlobObject>();
  const cachedObjects = new Map<string, BlobObject>();
  const requests: BlobRequest[] = [];
  const strayRequests: string[] = [];
  const faults: { operation: BlobOperation; fault: BlobFault; left: number }[] = [];
  const waiting: { operation: BlobOperation; resolve: (request: BlobRequest) => void }[] = [];
  let letGo = Promise.withResolvers<void>();

  const store = (pathname: string, content: string, contentType = "text/markdown; charset=utf-8"): BlobObject => {
    // As in S3, the tag comes from the content alone.
    const object = { content, etag: `"${createHash("md5").update(content).digest("hex")}"`, contentType };
    objects.set(pathname, object);
    return object;
  };

  const answer =
    (operation: BlobOperation, respond: (request: BlobRequest) => Response) =>
    async ({ request: { url, headers, body } }: { request: Request }): Promise<Response> => {
      const request = {
        operation,
        url: new URL(url),
        headers,
        body: body === null ? "" : await new Response(body).text(),
      };
      requests.push(request);
      for (const waiter of waiting.filter((waiter) => waiter.operation === operation)) {
        waiting.splice(waiting.indexOf(waiter), 1);
        waiter.resolve(request);
      }
      const refused = headers.get("authorization") !== `Bearer ${token}`;
      if (refused)
        return errorResponse(403, "forbidden", "Access denied, please provide a valid token for this resource.");
      const fault = takeFault(operation);
      switch (fault?.kind) {
        case undefined:
          return respond(request);
        case "status":
          return statusResponse(fault.status);
        case "no_store":
          return errorResponse(404, "store_not_found", "This store does not exist.");
        case "hang":
          await letGo.promise;
          return HttpResponse.error();
        case "lost_response":
          respond(request);
          return HttpResponse.error();
        case "truncated":
          return truncated(respond(request));
        case "wrong_body":
          return new Response(fault.body, {
            headers: { "content-type": fault.contentType, ...(fault.etag === undefined ? {} : { etag: fault.etag }) },
          });
      }
    };

  const takeFault = (operation: BlobOperation): BlobFault | undefined => {
    const planned = faults.find((fault) => fault.operation === operation && fault.left > 0);
    if (planned !== undefined) planned.left -= 1;
    return planned?.fault;
  };

  const put = ({ url, headers, body }: BlobRequest): Response => {
    const pathname = url.searchParams.get("pathname") ?? "";
    const refusal =
      unknownParts(url, pathnameParameters, headers, putHeaders) ??
      (headers.get("x-vercel-blob-access") === "private" ? undefined : "this store is private") ??
      (headers.get("x-add-random-suffix") === "0" ? undefined : "a random suffix would hide the document") ??
      (pathname === "" || pathname.includes("//") ? "the pathname cannot be used" : undefined);
    if (refusal !== undefined) return badRequest(refusal);
    const known = objects.get(pathname);
    const expected = headers.get("x-if-match");
    if (expected !== null && known?.etag !== expected) {
      return errorResponse(412, "precondition_failed", "Precondition failed: ETag mismatch.");
    }
    if (known !== undefined && headers.get("x-allow-overwrite") !== "1") {
      return badRequest(
        "This blob already exists, use `allowOverwrite: true` if you want to overwrite it. " +
          "Or `addRandomSuffix: true` to generate a unique filename.",
      );
    }
    return HttpResponse.json(describe(pathname, store(pathname, body, headers.get("x-content-type") ?? "text/plain")));
  };

  const get = ({ url, headers }: BlobRequest): Response => {
    const pathname = decodeURIComponent(url.pathname.slice(1));
    const refusal = unknownParts(url, new Set(["cache"]), headers, new Set());
    if (refusal !== undefined) return badRequest(refusal);
    const current = objects.get(pathname);
    const cached = url.searchParams.get("cache") === "0" ? undefined : cachedObjects.get(pathname);
    const object = cached ?? current;
    if (object === undefined) return missingObject();
    cachedObjects.set(pathname, object);
    // What is compressed on its way gets another tag, which a conditional put then refuses.
    const etag = headers.get("accept-encoding") === "identity" ? object.etag : `W/${object.etag}`;
    return new Response(object.content, {
      headers: {
        etag,
        "content-type": object.contentType,
        "content-length": String(Buffer.byteLength(object.content)),
        "cache-control": "private, max-age=2592000",
        "last-modified": new Date(0).toUTCString(),
      },
    });
  };

  const head = ({ url, headers }: BlobRequest): Response => {
    const refusal = unknownParts(url, new Set(["url"]), headers, clientHeaders);
    if (refusal !== undefined) return badRequest(refusal);
    const pathname = url.searchParams.get("url") ?? "";
    const object = objects.get(pathname);
    if (object === undefined) return errorResponse(404, "not_found", "The requested blob does not exist.");
    return HttpResponse.json(describe(pathname, object));
  };

  const remove = ({ url, headers, body }: BlobRequest): Response => {
    const refusal = unknownParts(url, new Set(), headers, clientHeaders);
    if (refusal !== undefined) return badRequest(refusal);
    for (const pathname of JSON.parse(body).urls) objects.delete(pathname);
    return HttpResponse.json({});
  };

  const list = ({ url, headers }: BlobRequest): Response => {
    const refusal =
      unknownParts(url, listParameters, headers, clientHeaders) ??
      (url.searchParams.has("prefix") ? undefined : "a list without a prefix reads everybody's objects");
    if (refusal !== undefined) return badRequest(refusal);
    const after = Buffer.from(url.searchParams.get("cursor") ?? "", "base64url").toString();
    const matching = [...objects]
      .filter(([pathname]) => pathname.startsWith(url.searchParams.get("prefix") ?? "") && pathname > after)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    const page = matching.slice(0, Math.min(pageSize, Number(url.searchParams.get("limit") ?? pageSize)));
    const last = page.at(-1)?.[0];
    const hasMore = page.length < matching.length;
    return HttpResponse.json({
      blobs: page.map(([pathname, object]) => describe(pathname, object)),
      hasMore,
      ...(hasMore && last !== undefined ? { cursor: Buffer.from(last).toString("base64url") } : {}),
    });
  };

  const describe = (pathname: string, { content, contentType, etag }: BlobObject) => ({
    url: `${storeOrigin}/${pathname}`,
    downloadUrl: `${storeOrigin}/${pathname}?download=1`,
    pathname,
    contentType,
    contentDisposition: `attachment; filename="${pathname.split("/").at(-1)}"`,
    size: Buffer.byteLength(content),
    uploadedAt: new Date(0).toISOString(),
    etag,
  });

  const network = defineNetwork({
    // The client brings a fetch of its own, which only an interceptor of connections sees.
    sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
    handlers: [
      http.put(`${apiUrl}/`, answer("put", put)),
      http.post(`${apiUrl}/delete`, answer("delete", remove)),
      http.get(apiUrl, ({ request }) => {
        const isHead = new URL(request.url).searchParams.has("url");
        return isHead ? answer("head", head)({ request }) : answer("list", list)({ request });
      }),
      http.get(`${storeOrigin}/*`, answer("get", get)),
    ],
    context: { quiet: true },
    onUnhandledFrame: "error",
  });
  network.events.on("request:unhandled", ({ request }) => strayRequests.push(`${request.method} ${request.url}`));

  return {
    storeId,
    token,
    objects,
    requests,
    strayRequests,
    store,
    fail(operation, fault, { times = Number.POSITIVE_INFINITY } = {}) {
      faults.push({ operation, fault, left: times });
    },
    nextRequest(operation) {
      const { promise, resolve } = Promise.withResolvers<BlobRequest>();
      waiting.push({ operation, resolve });
      return promise;
    },
    reset() {
      objects.clear();
      cachedObjects.clear();
      for (const list of [requests, strayRequests, faults, waiting]) list.length = 0;
      letGo.resolve();
      letGo = Promise.withResolvers();
    },
    start: async () => network.enable(),
    stop: async () => network.disable(),
  };
}

function unknownParts(
  url: URL,
  parameters: ReadonlySet<string>,
  headers: Headers,
  knownHeaders: ReadonlySet<string>,
): string | undefined {
  const unknown = [
    ...[...url.searchParams.keys()].filter((name) => !parameters.has(name)),
    ...[...headers.keys()].filter((name) => name.startsWith("x-") && !knownHeaders.has(name)),
  ];
  return unknown.length === 0 ? undefined : `unknown parameters or headers: ${unknown.join(", ")}`;
}

function badRequest(message: string): Response {
  return errorResponse(400, "bad_request", message);
}

function statusResponse(status: 304 | 403 | 404 | 429 | 500 | 503): Response {
  switch (status) {
    case 304:
      return new Response(null, { status: 304, headers: { etag: '"another"' } });
    case 403:
      return errorResponse(403, "forbidden", "Access denied.");
    case 404:
      return missingObject();
    case 429:
      return errorResponse(429, "rate_limited", "Too many requests.", { "retry-after": "60" });
    case 500:
      return errorResponse(500, "internal_server_error", "Internal server error.");
    case 503:
      return errorResponse(503, "service_unavailable", "The service is not available.");
  }
}

function missingObject(): Response {
  return new Response("Not found", { status: 404, headers: { "content-type": "text/plain" } });
}

function errorResponse(status: number, code: string, message: string, headers: Record<string, string> = {}): Response {
  return HttpResponse.json({ error: { code, message } }, { status, headers });
}

/** Half of the body under the length of the whole, then an end of the connection once that half has been taken. */
function truncated(response: Response): Response {
  let sent = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (sent) return controller.error(new Error("The connection broke."));
        sent = true;
        const bytes = new Uint8Array(await response.arrayBuffer());
        controller.enqueue(bytes.subarray(0, Math.floor(bytes.length / 2)));
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: response.status, headers: response.headers });
}
