/** A server that speaks its own protocol over TCP, such as a database, behind a proxy on loopback that can be broken. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import {
  type Backend,
  type BackendFactory,
  type Connection,
  type Exchange,
  type Fault,
  faults,
  type HeldAnswer,
  type TcpFault,
} from "../backend.ts";
import { realTimers } from "../time/wait.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { type Held, HeldAnswers } from "./held-answers.ts";
import { connectPlainly, unguarded } from "./net-guard.ts";
import { inPieces } from "./pieces.ts";

/** A running server, real or a stand-in. */
export interface TcpServer {
  readonly host: string;
  readonly port: number;
  /** All that it holds, as texts to seek canaries in. Asked directly, not through the proxy. */
  contents(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface TcpBackendOptions {
  /** Starts it, empty. */
  readonly server: (context: { readonly now: () => number }) => Promise<TcpServer>;
}

export type TcpConnection = Extract<Connection, { kind: "tcp" }>;

export function tcpBackend({ server }: TcpBackendOptions): BackendFactory<TcpConnection> {
  return {
    kind: "tcp",
    start: ({ now }) =>
      unguarded(async () => {
        const behind = await server({ now });
        try {
          return await BreakableProxy.listen(behind, now);
        } catch (error) {
          await behind.close();
          throw error;
        }
      }),
  };
}

const isTcpFault = (fault: Fault): fault is TcpFault => faults.tcp.some(({ kind }) => kind === fault.kind);

class BreakableProxy implements Backend<TcpConnection> {
  readonly kind = "tcp";
  readonly connection: TcpConnection;
  readonly #behind: TcpServer;
  readonly #now: () => number;
  readonly #switch = new FaultSwitch(isTcpFault);
  readonly #answers = new HeldAnswers();
  #isInPieces = false;
  readonly #observed: Exchange[] = [];
  readonly #links = new Set<Link>();
  #listener: Server | undefined;
  #isClosed = false;

  static async listen(behind: TcpServer, now: () => number): Promise<BreakableProxy> {
    const listener = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    return new BreakableProxy(behind, now, listener);
  }

  private constructor(behind: TcpServer, now: () => number, listener: Server) {
    this.#behind = behind;
    this.#now = now;
    this.#listener = listener.on("connection", (client) => this.#accept(client));
    this.connection = { kind: "tcp", host: "127.0.0.1", port: (listener.address() as AddressInfo).port };
  }

  ports(): readonly number[] {
    return [this.connection.port];
  }

  inject(fault: Fault, options?: { readonly after?: number }): void {
    this.#switch.inject(fault, options);
    this.#refuseIfDue();
  }

  heal(): void {
    this.#switch.heal();
    this.#answers.releaseAll();
    this.#isInPieces = false;
    if (this.#listener === undefined) this.#listenAgain();
  }

  answerInPieces(): void {
    this.#isInPieces = true;
  }

  hold(options?: { readonly after?: number }): HeldAnswer {
    return this.#answers.hold(options);
  }

  observed(): readonly Exchange[] {
    return this.#observed;
  }

  async contents(): Promise<readonly string[]> {
    return await unguarded(() => this.#behind.contents());
  }

  busy(): boolean {
    return [...this.#links].some(({ awaitsReply }) => awaitsReply);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#answers.releaseAll();
    this.#listener?.close();
    for (const link of this.#links) link.destroy();
    await unguarded(() => this.#behind.close());
  }

  #accept(client: Socket): void {
    const link = new Link(client, this.#behind, {
      meet: (chunk) => {
        this.#observed.push({ summary: `${chunk.length} bytes`, sent: chunk.toString(), atMs: this.#now() });
        const fault = this.#switch.next()?.kind;
        // What comes while an answer is awaited is more of the same request, or shares its connection.
        if (fault === undefined && !link.awaitsReply) link.held = this.#answers.next();
        if (fault === "refused") this.#refuse();
        if (fault === "hang")
          client.once(
            "close",
            this.#switch.hold(() => link.destroy()),
          );
        return fault;
      },
      replied: () => this.#refuseIfDue(),
      isInPieces: () => this.#isInPieces,
    });
    this.#links.add(link);
    client.once("close", () => this.#links.delete(link));
  }

  /** From the outside a server that has gone differs from one that resets: there is nobody to connect to. */
  #refuseIfDue(): void {
    if (this.#switch.due?.kind === "refused" && !this.busy()) this.#refuse();
  }

  /** Meanwhile the system may have given the port to a connection of somebody's, which is over soon. */
  #listenAgain(): void {
    if (this.#isClosed) return;
    const { host, port } = this.connection;
    this.#listener = createServer({ allowHalfOpen: true }, (client) => this.#accept(client))
      .once("error", () => realTimers.setTimeout(() => this.#listenAgain(), 5))
      .listen(port, host);
  }

  #refuse(): void {
    this.#listener?.close();
    this.#listener = undefined;
    for (const link of this.#links) link.reset();
  }
}

interface LinkEvents {
  /** Bytes came from the client: answers the fault that they meet. */
  meet(chunk: Buffer): TcpFault["kind"] | undefined;
  /** Bytes of the server were passed on to the client. */
  replied(): void;
  isInPieces(): boolean;
}

/** One client's connection to the proxy, with the proxy's to the server. */
class Link {
  awaitsReply = false;
  /** What the reply that comes next waits for. */
  held: Held | undefined;
  #heldReply: Promise<void> | undefined;
  readonly #client: Socket;
  readonly #server: Socket;
  /** What is going to happen to the reply that comes next. */
  #onReply: "pass" | "lose" | "halve" = "pass";

  constructor(client: Socket, { host, port }: TcpServer, events: LinkEvents) {
    this.#client = client;
    this.#server = connectPlainly({ host, port, allowHalfOpen: true });
    client.on("data", (chunk) => this.#forward(chunk, events.meet(chunk)));
    client.on("end", () => this.#server.end());
    client.on("error", () => {}).once("close", () => this.#server.end().resume());
    this.#server.on("data", (chunk) => this.#replyInTime(chunk, events));
    this.#server.on("end", () => this.#afterReply(() => client.end()));
    this.#server.on("error", () => {}).once("close", () => this.#afterReply(() => client.destroySoon()));
  }

  destroy(): void {
    this.awaitsReply = false;
    this.#client.destroy();
    this.#server.destroy();
  }

  reset(): void {
    this.awaitsReply = false;
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }

  #forward(chunk: Buffer, fault: TcpFault["kind"] | undefined): void {
    if (fault === "hang" || this.#client.destroyed) return;
    if (fault === "reset" || fault === "refused") {
      this.reset();
      return;
    }
    if (fault === "lost-reply") this.#onReply = "lose";
    if (fault === "half-reply") this.#onReply = "halve";
    this.awaitsReply = true;
    this.#server.write(chunk);
  }

  #replyInTime(chunk: Buffer, events: LinkEvents): void {
    const { held } = this;
    if (held === undefined) {
      this.#reply(chunk, events);
      return;
    }
    this.held = undefined;
    this.#server.pause();
    this.#heldReply = held.untilReleased().then(() => {
      this.#heldReply = undefined;
      this.#reply(chunk, events);
      this.#server.resume();
    });
  }

  /** The server may leave while its reply is kept back. */
  #afterReply(act: () => void): void {
    if (this.#heldReply === undefined) act();
    else void this.#heldReply.then(act);
  }

  #reply(chunk: Buffer, events: LinkEvents): void {
    this.awaitsReply = false;
    if (this.#client.destroyed) return;
    if (this.#onReply === "lose") {
      this.#client.destroy();
    } else if (this.#onReply === "halve") {
      this.#client.write(chunk.subarray(0, Math.floor(chunk.length / 2)), () => this.#client.destroy());
      this.#server.end();
    } else if (events.isInPieces()) {
      void this.#replyInPieces(chunk);
    } else {
      this.#client.write(chunk, () => events.replied());
    }
  }

  async #replyInPieces(chunk: Buffer): Promise<void> {
    this.awaitsReply = true;
    this.#server.pause();
    this.#client.setNoDelay();
    await inPieces(chunk, (piece) => this.#client.destroyed || this.#client.write(piece));
    this.awaitsReply = false;
    this.#server.resume();
  }
}
