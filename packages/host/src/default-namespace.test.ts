import { describe, expect, it } from "vitest";
import { createMemoryHost, defaultNamespace } from "./index.ts";
import { slotRecalling } from "./test-support/slots.ts";

const context = { appRoot: "/app", node: "__root__", slot: "profile" };

describe("the default namespace", () => {
  it("is a digest of the application's root, node and slot, as eve makes it", () => {
    expect(defaultNamespace(context, {})).toBe(
      '["eve-memory-default-namespace-v1","local","9TtSrW0hzOty36ePtnYU_hTxEMWOaEErAVCNakhVAcM","__root__","profile"]',
    );
  });

  it("is the project and environment on Vercel, and for a preview its branch, deployment or address", () => {
    const of = (environment: Record<string, string>) =>
      JSON.parse(defaultNamespace(context, { VERCEL_PROJECT_ID: "p", ...environment })).slice(1);
    expect(of({})).toEqual(["vercel", "p", "production", null, "__root__", "profile"]);
    expect(of({ VERCEL_ENV: "preview", VERCEL_GIT_COMMIT_REF: "fix" })).toEqual([
      "vercel",
      "p",
      "preview",
      "fix",
      "__root__",
      "profile",
    ]);
    expect(of({ VERCEL_ENV: "preview", VERCEL_DEPLOYMENT_ID: "d", VERCEL_URL: "u" })[3]).toBe("d");
    expect(of({ VERCEL_ENV: "preview" })[3]).toBe("unknown-preview");
    expect(of({ VERCEL_TARGET_ENV: "staging", VERCEL_ENV: "preview" })[2]).toBe("staging");
    expect(of({ VERCEL_PROJECT_ID: " p " })[1]).toBe("p");
  });

  it("knows the project from Vercel's token too, and a workspace's member by its route", () => {
    const token = `h.${btoa(JSON.stringify({ project_id: "prj_1" })).replace(/=+$/, "")}.s`;
    const of = (environment: Record<string, string>) => JSON.parse(defaultNamespace(context, environment)).slice(1);
    const preview = { VERCEL_OIDC_TOKEN: token, VERCEL_ENV: "preview", VERCEL_GIT_COMMIT_REF: "b" };
    expect(of(preview)).toEqual(["vercel", "prj_1", "preview", "b", "__root__", "profile"]);
    expect(of({ VERCEL_OIDC_TOKEN: token })).toEqual(["vercel", "prj_1", "production", null, "__root__", "profile"]);
    expect(of({ VERCEL_OIDC_TOKEN: "broken" })[0]).toBe("local");
    const member = {
      VERCEL_PROJECT_ID: "p",
      EVE_INTERNAL_AGENT_WORKSPACE_MEMBER: "1",
      EVE_PUBLIC_ROUTE_PREFIX: "support/",
    };
    expect(of(member)).toEqual(["vercel", "p", "production", null, "/support", "__root__", "profile"]);
    expect(of({ ...member, EVE_INTERNAL_AGENT_WORKSPACE_MEMBER: "0" })).not.toContain("/support");
  });

  it("keeps slots apart that have the same scope", async () => {
    const keys: string[] = [];
    const slot = slotRecalling(({ memory }) => void keys.push(memory.scope.key));
    await createMemoryHost({ slots: { a: slot, b: slot }, appRoot: "/app" })
      .session()
      .startTurn("hello");
    expect(new Set(keys).size).toBe(2);
  });

  it("cannot be made of nothing", () => {
    expect(() => defaultNamespace({ ...context, appRoot: "" }, {})).toThrow(
      expect.objectContaining({ code: "not_configured" }),
    );
  });
});
