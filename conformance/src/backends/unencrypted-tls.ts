/**
 * TLS without encryption, for connections to an address that a stand-in in this process answers for: it has no certificate
 * of the real service, and there is nobody on the way.
 */
import { syncBuiltinESMExports } from "node:module";
import { Socket } from "node:net";
import tls from "node:tls";
import { connectUnencrypted, targetOf } from "./net-guard.ts";

interface TlsOptions {
  readonly port?: unknown;
  readonly host?: unknown;
  /** A connection that is there already, such as through a proxy. */
  readonly socket?: unknown;
  readonly timeout?: number;
  readonly ALPNProtocols?: unknown;
}

/** What clients ask of a socket that is encrypted, as for one that nothing is wrong with. */
class UnencryptedTls extends Socket {
  readonly encrypted = true;
  readonly authorized = true;
  readonly authorizationError = null;
  readonly alpnProtocol: string | false;
  secureConnecting = true;

  constructor(offered: unknown) {
    super();
    // The stand-in speaks HTTP/1.1.
    this.alpnProtocol = Array.isArray(offered) && offered.includes("http/1.1") ? "http/1.1" : false;
    this.once("connect", () => {
      this.secureConnecting = false;
      this.emit("secureConnect");
    });
  }

  getPeerCertificate = (): object => ({});
  getProtocol = (): string => "TLSv1.3";
  getCipher = (): object => ({ name: "NULL", standardName: "NULL", version: "TLSv1.3" });
  getSession = (): undefined => undefined;
  getTLSTicket = (): undefined => undefined;
  isSessionReused = (): boolean => false;
  setServername = (): void => {};
  setSession = (): void => {};
  disableRenegotiation = (): void => {};
}

let isInstalled = false;

/**
 * Replaces `tls.connect`, for good; it differs only where a connection is redirected. To be called before a provider is
 * loaded, which may take `connect` out of `node:tls`.
 */
export function allowUnencryptedTls(): void {
  if (isInstalled) return;
  isInstalled = true;
  const plainConnect: CallableFunction = tls.connect;
  const connect = (...args: readonly unknown[]): unknown => {
    const options = optionsOf(args);
    const target = options.socket === undefined ? targetOf([options]) : undefined;
    const socket = target && connectUnencrypted(target, () => made(options, args.at(-1)));
    return socket ?? Reflect.apply(plainConnect, tls, args);
  };
  Reflect.set(tls, "connect", connect);
  syncBuiltinESMExports();
}

/** `tls.connect` is given options, or a port, maybe a host, and maybe options. */
function optionsOf(args: readonly unknown[]): TlsOptions {
  const [port, host] = args;
  const given = args.find((arg) => typeof arg === "object" && arg !== null);
  return { ...(typeof port === "object" ? {} : { port, ...(typeof host === "string" ? { host } : {}) }), ...given };
}

function made({ timeout, ALPNProtocols }: TlsOptions, listener: unknown): Socket {
  const socket = new UnencryptedTls(ALPNProtocols);
  if (timeout !== undefined) socket.setTimeout(timeout);
  if (typeof listener === "function") socket.once("secureConnect", listener as () => void);
  return socket;
}
