import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { quiet, withHangGuard } from "../time/wait.ts";
import {
  type ChildProcessHandle,
  ProcessEnded,
  type ProcessOptions,
  RemoteError,
  siblingModule,
  startProcess,
} from "./rpc.ts";

const supportModule = (name: string): URL => siblingModule(`../test-support/${name}`, import.meta.url);
const served = supportModule("served-process");
const uncloneable = "() => {} could not be cloned.";
const started: ChildProcessHandle[] = [];

async function start(options: Partial<ProcessOptions> = {}): Promise<ChildProcessHandle> {
  const child = await startProcess({ module: served, ...options });
  started.push(child);
  return child;
}

const thrownBy = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

afterEach(() => {
  for (const child of started.splice(0)) child.kill();
});

describe("a process that serves", () => {
  it("answers calls, those that overlap as well, and keeps what JSON would lose", async () => {
    const child = await start();
    const values = [new Map([["key", new Date(0)]]), undefined, 10n, Uint8Array.of(1, 2)];
    const [first, second] = await Promise.all([child.call("echo", ...values), child.call("echo", "second")]);
    expect(first).toEqual(values);
    expect(second).toEqual(["second"]);
  });

  it("is given its data and environment", async () => {
    const child = await start({ data: { list: [1] }, env: { GIVEN: "yes", PATH: undefined } });
    expect(await child.call("data")).toEqual({ list: [1] });
    expect(await child.call("env", "GIVEN")).toBe("yes");
    expect(await child.call("env", "PATH")).toBeUndefined();
    expect(await child.call("env", "HOME")).toBe(process.env.HOME);
  });

  it("tells what was thrown", async () => {
    const child = await start();
    const error = await thrownBy(child.call("fail"));
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toMatchObject({ name: "RangeError", message: "too far", code: "limit_exceeded", retryable: true });
    expect(await thrownBy(child.call("failWith", "text"))).toMatchObject({ name: "Error", message: "Thrown: text" });
    expect(await thrownBy(child.call("nowhere"))).toMatchObject({ message: "There is no method nowhere." });
    expect(await thrownBy(child.call("toString"))).toMatchObject({ message: "There is no method toString." });
  });

  it("fails a call whose arguments or answer cannot be sent, and only that", async () => {
    const child = await start();
    expect(await thrownBy(child.call("echo", () => {}))).toMatchObject({ message: uncloneable });
    expect(await thrownBy(child.call("uncloneable"))).toMatchObject({ message: uncloneable });
    expect(await child.call("echo", 1)).toEqual([1]);
  });

  it("keeps what it wrote", async () => {
    const child = await start();
    await child.call("print", "hello");
    await thrownBy(child.call("exit", 0));
    expect(child.stdout).toBe("hello\n");
    expect(child.stderr).toBe("HELLO\n");
  });
});

describe("a process that ends", () => {
  it("fails open calls and later ones with how it ended", async () => {
    const child = await start();
    const open = thrownBy(child.call("never"));
    expect(await thrownBy(child.call("exit", 3))).toMatchObject({ name: "ProcessEnded", code: 3, signal: null });
    expect(await open).toBeInstanceOf(ProcessEnded);
    expect(await child.ended).toEqual({ code: 3, signal: null });
    expect(await thrownBy(child.call("echo"))).toMatchObject({ name: "ProcessEnded", code: 3 });
  });

  it("tells the signal that killed it", async () => {
    const child = await start();
    const open = thrownBy(child.call("never"));
    child.kill();
    expect(await open).toMatchObject({ name: "ProcessEnded", code: null, signal: "SIGKILL" });
  });

  it("never starts when its methods cannot be made", async () => {
    const error = await thrownBy(start({ data: "broken" }));
    expect(error).toMatchObject({ name: "TypeError", message: "cannot be made", code: "EBROKEN" });
  });

  it("never starts when its data cannot be sent", async () => {
    expect(await thrownBy(start({ data: () => {} }))).toMatchObject({ message: uncloneable });
  });

  it("never starts when there is no such module", async () => {
    const error = await thrownBy(start({ module: supportModule("nowhere") }));
    expect(error).toMatchObject({ name: "ProcessEnded", code: 1, stderr: expect.stringContaining("nowhere") });
  });
});

describe("a process that is disconnected", () => {
  it("ends when nothing is left open", async () => {
    const child = await start();
    const open = thrownBy(child.call("never"));
    child.disconnect();
    expect(await open).toMatchObject({ message: expect.stringContaining("disconnected") });
    expect(await child.ended).toEqual({ code: 0, signal: null });
  });

  it("stays when something is", async () => {
    const child = await start();
    await child.call("stayOpen");
    child.disconnect();
    const ended = child.ended.then(() => "ended");
    expect(await Promise.race([ended, quiet(() => false, 100)])).toBeUndefined();
    child.kill();
    expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
  });
});

describe("a process whose parent is killed", () => {
  it.each(["connected", "disconnect"])("ends as well: %s", async (mode) => {
    const parent = spawn(process.execPath, [fileURLToPath(supportModule("process-parent")), mode]);
    const [output] = await once(parent.stdout, "data");
    const pid = Number(String(output));
    expect(isRunning(pid)).toBe(true);
    parent.kill("SIGKILL");
    await withHangGuard(
      quiet(() => isRunning(pid), 1),
      "the child of a killed process ended",
      10_000,
    );
  });
});

it("a sibling has the extension of the module beside it", () => {
  expect(siblingModule("worker", "file:///a/src/x.ts").href).toBe("file:///a/src/worker.ts");
  expect(siblingModule("worker", "file:///a/dist/x.js?t=1").href).toBe("file:///a/dist/worker.js");
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
