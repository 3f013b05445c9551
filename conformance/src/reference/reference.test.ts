import { describe, expect, it } from "vitest";
import { certify } from "../certify.ts";
import { summarize } from "../explain.ts";
import { siblingModule } from "../process/rpc.ts";
import { redisServer } from "../test-support/redis.ts";

const subject = siblingModule("subject", import.meta.url);
const longestMs = 120_000;

async function strictly(module: URL): Promise<string> {
  return summarize(await certify(module, { profile: "strict" })).split("\n")[0] ?? "";
}

describe.each(["http", "tcp", "directory"])("the reference provider over %s", (backend) => {
  it.each(["injected", "global", "real"])("is certified when time is %s", { timeout: longestMs }, async (time) => {
    expect(await strictly(new URL(`?backend=${backend}&time=${time}`, subject))).toMatch(/: certified/);
  });
});

describe("the reference provider over a real Redis", () => {
  it("is certified, behind a proxy that breaks the connection", { timeout: longestMs }, async ({ skip }) => {
    const server = await redisServer();
    if (server === null) {
      if (process.env.KEEPSAKE_REQUIRE_REDIS !== undefined)
        throw new Error("There is no redis-server on this machine.");
      return skip("there is no redis-server on this machine");
    }
    await server.close();
    expect(await strictly(siblingModule("../test-support/redis-subject", import.meta.url))).toMatch(/: certified/);
  });
});
