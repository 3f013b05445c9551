/** Redirects requests for a service's real address to the loopback server that stands in for it, in this process. */
import { request as httpRequest, type IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import type { InterceptorSource as MswInterceptorSource } from "msw/experimental";
import type { HttpConnection } from "./http.ts";
import { answerFor, connectPlainly } from "./net-guard.ts";

type MswInterceptor = ConstructorParameters<typeof MswInterceptorSource>[0]["interceptors"][number];

interface Redirect {
  readonly origin: string;
  readonly loopback: string;
}

/** The latest is the one that counts. */
const redirects: Redirect[] = [];
/** One for all: with several at work, MSW lets a request through that the first of them does not handle. */
let network: { close(): void } | undefined;

/**
 * Answers how to undo it.
 * @throws Error where the package `msw` is missing.
 */
export async function redirectOrigin({ url, forwardTo }: HttpConnection): Promise<() => Promise<void>> {
  if (forwardTo === undefined) throw new TypeError("This connection has no address to redirect to (`forwardTo`).");
  const listen = await loadNetwork();
  network ??= listen();
  const { protocol, hostname, port } = new URL(url);
  const disown = answerFor({ host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) });
  const redirect: Redirect = { origin: url, loopback: forwardTo };
  redirects.push(redirect);
  return async () => {
    const index = redirects.indexOf(redirect);
    if (index === -1) return;
    redirects.splice(index, 1);
    disown();
    if (redirects.length > 0) return;
    network?.close();
    network = undefined;
  };
}

const redirectOf = (request: Request): Redirect | undefined =>
  redirects.findLast(({ origin }) => new URL(request.url).origin === origin);

async function loadNetwork(): Promise<() => { close(): void }> {
  const { defineNetwork, InterceptorSource, http, HttpRequestInterceptor } = await loadMsw();
  return () => {
    const redirecting = http.all(
      ({ request }) => redirectOf(request) !== undefined,
      ({ request }) => {
        const redirect = redirectOf(request);
        return redirect === undefined ? undefined : forward(request, redirect.loopback);
      },
    );
    const network = defineNetwork({
      sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
      handlers: [redirecting],
      // Whether anything else may be asked is not for a redirection to decide.
      onUnhandledFrame: "bypass",
      context: { quiet: true },
    });
    void network.enable();
    return { close: () => void network.disable() };
  };
}

async function loadMsw() {
  try {
    const [{ defineNetwork, InterceptorSource }, { http }] = await Promise.all([
      import("msw/experimental"),
      import("msw/http"),
    ]);
    // What `msw/node` intercepts by itself leaves out clients that took `request` out of `node:http` when they were loaded,
    // and those that bring an undici of their own. The one that has them all is in MSW's own dependency.
    const ofMsw = createRequire(createRequire(import.meta.url).resolve("msw/experimental"));
    const interceptors = await import(pathToFileURL(ofMsw.resolve("@mswjs/interceptors/http")).href);
    const HttpRequestInterceptor: new () => MswInterceptor = interceptors.HttpRequestInterceptor;
    return { defineNetwork, InterceptorSource, http, HttpRequestInterceptor };
  } catch (cause) {
    throw new Error('A backend with an `origin` needs the package "msw", version 3 (npm install --save-dev msw).', {
      cause,
    });
  }
}

/** Carries a request over the real wire. What goes wrong there is a network error on this side, too. */
async function forward(request: Request, loopback: string): Promise<Response> {
  const { host, pathname, search } = new URL(request.url);
  const body = new Uint8Array(await request.arrayBuffer());
  const { hostname, port } = new URL(loopback);
  const { method, signal } = request;
  return await new Promise((resolve) => {
    const outgoing = httpRequest({
      method,
      path: `${pathname}${search}`,
      headers: { ...Object.fromEntries(withoutHopByHop(request.headers)), host },
      signal,
      createConnection: () => connectPlainly({ host: hostname, port: Number(port) }),
    });
    outgoing.once("response", (incoming) => resolve(toWebResponse(incoming, method)));
    outgoing.on("error", () => resolve(Response.error()));
    outgoing.end(body);
  });
}

function toWebResponse(incoming: IncomingMessage, method: string): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headersDistinct)) {
    for (const one of value ?? []) headers.append(name, one);
  }
  headers.delete("connection");
  // But not `content-length` and `transfer-encoding`: MSW would take an answer that breaks off for one that is complete.
  const status = incoming.statusCode ?? 500;
  if (method === "HEAD" || status === 204 || status === 304) {
    incoming.resume();
    return new Response(null, { status, headers });
  }
  return new Response(Readable.toWeb(incoming) as ReadableStream, { status, headers });
}

function withoutHopByHop(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of ["connection", "keep-alive", "transfer-encoding", "content-length", "expect"]) kept.delete(name);
  return kept;
}
