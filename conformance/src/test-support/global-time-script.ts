/** Runs one scenario under replaced global time, in a process of its own, and prints what it saw as JSON. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { installGlobalTime } from "../time/global-time.ts";
import { createKitClock, type KitClock, type Outcome } from "../time/kit-clock.ts";
import { realTimers } from "../time/wait.ts";

installGlobalTime();
const { scenarios: timeScenarios } = await import("./global-time-subject.ts");
const limitMs = 60_000;

/** A server on loopback that never answers `/hang` and fails the first `failures` requests to `/flaky`. */
async function startServer(failures: number): Promise<{ url: string; busy(): boolean; close(): void }> {
  let open = 0;
  let failed = 0;
  const server = createServer((request, response) => {
    if (request.url === "/hang") return;
    open++;
    response.on("close", () => open--);
    // Two turns of the real event loop, as a backend does some work of its own.
    realTimers.setTimeout(() => {
      response.statusCode = request.url === "/flaky" && failed++ < failures ? 503 : 200;
      response.end("answered");
    }, 2);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    busy: () => open > 0,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function shown(outcome: Outcome<unknown>): unknown {
  if (outcome.state !== "rejected") return outcome;
  const { name, message } = outcome.error as Error;
  return { state: outcome.state, name, message };
}

/** How a call ended, and how much time it took of the clock that is driven. */
async function driven(time: KitClock, call: Promise<unknown>, busy: () => boolean): Promise<unknown> {
  const from = time.now();
  const outcome = await time.drive(call, { limitMs, busy });
  return { ...(shown(outcome) as object), tookMs: time.now() - from };
}

const idle = (): boolean => false;
const scenarios: Readonly<Record<string, (time: KitClock) => Promise<unknown>>> = {
  replaced: async () => timeScenarios.replaced(),
  async setAgain(time) {
    const waiting = timeScenarios.waits.global();
    installGlobalTime(Date.UTC(2031, 0, 1));
    return { ...timeScenarios.replaced(), waited: await driven(time, waiting, idle) };
  },
  async waits(time) {
    const results: Record<string, unknown> = {};
    for (const [name, wait] of Object.entries(timeScenarios.waits)) results[name] = await driven(time, wait(), idle);
    return results;
  },
  async intervals(time) {
    const stop = timeScenarios.interval();
    const result = await driven(time, new Promise(() => {}), idle);
    return { result, fired: stop() > 0 };
  },
  async fetches(time) {
    const server = await startServer(0);
    const result = await driven(time, timeScenarios.fetchText(`${server.url}/answer`), server.busy);
    server.close();
    return result;
  },
  async times(time) {
    const results: unknown[] = [];
    for (let round = 0; round < 10; round++) {
      const server = await startServer(3);
      const hung = await driven(time, timeScenarios.fetchWithin(`${server.url}/hang`, 10_000), server.busy);
      const retried = await driven(time, timeScenarios.fetchWithRetries(`${server.url}/flaky`), server.busy);
      server.close();
      results.push({ hung, retried });
    }
    return results;
  },
};

const name = process.argv[2] ?? "";
const scenario = scenarios[name];
if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);
console.log(JSON.stringify(await scenario(createKitClock("global"))));
process.exit(0); // timers of the client's that are driven by nobody any more
