/** Which variables of the environment somebody reads. */
import { syncBuiltinESMExports } from "node:module";
import { getCallSites } from "node:util";

export interface EnvironmentRecord {
  /** Names of the variables that were read, asked for or listed. */
  readonly read: ReadonlySet<string>;
  /** Puts the environment back as it was, with what was written to it meanwhile. */
  stop(): void;
}

// Enough to reach past the proxy and builtins, such as `Object.keys`, to who asked.
const frames = 8;

/**
 * Notes what is read through `process.env` until it is stopped; what Node reads itself does not count. A listing counts as
 * reading what it lists.
 */
export function recordEnvironment(): EnvironmentRecord {
  const original = process.env;
  const read = new Set<string>();
  const note = (key: PropertyKey): void => {
    if (typeof key === "string" && !askedByNode()) read.add(key);
  };
  const recording = new Proxy(original, {
    get(target, key) {
      note(key);
      return Reflect.get(target, key);
    },
    // Otherwise setting would ask for the descriptor, as if somebody read.
    set: (target, key, value) => Reflect.set(target, key, value),
    has(target, key) {
      note(key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      note(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
  replace(recording);
  return {
    read,
    stop: () => {
      if (process.env === recording) replace(original);
    },
  };
}

/** For the property and for those that import it by name. */
function replace(environment: NodeJS.ProcessEnv): void {
  process.env = environment;
  syncBuiltinESMExports();
}

function askedByNode(): boolean {
  const asking = getCallSites(frames).find(({ scriptName }) => scriptName !== "" && scriptName !== import.meta.url);
  return asking === undefined || asking.scriptName.startsWith("node:");
}
