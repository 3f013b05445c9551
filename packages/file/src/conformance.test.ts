/** File memory is certified on each of its backends, by the profile that demands most. */
import { certify, summarize } from "@keepsake/conformance";
import { describe, expect, it } from "vitest";

const longestMs = 300_000;

describe.concurrent.each(["directory", "in-memory", "documents", "vercel-blob"])("file memory over %s", (name) => {
  it("is certified, strictly", { timeout: longestMs }, async () => {
    const subject = new URL(`./test-support/subjects/${name}-subject.ts`, import.meta.url);
    const certificate = await certify(subject, { profile: "strict" });
    expect(certificate.certified, summarize(certificate)).toBe(true);
  });
});
