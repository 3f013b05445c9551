import { describe, expect, it } from "vitest";
import { certify } from "../certify.ts";
import { summarize } from "../explain.ts";
import { siblingModule } from "../process/rpc.ts";
import { freePort, redisServer } from "../test-support/redis.ts";

const subject = siblingModule("subject", import.meta.url);
const longestMs = 900_000; // far more than it takes on a busy machine: what hangs ends by the kit's own limits

async function strictly(module: URL): Promise<string> {
  return summarize(await certify(module, { profile: "strict" }));
}

describe.concurrent.each([
  "backend=http&time=injected",
  "backend=tcp&time=global",
  "backend=directory&time=real",
  "backend=sqlite&time=injected",
  "backend=none&time=injected",
  "freshness=previous-turn&time=injected",
])("the reference provider (%s)", (kind) => {
  it("is certified", { timeout: longestMs }, async () => {
    expect(await strictly(new URL(`?${kind}`, subject))).toMatch(/: certified/);
  });
});

describe("the reference provider over a real Redis", () => {
  it("is certified, behind a proxy that breaks the connection", { timeout: longestMs }, async ({ skip }) => {
    const server = (await redisServer()) ?? noRedis(skip);
    await server.close();
    expect(await strictly(siblingModule("../test-support/redis-subject", import.meta.url))).toMatch(/: certified/);
  });

  it("stands on another port where the one that was free is not any more", async ({ skip }) => {
    const first = (await redisServer()) ?? noRedis(skip);
    const ports = [first.port, await freePort()];
    const second = await redisServer(async () => ports.shift() ?? 0);
    await Promise.all([first.close(), second?.close()]);
    expect([second === null, ports, second?.port === first.port]).toEqual([false, [], false]);
  });
});

function noRedis(skip: (why: string) => never): never {
  if (process.env.KEEPSAKE_REQUIRE_REDIS !== undefined) throw new Error("There is no redis-server on this machine.");
  return skip("there is no redis-server on this machine");
}
