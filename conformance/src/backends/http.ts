/**
 * A service over HTTP that can be broken. The service itself is a function from Request to Response; the faults happen on a
 * real wire, a server on loopback, because that is the only place where a reset or half an answer look like they do in life.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Backend,
  type BackendFactory,
  type Connection,
  type Exchange,
  type Fault,
  faults,
  type HttpFault,
} from "../backend.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { HeldAnswers } from "./held-answers.ts";
import { answerUnder, type WholeAnswer } from "./http-answer.ts";
import { summarize } from "./http-summary.ts";
import { unguarded } from "./net-guard.ts";
import { redirectOrigin } from "./origin-redirect.ts";

/** The stand-in for the provider's service, fresh for every start. A Hono app with `contents` is one. */
export interface HttpService {
  fetch(request: Request): Response | Promise<Response>;
  /** All that it holds, as texts to seek canaries in. */
  contents(): readonly string[] | Promise<readonly string[]>;
}

export interface HttpBackendOptions {
  readonly service: (context: { readonly now: () => number }) => HttpService;
  /**
   * The service's real address, such as `https://api.example.com`, for a provider that cannot be told another. Connections
   * to it are then redirected in every process that attaches to the connection.
   */
  readonly origin?: string;
}

export type HttpConnection = Extract<Connection, { kind: "http" }> & {
  /** Where requests to `url` really go, if that is somewhere else: a loopback address. */
  readonly forwardTo?: string;
};

export function httpBackend(options: HttpBackendOptions): BackendFactory<HttpConnection> {
  const { service, origin } = options;
  if (typeof service !== "function") {
    throw new TypeError("httpBackend() takes { service }, a function that makes { fetch, contents }.");
  }
  const publicUrl = origin === undefined ? undefined : parseOrigin(origin);
  return {
    kind: "http",
    start: ({ now }) => unguarded(() => start(checked(service({ now })), now, publicUrl)),
    ...(publicUrl === undefined ? {} : { attach: redirectOrigin }),
  };
}

function checked(service: HttpService): HttpService {
  const isService = ["fetch", "contents"].every((method) => typeof Reflect.get(Object(service), method) === "function");
  if (!isService) throw new TypeError("The service of httpBackend() has to have fetch(request) and contents().");
  return service;
}

function parseOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`) {
    throw new TypeError("`origin` must be an origin and nothing more, such as https://api.example.com.");
  }
  return url.origin;
}

const isHttpFault = (fault: Fault): fault is HttpFault => faults.http.some(({ kind }) => kind === fault.kind);

async function start(
  service: HttpService,
  now: () => number,
  publicUrl: string | undefined,
): Promise<Backend<HttpConnection>> {
  const observed: Exchange[] = [];
  const switchboard = new FaultSwitch(isHttpFault);
  const answers = new HeldAnswers();
  let isInPieces = false;
  const working = new Set<ServerResponse>();

  const server = createServer((request, response) => {
    working.add(response);
    response.once("close", () => working.delete(response));
    handle(request, response).catch(() => request.socket.destroy());
  });
  // The provider's deadlines are under test, not this server's.
  Object.assign(server, { requestTimeout: 0, headersTimeout: 0, timeout: 0, keepAliveTimeout: 0 });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request);
    const method = request.method ?? "GET";
    const target = request.url ?? "/";
    const url = `${connection.url}${target}`;
    const exchange: { -readonly [K in keyof Exchange]: Exchange[K] } = {
      summary: summarize(method, target),
      sent: asSent(method, url, request, body),
      atMs: now(),
    };
    observed.push(exchange);

    async function serve(): Promise<WholeAnswer> {
      try {
        const answer = await ask(service, method, url, request, body);
        exchange.status = answer.status;
        return answer;
      } catch (error) {
        // The stand-in is broken: whoever wrote it finds that in the exchange.
        exchange.summary += ` (the service threw ${error instanceof Error ? error.name : typeof error})`;
        return { status: 500, headers: new Headers(), body: Buffer.from('{"error":"the stand-in service threw"}') };
      }
    }

    const fault = switchboard.next();
    const held = fault === undefined ? answers.next() : undefined;
    async function serveLate(): Promise<WholeAnswer> {
      const answer = await serve();
      await held?.untilReleased();
      return answer;
    }

    const hold = (): void => {
      working.delete(response);
      response.once(
        "close",
        switchboard.hold(() => request.socket.destroy()),
      );
    };
    await answerUnder(fault, response, { serve: serveLate, hold, now, isInPieces });
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  const loopback = `http://127.0.0.1:${port}`;
  const connection: HttpConnection =
    publicUrl === undefined ? { kind: "http", url: loopback } : { kind: "http", url: publicUrl, forwardTo: loopback };

  function heal(): void {
    switchboard.heal();
    answers.releaseAll();
    isInPieces = false;
  }

  return {
    kind: "http",
    connection,
    ports: () => [port],
    inject: (fault, options) => switchboard.inject(fault, options),
    heal,
    hold: (options) => answers.hold(options),
    answerInPieces() {
      isInPieces = true;
    },
    observed: () => observed,
    contents: async () => await unguarded(() => service.contents()),
    busy: () => working.size > 0,
    close: () =>
      new Promise((resolve) => {
        heal();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function ask(
  service: HttpService,
  method: string,
  url: string,
  request: IncomingMessage,
  body: Buffer,
): Promise<WholeAnswer> {
  const headers = new Headers();
  for (const [name, value] of headerPairs(request)) headers.append(name, value);
  const hasBody = method !== "GET" && method !== "HEAD";
  const answer = await service.fetch(
    new Request(url, { method, headers, body: hasBody ? new Uint8Array(body) : null }),
  );
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

function asSent(method: string, url: string, request: IncomingMessage, body: Buffer): string {
  const headers = headerPairs(request).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...headers, "", body.toString()].join("\n");
}

function headerPairs({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    pairs.push([rawHeaders[index] ?? "", rawHeaders[index + 1] ?? ""]);
  }
  return pairs;
}
