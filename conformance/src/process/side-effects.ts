/** What a module does merely by being imported, which is nothing if it can be imported anywhere. */
import { Socket } from "node:net";
import { recordEnvironment } from "./environment.ts";
import { recordFiles } from "./file-writes.ts";
import { replaceMethod } from "./replace-method.ts";

export interface SideEffects {
  /** Names of variables that were read, by other than Node. */
  readonly environment: readonly string[];
  /** Timers that are still running and keep the process alive. */
  readonly timers: number;
  /** What else is still open and keeps the process alive, by Node's names, such as `TCPServerWrap`. */
  readonly handles: readonly string[];
  /** Files that were written, made, changed or removed, or opened for it. */
  readonly files: readonly string[];
  /** Sockets that were connected, or tried to be. */
  readonly connections: number;
  /** Names that are new in the global scope. */
  readonly globals: readonly string[];
  /** Whether anything was written to stdout or stderr. */
  readonly console: boolean;
}

export interface SideEffectWatch {
  /** Ends the watch, and answers what it saw. One turn of the event loop after the import, what was closed is gone. */
  stop(): SideEffects;
}

/**
 * Watches the process until it is stopped. For a process that is about to import a module and does nothing else; that
 * Node reads the module's source does not count. Not seen: what is done through `process.binding`, native code, or
 * functions that were taken from a builtin module before.
 */
export function watchSideEffects(): SideEffectWatch {
  let connections = 0;
  let console = false;
  const environment = recordEnvironment();
  const files = recordFiles(() => {
    console = true;
  });
  const restore = [
    replaceMethod(Socket.prototype, "connect", () => {
      connections++;
    }),
    ...[process.stdout, process.stderr].map((stream) =>
      replaceMethod(stream, "write", () => {
        console = true;
      }),
    ),
  ];
  const globalsBefore = new Set(Reflect.ownKeys(globalThis));
  void process.stdin; // an import of node:process opens it
  const resourcesBefore = openResources();

  return {
    stop() {
      environment.stop();
      files.stop();
      for (const undo of restore) undo();
      const resources = added(openResources(), resourcesBefore);
      return {
        environment: [...environment.read].sort(),
        timers: resources.filter((name) => name === "Timeout").length,
        handles: resources.filter((name) => name !== "Timeout").sort(),
        files: [...files.written].sort(),
        connections,
        globals: Reflect.ownKeys(globalThis)
          .filter((key) => !globalsBefore.has(key) && !ownedByNode(key))
          .map(String)
          .sort(),
        console,
      };
    },
  };
}

/** Without requests, which end by themselves and are still listed for a moment after they have. */
function openResources(): string[] {
  return process.getActiveResourcesInfo().filter((name) => !/Req|(?:Connect|Write|Shutdown)Wrap$/.test(name));
}

/** What is in a list beyond what is in another; both may hold a name several times. */
function added(after: readonly string[], before: readonly string[]): string[] {
  const left = [...before];
  return after.filter((name) => {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

/** Node's fetch keeps its dispatcher in the global scope from its first use on. */
function ownedByNode(key: PropertyKey): boolean {
  return typeof key === "symbol" && (key.description ?? "").startsWith("undici.");
}
