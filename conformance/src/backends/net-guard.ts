/**
 * Sees to it that a provider talks to its backend and to nobody else. It stands at the one place that every connection of
 * Node passes (`fetch`, `node:http`, `node:tls`, database clients), ahead of the look-up of names, so that a refused
 * connection leaves no traffic at all, and so that swallowing the error does not hide the attempt. What has an address that
 * a stand-in answers for is connected to that.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { Socket, type SocketConstructorOpts } from "node:net";

export interface NetworkWatch {
  /** `host:port` of every connection that was refused, oldest first. */
  readonly unexpected: readonly string[];
  stop(): void;
}

interface Guard {
  readonly allow: (host: string, port: number) => boolean;
  readonly unexpected: string[];
}

/** Refuses connections of this process that are not to a loopback address which `allow` approves of. */
export function watchNetwork({ allow }: { readonly allow: (host: string, port: number) => boolean }): NetworkWatch {
  const guard: Guard = { allow, unexpected: [] };
  guards.add(guard);
  install();
  return {
    unexpected: guard.unexpected,
    stop() {
      guards.delete(guard);
      uninstallIfUnused();
    },
  };
}

/** Does the kit's own work, such as asking a real server what it holds, which is nobody's to be blamed for. */
export function unguarded<T>(work: () => T): T {
  return ownWork.run(true, work);
}

/** Connects past every guard. */
export function connectPlainly({ host, port, ...options }: SocketConstructorOpts & Target): Socket {
  return Reflect.apply(plainConnect, new Socket(options), [port, host]);
}

export interface Redirection {
  readonly from: Target;
  readonly to: Target;
  /** Whether those who connect to `from` have to encrypt. */
  readonly isTls: boolean;
}

/**
 * From now on connects to `to` whoever connects to `from`; the latest redirection counts. Answers how to undo it, which also
 * ends the connections that were made: a client that keeps them would go on using them.
 */
export function redirectConnections(redirection: Redirection): () => Promise<void> {
  const entry: Entry = { ...redirection, sockets: new Set() };
  redirections.push(entry);
  install();
  return async () => {
    const index = redirections.indexOf(entry);
    if (index === -1) return;
    redirections.splice(index, 1);
    uninstallIfUnused();
    await Promise.all([...entry.sockets].map(ended));
  };
}

/** Connects a socket that only seems to encrypt, where there is a redirection for those who do; answers whether there is. */
export function connectUnencrypted(target: Target, makeSocket: () => Socket): Socket | undefined {
  const redirection = ownWork.getStore() === undefined ? redirectionOf(target) : undefined;
  return redirection?.isTls === true ? connectTo(redirection, makeSocket()) : undefined;
}

type Entry = Redirection & { readonly sockets: Set<Socket> };

function redirectionOf(target: Target): Entry | undefined {
  const host = plainHost(target.host);
  return redirections.findLast(({ from }) => plainHost(from.host) === host && from.port === target.port);
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}

function connectTo({ to, sockets }: Entry, socket: Socket, listeners: readonly unknown[] = []): Socket {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
  return Reflect.apply(plainConnect, socket, [to.port, to.host, ...listeners]);
}

async function ended(socket: Socket): Promise<void> {
  if (socket.closed) return;
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.destroy();
  await closed;
}

// The kit may replace it later.
const { nextTick } = process;

const guards = new Set<Guard>();
const redirections: Entry[] = [];
const ownWork = new AsyncLocalStorage<true>();
const plainConnect: CallableFunction = Socket.prototype.connect;

/** A fresh one each time: what lies beneath may have been put there since, and may itself stand on an earlier one. */
function guardedConnect(beneath: CallableFunction) {
  return function connect(this: Socket, ...args: unknown[]): Socket {
    const target = ownWork.getStore() === undefined ? targetOf(args) : undefined;
    const redirection = target === undefined ? undefined : redirectionOf(target);
    // Those who have to encrypt come by another way.
    if (redirection !== undefined && !redirection.isTls && !Reflect.has(this, "encrypted")) {
      return connectTo(
        redirection,
        this,
        args.flat().filter((arg) => typeof arg === "function"),
      );
    }
    const refusing = target === undefined ? [] : [...guards].filter(({ allow }) => !isAllowed(target, allow));
    if (target === undefined || (refusing.length === 0 && redirection === undefined)) {
      return Reflect.apply(beneath, this, args);
    }
    const address = `${target.host}:${target.port}`;
    for (const { unexpected } of refusing) unexpected.push(address);
    const error = Object.assign(
      new Error(`connect ECONNREFUSED ${address} (only the provider's backend can be reached here)`),
      { code: "ECONNREFUSED", syscall: "connect", address: target.host, port: target.port },
    );
    // Not at once: whoever connects goes on to set the socket up, and listens for errors after that.
    Reflect.set(this, "connecting", true);
    nextTick(() => this.destroy(error));
    return this;
  };
}

let installed: { readonly connect: unknown; readonly beneath: unknown } | undefined;

function install(): void {
  if (installed !== undefined) return;
  const beneath = Socket.prototype.connect;
  installed = { connect: guardedConnect(beneath), beneath };
  Reflect.set(Socket.prototype, "connect", installed.connect);
}

function uninstallIfUnused(): void {
  if (installed === undefined || guards.size > 0 || redirections.length > 0) return;
  // Somebody may have patched on top: then it stays, and lets everything through.
  if (Reflect.get(Socket.prototype, "connect") === installed.connect) {
    Reflect.set(Socket.prototype, "connect", installed.beneath);
  }
  installed = undefined;
}

export interface Target {
  readonly host: string;
  readonly port: number;
}

/** The arguments of `connect` in all their forms. Nothing for a pipe, or for what `connect` is going to refuse itself. */
export function targetOf(args: readonly unknown[]): Target | undefined {
  // `net.connect` hands its own arguments on as one array.
  const [first, second] = Array.isArray(args[0]) ? (args[0] as unknown[]) : args;
  const isOptions = typeof first === "object" && first !== null;
  const options: { path?: unknown; port?: unknown; host?: unknown } = isOptions ? first : { port: first, host: second };
  const port = Number(options.port);
  if (options.path || options.port === undefined || !Number.isInteger(port)) return undefined;
  return { host: typeof options.host === "string" && options.host !== "" ? options.host : "localhost", port };
}

function isAllowed({ host, port }: Target, allow: Guard["allow"]): boolean {
  const isLoopback = host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
  return isLoopback && allow(host, port);
}
