/**
 * Redirects a service's real address to the loopback server that stands in for it, in this process. It is the connections
 * that are redirected, below every client, so that requests, answers and faults stay what they are on the wire.
 */

import type { HttpConnection } from "./http.ts";
import { redirectConnections, type Target } from "./net-guard.ts";
import { allowUnencryptedTls } from "./unencrypted-tls.ts";

/** Answers how to undo it. */
export async function redirectOrigin({ url, forwardTo }: HttpConnection): Promise<() => Promise<void>> {
  if (forwardTo === undefined) throw new TypeError("This connection has no address to redirect to (`forwardTo`).");
  allowUnencryptedTls();
  return redirectConnections({ from: addressOf(url), to: addressOf(forwardTo), isTls: url.startsWith("https:") });
}

function addressOf(url: string): Target {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, ""); // of an IPv6 address
  return { host, port: Number(port) || (protocol === "https:" ? 443 : 80) };
}
