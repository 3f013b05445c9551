import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { SideEffects } from "./side-effects.ts";

const script = fileURLToPath(new URL("../test-support/side-effects-script.ts", import.meta.url));
const none: SideEffects = {
  environment: [],
  timers: 0,
  handles: [],
  files: [],
  connections: 0,
  globals: [],
  console: false,
};

interface Imported {
  readonly effects: SideEffects;
  readonly restored: boolean;
  readonly pathAfter?: string;
}

/** What importing a fixture does, in a process of its own. */
async function imported(fixture: string, env: NodeJS.ProcessEnv = {}): Promise<Imported> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, fixture], { env });
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
}

describe("importing a module", () => {
  it("that does nothing has no side effects", async () => {
    expect(await imported("pure")).toEqual({ effects: none, restored: true });
  });

  it("that reads the environment names the variables, and keeps what it sets", async () => {
    expect(await imported("environment")).toEqual({
      effects: { ...none, environment: ["BY_GET", "BY_IMPORT", "BY_IN", "BY_OWN", "BY_PATTERN"] },
      restored: true,
      pathAfter: "kept",
    });
  });

  it("that lists the environment has read all of it", async () => {
    const { effects } = await imported("environment-listing", { LISTED: "1", ALSO: "1" });
    expect(effects.environment).toEqual(["ALSO", "LISTED"]);
  });

  it.each<[string, Partial<SideEffects>]>([
    ["timers", { timers: 2 }],
    ["server", { handles: ["TCPServerWrap"] }],
    ["connection", { connections: 2 }],
    ["globals", { globals: ["Symbol(left.by.fixture)", "leftByFixture"] }],
    ["console", { console: true }],
    ["descriptor", { console: true }],
    ["files", { files: ["/nowhere/folder", "/nowhere/opened", "/nowhere/promises", "/nowhere/sync", "/nowhere/to"] }],
  ])("that leaves something behind says so, and nothing else: %s", async (fixture, expected) => {
    expect((await imported(fixture)).effects).toEqual({ ...none, ...expected });
  });
});
