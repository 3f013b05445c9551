/** Providers that nobody here wrote. */
import { describe, expect, it } from "vitest";
import { certify } from "./certify.ts";
import { siblingModule } from "./process/rpc.ts";

const eveFileMemory = siblingModule("test-support/eve-file-memory", import.meta.url);

describe("eve's own file memory", () => {
  it("is certified by the base profile", { timeout: 120_000 }, async () => {
    expect(await certify(eveFileMemory)).toMatchObject({ certified: true, asDeclared: true, because: [] });
  });

  it("misses of the strict profile what it does not promise", { timeout: 120_000 }, async () => {
    const { certified, results } = await certify(eveFileMemory, { profile: "strict" });
    const failed = results.filter(({ state }) => state === "fail").map(({ check, reason }) => `${check}: ${reason}`);
    expect(certified).toBe(false);
    expect(failed.sort()).toEqual([
      "distant-repeats/tool: back",
      "framing/next-line: forged-line", // U+0085 is not whitespace to it
      "recalled-text/repairs: half-a-character",
      "replay/interleaved: nothing-first",
      "replay/restart: differs",
      "secrets/deep: unchecked",
      "secrets/in-words: unchecked",
      "secrets/no-off-switch: unchecked",
      "secrets/several: unchecked",
      "secrets/write-paths: stored",
      "tool-calls/after-forget: back",
    ]);
  });
});
