/** Vercel Blob at its real addresses, for the tests of one process: it records every request and fails on demand. */
import { HttpRequestInterceptor } from "@mswjs/interceptors/http";
import { defineNetwork, InterceptorSource } from "msw/experimental";
import { http } from "msw/http";
import {
  apiOrigin,
  type BlobObject,
  type BlobOperation,
  type BlobRequest,
  type BlobStore,
  blobToken,
  createBlobStore,
  errorResponse,
  missingObject,
  readBlobRequest,
  storeId,
  storeOrigin,
} from "./blob-store.ts";

export type { BlobOperation, BlobRequest } from "./blob-store.ts";

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
  | { readonly kind: "wrong_body"; readonly body: string; readonly contentType: string; readonly etag?: string }
  /** An answer that begins under this status and never ends; `onHangUp` tells that the client closed the connection. */
  | { readonly kind: "endless"; readonly status: 200 | 404; readonly onHangUp: () => void };

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

const secret = "tokenSecretCanary7391";

/** @param options.pageSize How many objects one page of a list has. */
export function createBlobService({ pageSize = 1_000 }: { readonly pageSize?: number } = {}): BlobService {
  const blobs = createBlobStore({ pageSize, secret });
  const requests: BlobRequest[] = [];
  const strayRequests: string[] = [];
  const faults: { operation: BlobOperation; fault: BlobFault; left: number }[] = [];
  const waiting: { operation: BlobOperation; resolve: (request: BlobRequest) => void }[] = [];
  let letGo = Promise.withResolvers<void>();

  const answer = async ({ request }: { request: Request }): Promise<Response | undefined> => {
    const asked = await readBlobRequest(request);
    if (asked === undefined) return undefined;
    requests.push(asked);
    for (const waiter of waiting.filter(({ operation }) => operation === asked.operation)) {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.resolve(asked);
    }
    return answerUnder(takeFault(asked.operation), asked, blobs, letGo.promise);
  };

  const takeFault = (operation: BlobOperation): BlobFault | undefined => {
    const planned = faults.find((fault) => fault.operation === operation && fault.left > 0);
    if (planned !== undefined) planned.left -= 1;
    return planned?.fault;
  };

  const network = defineNetwork({
    // The client brings a fetch of its own, which only an interceptor of connections sees.
    sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
    handlers: [http.all(`${apiOrigin}/*`, answer), http.all(`${storeOrigin}/*`, answer)],
    context: { quiet: true },
    onUnhandledFrame: "error",
  });
  network.events.on("request:unhandled", ({ request }) => strayRequests.push(`${request.method} ${request.url}`));

  return {
    storeId,
    token: blobToken(secret),
    objects: blobs.objects,
    requests,
    strayRequests,
    store: blobs.store,
    fail(operation, fault, { times = Number.POSITIVE_INFINITY } = {}) {
      faults.push({ operation, fault, left: times });
    },
    nextRequest(operation) {
      const { promise, resolve } = Promise.withResolvers<BlobRequest>();
      waiting.push({ operation, resolve });
      return promise;
    },
    reset() {
      blobs.clear();
      for (const list of [requests, strayRequests, faults, waiting]) list.length = 0;
      letGo.resolve();
      letGo = Promise.withResolvers();
    },
    start: async () => network.enable(),
    stop: async () => network.disable(),
  };
}

async function answerUnder(
  fault: BlobFault | undefined,
  request: BlobRequest,
  blobs: BlobStore,
  letGo: Promise<void>,
): Promise<Response> {
  switch (fault?.kind) {
    case undefined:
      return blobs.respond(request);
    case "status":
      return statusResponse(fault.status);
    case "no_store":
      return errorResponse(404, "store_not_found", "This store does not exist.");
    case "hang":
      await letGo;
      return Response.error();
    case "lost_response":
      blobs.respond(request);
      return Response.error();
    case "truncated":
      return truncated(blobs.respond(request));
    case "wrong_body":
      return new Response(fault.body, {
        headers: { "content-type": fault.contentType, ...(fault.etag === undefined ? {} : { etag: fault.etag }) },
      });
    case "endless":
      return new Response(
        new ReadableStream({ start: (body) => body.enqueue(new Uint8Array(1)), cancel: fault.onHangUp }),
        { status: fault.status, headers: { "transfer-encoding": "chunked" } },
      );
  }
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
