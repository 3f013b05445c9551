/** The example as a user runs it: `eve dev` in a process of its own, on a copy of the app, with folders of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "eve/client";

/** How long one thing may take before it counts as hanging. Far more than it needs on a busy machine. */
export const hangGuardMs = 180_000;

/** The headers that say who calls. */
export type Caller = Readonly<Partial<Record<"x-user" | "x-company", string>>>;

export interface AgentProcess {
  readonly url: string;
  /** Has a conversation of one message, in a session of its own, and resolves with the answer. */
  ask(caller: Caller, message: string): Promise<string>;
  /** Ends the process, and resolves when it is gone. */
  stop(): Promise<void>;
}

/** Copies the app into a folder, because eve writes into the app that it serves. */
export async function copyApp(folder: string): Promise<void> {
  const example = join(import.meta.dirname, "..");
  const app = join(folder, "app");
  for (const name of ["agent", "package.json"]) await cp(join(example, name), join(app, name), { recursive: true });
  await symlink(join(example, "node_modules"), join(app, "node_modules"));
  await mkdir(join(folder, "temporary"));
}

/** Starts the app in a folder, on a port that the system chooses, and resolves when it is ready. */
export async function startAgent(folder: string): Promise<AgentProcess> {
  const args = ["dev", "--no-ui", "--host", "127.0.0.1", "--port", "0", "--no-default-extensions"];
  const child = spawn(process.execPath, ["node_modules/eve/bin/eve.js", ...args], {
    cwd: join(folder, "app"),
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TMPDIR: join(folder, "temporary"),
      KEEPSAKE_HOME: join(folder, "keepsake"),
      EVE_TELEMETRY_DISABLED: "1",
      EVE_TRACES: "off",
      NO_COLOR: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  let output = "";
  const announced = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        output += chunk;
        const [, url] = /listening at (http:\/\/127\.0\.0\.1:\d+)\//.exec(output) ?? [];
        if (url !== undefined) resolve(url);
      });
    }
  });

  const fail = (what: string): never => {
    throw new Error(`The agent ${what}. Its output:\n${output}`);
  };
  const soon = async <T>(waiting: Promise<T>, what: string): Promise<T> => {
    let guard: NodeJS.Timeout | undefined;
    const hanging = new Promise<never>((_resolve, reject) => {
      guard = setTimeout(() => reject(new Error("hangs")), hangGuardMs);
    });
    try {
      return await Promise.race([waiting, hanging]);
    } catch (error) {
      return fail(`never ${what} (${error instanceof Error ? error.message : String(error)})`);
    } finally {
      clearTimeout(guard);
    }
  };
  const whileRunning = <T>(waiting: Promise<T>): Promise<T> =>
    Promise.race([waiting, ended.then(() => Promise.reject(new Error("the process ended")))]);

  const stop = async (): Promise<void> => {
    child.kill("SIGTERM"); // eve ends the server that it started, and goes after it
    try {
      await soon(ended, "ended");
    } finally {
      child.kill("SIGKILL"); // its server ends by itself when eve is gone
    }
  };

  try {
    const url = await soon(whileRunning(announced), "announced its address");
    await soon(whileRunning(new Client({ host: url }).health()), "was ready");
    return {
      url,
      ask: async (caller, message) => {
        const asking = async () => {
          const { response } = await new Client({ host: url, headers: caller }).sessions.create({ message });
          return await response.result();
        };
        const { status, message: answer } = await soon(whileRunning(asking()), `answered "${message}"`);
        return status === "waiting" && answer !== undefined ? answer : fail(`answered "${message}" with ${status}`);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
