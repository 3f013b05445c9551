/** How a request is answered, with nothing wrong and under each fault. */
import type { ServerResponse } from "node:http";
import type { HttpFault } from "../backend.ts";
import { inPieces } from "./pieces.ts";

/** An answer in full: half of it can only be sent by who knows the whole. */
export interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

type StatusFault = Extract<HttpFault, { kind: "status" }>;

// The kit may replace the globals later; a slow drip drips in real time all the same.
const { setInterval, clearInterval } = globalThis;
const dripMs = 3;

export interface AnswerParts {
  /** Asks the service, which may commit something; whether it is called at all is part of the fault. */
  readonly serve: () => Promise<WholeAnswer>;
  /** Called when there will be no answer until the fault is healed. */
  readonly hold: () => void;
  readonly now: () => number;
  /** Whether an answer arrives a few bytes at a time. */
  readonly isInPieces: boolean;
}

export async function answerUnder(
  fault: HttpFault | undefined,
  response: ServerResponse,
  { serve, hold, now, isInPieces }: AnswerParts,
): Promise<void> {
  switch (fault?.kind) {
    case undefined:
      return sendWhole(response, await serve(), isInPieces);
    case "status": {
      const headers = { "content-type": "application/json", ...retryAfter(fault, now()) };
      return send(response, fault.status, headers, '{"error":"injected fault"}');
    }
    case "wrong-type":
      return send(response, 200, { "content-type": "text/html" }, "<!doctype html><title>Sign in</title><p>Sign in");
    case "error-in-200":
      return send(response, 200, { "content-type": "application/json" }, '{"error":{"message":"injected fault"}}');
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "hang":
      hold();
      return;
    case "lost-reply":
      await serve();
      response.socket?.destroy();
      return;
    case "truncated":
      return sendHalf(response, await serve());
    case "slow-drip":
      await serve();
      hold();
      return drip(response);
  }
}

function retryAfter({ retryAfterSeconds, retryAfterAs }: StatusFault, nowMs: number): Record<string, string> {
  if (retryAfterSeconds === undefined) return {};
  if (retryAfterAs !== "date") return { "retry-after": String(retryAfterSeconds) };
  const text = (atMs: number): string => new Date(atMs).toUTCString();
  return { date: text(nowMs), "retry-after": text(nowMs + retryAfterSeconds * 1_000) };
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, body: string): void {
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) }).end(body);
}

async function sendWhole(
  response: ServerResponse,
  { status, headers, body }: WholeAnswer,
  isInPieces: boolean,
): Promise<void> {
  startWhole(response, status, headers, body.length);
  if (!isInPieces) {
    response.end(body);
    return;
  }
  response.flushHeaders();
  await inPieces(body, (piece) => response.write(piece));
  response.end();
}

function sendHalf(response: ServerResponse, { status, headers, body }: WholeAnswer): void {
  if (response.req.method === "HEAD") {
    response.socket?.destroy();
    return;
  }
  // Of an answer without a body there is no half: it gets one.
  if (body.length === 0) startWhole(response, 200, new Headers({ "content-type": "application/json" }), 2);
  else startWhole(response, status, headers, body.length);
  const half = body.length === 0 ? "{" : body.subarray(0, Math.floor(body.length / 2));
  response.flushHeaders();
  response.write(half, () => response.socket?.destroy());
}

function startWhole(response: ServerResponse, status: number, headers: Headers, length: number): void {
  response.statusCode = status;
  response.setHeaders(headers);
  response.removeHeader("transfer-encoding");
  if (status !== 204 && status !== 304) response.setHeader("content-length", length);
}

function drip(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  const dripping = setInterval(() => response.write(" "), dripMs);
  response.once("close", () => clearInterval(dripping));
}
