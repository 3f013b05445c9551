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

  it("is the project's own while eve develops it, whichever snapshot it runs from", () => {
    const ofProject = defaultNamespace(context, {});
    const of = (appRoot: string) => defaultNamespace({ ...context, appRoot }, {});
    for (const snapshot of [
      "/app/.eve/dev-runtime/snapshots/1764547200000-ab12/source",
      "/app/.eve/dev-runtime/snapshots/other id/source",
      "/app/.eve/dev-runtime/snapshots/1764547200000-ab12/source/",
    ]) {
      expect(of(snapshot)).toBe(ofProject);
    }
    expect(of("/shop/.eve/dev-runtime/snapshots/1/source")).toBe(of("/shop"));
    expect(of("C:\\app\\.eve\\dev-runtime\\snapshots\\1\\source\\")).toBe(of("C:\\app"));
    expect(of("/shop")).not.toBe(ofProject);
  });

  it("is the project's own where it is a part of a repository, of which eve's snapshot has the folders again", () => {
    const of = (appRoot: string) => defaultNamespace({ ...context, appRoot }, {});
    const bot = of("/repo/apps/bot");
    expect(of("/repo/apps/bot/.eve/dev-runtime/snapshots/1/source/apps/bot")).toBe(bot);
    expect(of("/repo/apps/bot/.eve/dev-runtime/snapshots/2/source/apps/bot/")).toBe(bot);
    expect(of("/repo/apps/cat/.eve/dev-runtime/snapshots/1/source/apps/cat")).not.toBe(bot);
  });

  it("is a digest of any other folder as it is, however much it looks like a snapshot", () => {
    const ofProject = defaultNamespace(context, {});
    for (const appRoot of [
      "/app/.eve/dev-runtime/snapshots/1/source/agents/support",
      "/app/.eve/dev-runtime/snapshots/1",
      "/app/.eve/dev-runtime/snapshots/source",
      "/app/.eve/dev-runtime/snapshots/1/2/source",
      "/app/eve/dev-runtime/snapshots/1/source",
      "/app/source",
    ]) {
      expect(defaultNamespace({ ...context, appRoot }, {})).not.toBe(ofProject);
    }
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

  it("leads to the same memory from one of eve's snapshots to the next, and to another in another project", async () => {
    const keys: string[] = [];
    const profile = slotRecalling(({ memory }) => void keys.push(memory.scope.key));
    for (const appRoot of ["/app", "/app/.eve/dev-runtime/snapshots/1/source", "/other"]) {
      await createMemoryHost({ slots: { profile }, appRoot }).session().startTurn("hello");
    }
    const [project, snapshot, other] = keys;
    expect(snapshot).toBe(project);
    expect(other).not.toBe(project);
  });

  it("cannot be made of nothing", () => {
    expect(() => defaultNamespace({ ...context, appRoot: "" }, {})).toThrow(
      expect.objectContaining({ code: "not_configured" }),
    );
  });
});
