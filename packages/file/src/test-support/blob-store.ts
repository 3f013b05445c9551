/**
 * What Vercel Blob does, as far as documents need it: one private store that is put to, read, listed and deleted from over
 * the wire of the real client, with the service's error bodies. It refuses what the service would not understand.
 */
import { createHash } from "node:crypto";

export const apiOrigin = "https://vercel.com";
export const storeId = "teststore0123456";
export const storeOrigin: string = `https://${storeId}.private.blob.vercel-storage.com`;

/** A read-write token of the store. */
export function blobToken(secret: string): string {
  return `vercel_blob_rw_${storeId}_${secret}`;
}

export type BlobOperation = "get" | "head" | "put" | "delete" | "list";

export interface BlobRequest {
  readonly operation: BlobOperation;
  readonly url: URL;
  readonly headers: Headers;
  /** Empty for all but `put` and `delete`. */
  readonly body: string;
}

export interface BlobObject {
  readonly content: string;
  readonly etag: string;
  readonly contentType: string;
}

export interface BlobStore {
  /** By pathname. */
  readonly objects: ReadonlyMap<string, BlobObject>;
  /** Puts an object there without a request. */
  store(pathname: string, content: string): BlobObject;
  /** Carries a request out. */
  respond(request: BlobRequest): Response;
  clear(): void;
}

export interface BlobStoreOptions {
  /** How many objects one page of a list has. Default 1,000. */
  readonly pageSize?: number;
  /** The only secret that tokens may have. Default: any. */
  readonly secret?: string;
}

/** The request as the service understands it, or nothing where it is none of its own. */
export async function readBlobRequest(request: Request, url = new URL(request.url)): Promise<BlobRequest | undefined> {
  const operation = operationOf(request.method, url);
  if (operation === undefined) return undefined;
  return { operation, url, headers: request.headers, body: request.body === null ? "" : await request.text() };
}

function operationOf(method: string, { origin, pathname, searchParams }: URL): BlobOperation | undefined {
  if (origin === storeOrigin) return method === "GET" ? "get" : undefined;
  if (origin !== apiOrigin) return undefined;
  switch (`${method} ${pathname.replace(/\/$/, "")}`) {
    case "PUT /api/blob":
      return "put";
    case "POST /api/blob/delete":
      return "delete";
    case "GET /api/blob":
      return searchParams.has("url") ? "head" : "list";
    default:
      return undefined;
  }
}

const pathnameParameters = new Set(["pathname"]);
const listParameters = new Set(["prefix", "cursor", "limit"]);
const clientHeaders = new Set([
  "x-api-blob-request-attempt",
  "x-api-blob-request-id",
  "x-api-version",
  "x-content-length",
  "x-proxy-through-alternative-api",
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

export function createBlobStore({ pageSize = 1_000, secret }: BlobStoreOptions = {}): BlobStore {
  const objects = new Map<string, BlobObject>();
  const cachedObjects = new Map<string, BlobObject>();

  const store = (pathname: string, content: string, contentType = "text/markdown; charset=utf-8"): BlobObject => {
    // As in S3, the tag comes from the content alone.
    const object = { content, etag: `"${createHash("md5").update(content).digest("hex")}"`, contentType };
    objects.set(pathname, object);
    return object;
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
    return Response.json(describe(pathname, store(pathname, body, headers.get("x-content-type") ?? "text/plain")));
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
    return Response.json(describe(pathname, object));
  };

  const remove = ({ url, headers, body }: BlobRequest): Response => {
    const refusal = unknownParts(url, new Set(), headers, clientHeaders);
    if (refusal !== undefined) return badRequest(refusal);
    for (const pathname of JSON.parse(body).urls) objects.delete(pathname);
    return Response.json({});
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
    return Response.json({
      blobs: page.map(([pathname, object]) => describe(pathname, object)),
      hasMore,
      ...(hasMore && last !== undefined ? { cursor: Buffer.from(last).toString("base64url") } : {}),
    });
  };

  const responders = { put, get, head, delete: remove, list };

  return {
    objects,
    store: (pathname, content) => store(pathname, content),
    respond(request) {
      const { operation, headers } = request;
      if (!isAuthorized(headers, secret)) {
        return errorResponse(403, "forbidden", "Access denied, please provide a valid token for this resource.");
      }
      return responders[operation](request);
    },
    clear() {
      objects.clear();
      cachedObjects.clear();
    },
  };
}

function describe(pathname: string, { content, contentType, etag }: BlobObject) {
  return {
    url: `${storeOrigin}/${pathname}`,
    downloadUrl: `${storeOrigin}/${pathname}?download=1`,
    pathname,
    contentType,
    contentDisposition: `attachment; filename="${pathname.split("/").at(-1)}"`,
    size: Buffer.byteLength(content),
    uploadedAt: new Date(0).toISOString(),
    etag,
  };
}

function isAuthorized(headers: Headers, secret: string | undefined): boolean {
  const authorization = headers.get("authorization") ?? "";
  const bearer = `Bearer ${blobToken(secret ?? "")}`;
  return secret === undefined ? authorization.startsWith(bearer) : authorization === bearer;
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

export function missingObject(): Response {
  return new Response("Not found", { status: 404, headers: { "content-type": "text/plain" } });
}

/** As the service puts it. */
export function errorResponse(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json({ error: { code, message } }, { status, headers });
}
