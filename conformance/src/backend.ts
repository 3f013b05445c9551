/**
 * What a provider keeps its memory in, made so that the kit can break it and look into it. A backend is started afresh for
 * every check, by a factory, in the process that judges; other processes reach the same one through its connection.
 */

/** How to reach a backend: plain JSON, so that a child process can too. */
export type Connection =
  | { readonly kind: "http"; readonly url: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "directory"; readonly root: string };

export type BackendKind = Connection["kind"];

/** A way to fail. Each kind of backend knows its own; {@link faults} lists them. */
export type Fault = HttpFault | TcpFault | DirectoryFault;

export type HttpFault =
  | {
      readonly name: string;
      readonly kind: "status";
      readonly status: number;
      readonly retryAfterSeconds?: number;
      /** How Retry-After says it: as a number of seconds, or as the date when they are over. Default: seconds. */
      readonly retryAfterAs?: "seconds" | "date";
    }
  | {
      readonly name: string;
      readonly kind:
        | "reset"
        | "hang"
        | "truncated"
        | "wrong-type"
        | "error-in-200"
        | "lost-reply"
        /** The answer begins and never ends: a byte now and then. */
        | "slow-drip";
    };

export interface TcpFault {
  readonly name: string;
  readonly kind: "refused" | "reset" | "hang" | "lost-reply" | "half-reply";
}

export interface DirectoryFault {
  readonly name: string;
  /** `torn-write` writes half and fails. `hang` never answers. */
  readonly kind: "EIO" | "ENOSPC" | "EACCES" | "EPERM" | "EMFILE" | "torn-write" | "hang";
}

/** One exchange as a failure may show it: without bodies, without credentials. */
export interface Exchange {
  /** Such as `POST /v1/records`, or `rename`. */
  readonly summary: string;
  /** Everything that was sent, for seeking canaries in. Never shown. */
  readonly sent: string;
  /** Milliseconds on the kit's clock. */
  readonly atMs: number;
  /** What the service itself answered, where answers have a status and no fault kept it from answering. */
  readonly status?: number;
}

/** A running backend, from the side of whoever breaks it and looks into it. */
export interface Backend<C extends Connection = Connection> {
  readonly kind: C["kind"];
  readonly connection: C;
  /** Loopback ports that its provider may connect to. */
  ports(): readonly number[];
  /** Fails everything from now on, or once `after` more requests were answered, until {@link heal}. */
  inject(fault: Fault, options?: { readonly after?: number }): void;
  heal(): void;
  /**
   * Does what is asked for, and keeps the answer back until it is released: the next one, or the one that comes after
   * `after` more. Until then it is busy. {@link heal} and {@link close} release it as well.
   */
  hold(options?: { readonly after?: number }): HeldAnswer;
  /** From now on, until {@link heal}, answers arrive a few bytes at a time. Absent where nothing is sent over a wire. */
  answerInPieces?(): void;
  /** What it was asked, oldest first. */
  observed(): readonly Exchange[];
  /** All that it holds, as texts to seek canaries in. */
  contents(): Promise<readonly string[]>;
  /** Whether it is working on something that it is going to answer: not while a fault holds the answer back. */
  busy(): boolean;
  close(): Promise<void>;
}

export interface HeldAnswer {
  /** Whether there is an answer by now that waits to be released. */
  isHeld(): boolean;
  release(): void;
}

export interface BackendFactory<C extends Connection = Connection> {
  readonly kind: C["kind"];
  /** `now` is the kit's clock, for backends that expire by themselves. */
  start(context: { readonly now: () => number }): Promise<Backend<C>>;
  /** Makes the connection usable in this process, such as by redirecting a service's address. Answers how to undo it. */
  attach?(connection: C): Promise<() => Promise<void>>;
}

/** The backend as an object of its own, for whoever replaces a part of it. */
export function delegate<C extends Connection>(backend: Backend<C>): Backend<C> {
  return {
    kind: backend.kind,
    connection: backend.connection,
    ports: () => backend.ports(),
    inject: (...args) => backend.inject(...args),
    heal: () => backend.heal(),
    hold: (options) => backend.hold(options),
    ...(backend.answerInPieces === undefined ? {} : { answerInPieces: () => backend.answerInPieces?.() }),
    observed: () => backend.observed(),
    contents: () => backend.contents(),
    busy: () => backend.busy(),
    close: () => backend.close(),
  };
}

const status = (code: number, retryAfterSeconds?: number): HttpFault => ({
  name: `HTTP ${code}`,
  kind: "status",
  status: code,
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});

/** Every fault, by the kind of backend that can have it. */
export const faults: Readonly<Record<BackendKind, readonly Fault[]>> = {
  http: [
    ...[401, 403, 404, 409].map((code) => status(code)),
    status(429, 7),
    ...[500, 503].map((code) => status(code)),
    { name: "connection reset", kind: "reset" },
    { name: "no answer", kind: "hang" },
    { name: "truncated JSON", kind: "truncated" },
    { name: "wrong content type", kind: "wrong-type" },
    { name: "200 with an error body", kind: "error-in-200" },
    { name: "answer lost after the commit", kind: "lost-reply" },
    { name: "slow drip", kind: "slow-drip" },
  ],
  tcp: [
    { name: "connection refused", kind: "refused" },
    { name: "connection reset", kind: "reset" },
    { name: "no answer", kind: "hang" },
    { name: "answer lost after the commit", kind: "lost-reply" },
    { name: "half an answer", kind: "half-reply" },
  ],
  directory: [
    { name: "EIO", kind: "EIO" },
    { name: "ENOSPC", kind: "ENOSPC" },
    { name: "EACCES", kind: "EACCES" },
    { name: "EPERM", kind: "EPERM" },
    { name: "EMFILE", kind: "EMFILE" },
    { name: "torn write", kind: "torn-write" },
    { name: "no answer", kind: "hang" },
  ],
};

/** Whether an operation under this fault can end only by a deadline of its own, or by its caller's abort. */
export function isEndless({ kind }: Fault): boolean {
  return kind === "hang" || kind === "slow-drip";
}
