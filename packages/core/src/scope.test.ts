import { byPrincipal as eveByPrincipal } from "eve/memory/scope";
import { describe, expect, it } from "vitest";
import type { MemoryScopeContext } from "./contract.ts";
import { scopeKey } from "./keys.ts";
import { allOf, byConversation, byPrincipal, bySpace, byTenant, fixed, type ScopeHelper, when } from "./scope.ts";
import { principal, scopeContext } from "./test-support/contexts.ts";
import { codeOf } from "./test-support/outcome.ts";

const nobody = scopeContext(null);
const acme = scopeContext(principal({ attributes: { tenantId: "acme" } }));
const inSpace = (id: string, type = "shared"): MemoryScopeContext =>
  scopeContext(principal(), { conversation: { space: { type, id } } });
const keyOf = (helper: ScopeHelper, context: MemoryScopeContext): string => {
  const scope = helper(context);
  if (scope === null) throw new Error("Expected a scope, not null.");
  return scopeKey({ namespace: "app", scope });
};

describe("byPrincipal", () => {
  it.each([
    ["no caller", null, null],
    ["a user", principal({ authenticator: "oidc", issuer: "https://i" }), '["user","oidc","https://i","u1"]'],
    ["a user without issuer", principal(), '["user","app",null,"u1"]'],
    [
      "a user with subject and attributes",
      principal({ attributes: { tenantId: "t" }, subject: "sub" }),
      '["user","app",null,"u1"]',
    ],
    ["a service", principal({ principalType: "service", principalId: "svc" }), '["service","app",null,"svc"]'],
    ["an anonymous caller", principal({ principalType: "anonymous", principalId: "anonymous" }), null],
    ["the runtime", principal({ principalType: "runtime", principalId: "r" }), null],
    ["a local developer", principal({ principalType: "local-dev", principalId: "me" }), "local-dev"],
    ["an empty issuer", principal({ authenticator: "a", issuer: "", principalId: "u" }), '["user","a","","u"]'],
    ["a kind of caller of the host's own", principal({ principalType: "robot" }), '["robot","app",null,"u1"]'],
  ])("is eve's value for %s", (_, current, scope) => {
    expect(byPrincipal(scopeContext(current))).toBe(scope);
    expect(eveByPrincipal(scopeContext(current))).toBe(scope);
  });

  it("gives null for a blank principal id, which would be shared by all who lack one", () => {
    expect(byPrincipal(scopeContext(principal({ principalId: " \t" })))).toBeNull();
    expect(byPrincipal(scopeContext(principal({ principalId: " x" })))).toBe('["user","app",null," x"]');
  });

  it("goes by who speaks, not by who opened the session", () => {
    const context = scopeContext(principal());
    const auth = { current: principal({ principalId: "u2" }), initiator: principal({ principalId: "u1" }) };
    expect(byPrincipal({ ...context, session: { id: "s", auth } })).toContain("u2");
    expect(byPrincipal({ ...context, session: { id: "s", auth: { ...auth, current: null } } })).toBeNull();
  });
});

describe("byTenant", () => {
  it("is the caller's attribute, with its name", () => {
    expect(byTenant()(acme)).toEqual(["tenant", "tenantId", "acme"]);
    const both = scopeContext(principal({ attributes: { team: "42", organisation: "42" } }));
    expect(keyOf(byTenant("team"), both)).not.toBe(keyOf(byTenant("organisation"), both));
  });

  it.each([
    ["no caller", null],
    ["no such attribute", principal()],
    ["a blank attribute", principal({ attributes: { tenantId: " " } })],
    ["an attribute of several values", principal({ attributes: { tenantId: ["acme", "other"] } })],
    ["an attribute that is a list of one", principal({ attributes: { tenantId: ["acme"] } })],
    ["an anonymous caller", principal({ attributes: { tenantId: "acme" }, principalType: "anonymous" })],
    ["the runtime", principal({ attributes: { tenantId: "acme" }, principalType: "runtime" })],
  ])("is null for %s", (_, current) => {
    expect(byTenant()(scopeContext(current))).toBeNull();
  });

  it.each(["__proto__", "constructor", "toString"])("reads %s only where it is the caller's own", (attribute) => {
    expect(byTenant(attribute)(acme)).toBeNull();
    const attributes: Record<string, string> = Object.fromEntries([[attribute, "acme"]]);
    expect(byTenant(attribute)(scopeContext(principal({ attributes })))).toEqual(["tenant", attribute, "acme"]);
    const inherited: Record<string, string> = Object.create({ tenantId: "acme" });
    expect(byTenant()(scopeContext(principal({ attributes: inherited })))).toBeNull();
  });

  it("keeps a tenant from one whose name begins alike", () => {
    const other = scopeContext(principal({ attributes: { tenantId: "acme-corp" } }));
    expect(keyOf(byTenant(), acme)).not.toBe(keyOf(byTenant(), other));
  });
});

describe("bySpace", () => {
  it("is the shared space", () => {
    expect(bySpace(inSpace("general"))).toEqual(["space", "general"]);
  });

  it.each([
    ["no conversation", scopeContext()],
    ["a conversation outside any space", scopeContext(principal(), { conversation: { id: "c" } })],
    ["a private space", inSpace("general", "private")],
    ["a space without a name", inSpace(" ")],
  ])("is null for %s", (_, context) => {
    expect(bySpace(context)).toBeNull();
  });
});

describe("byConversation", () => {
  it("is the conversation, or else the channel's handle for it", () => {
    const channel = { kind: "http", continuationToken: "t" };
    expect(byConversation(scopeContext(null, { conversation: { id: "c" }, channel }))).toEqual(["conversation", "c"]);
    expect(byConversation(scopeContext(null, { channel }))).toEqual(["channel", "http", "t"]);
  });

  it.each([
    ["neither", {}],
    ["a handle without a channel", { channel: { continuationToken: "t" } }],
    ["a channel without a handle", { channel: { kind: "http" } }],
    ["a blank handle", { channel: { kind: "http", continuationToken: " " } }],
    ["a blank conversation id", { conversation: { id: " " } }],
  ])("is null for %s", (_, changes) => {
    expect(byConversation(scopeContext(principal(), changes))).toBeNull();
  });
});

describe("fixed and when", () => {
  it("share one memory among all callers, on purpose only", () => {
    expect(fixed("team")(nobody)).toEqual(["fixed", "team"]);
    expect(fixed("team")(acme)).toEqual(["fixed", "team"]);
  });

  it("apply a helper only under a condition that is true", () => {
    const paying = (answer: unknown) => when(() => answer as boolean, fixed("team"))(acme);
    expect(paying(true)).toEqual(["fixed", "team"]);
    expect(paying(false)).toBeNull();
    expect(paying(Promise.resolve(false))).toBeNull();
  });

  it("refuse blank names where they are written", async () => {
    expect(await codeOf(() => fixed(" "))).toBe("invalid_options");
    expect(await codeOf(() => byTenant(""))).toBe("invalid_options");
    // @ts-expect-error a helper is needed
    expect(await codeOf(() => allOf())).toBe("invalid_options");
  });
});

describe("allOf", () => {
  it("is a memory per combination, in order", () => {
    const scope = allOf(byTenant(), byPrincipal)(acme);
    expect(scope).toEqual(['["tenant","tenantId","acme"]', JSON.stringify('["user","app",null,"u1"]')]);
    expect(keyOf(allOf(byTenant(), byPrincipal), acme)).not.toBe(keyOf(allOf(byPrincipal, byTenant()), acme));
  });

  it("keeps the borders of its parts", () => {
    const own = (scope: string | readonly string[]) => (): typeof scope => scope;
    const borders = [
      allOf(own("a:b"), own("c")),
      allOf(own("a"), own("b:c")),
      allOf(own(["a", "b"]), own("c")),
      allOf(own(["a"]), own(["b", "c"])),
      allOf(own("a"), own("b"), own("c")),
      allOf(own('["a","b"]'), own("c")),
      allOf(allOf(own("a"), own("b")), own("c")),
    ];
    expect(new Set(borders.map((helper) => keyOf(helper, acme))).size).toBe(borders.length);
  });

  it("is null as soon as one part is missing, blank or empty", () => {
    expect(allOf(fixed("a"), byPrincipal)(acme)).not.toBeNull();
    expect(allOf(fixed("a"), byPrincipal)(nobody)).toBeNull();
    for (const missing of [null, "", " ", [], ["a", " "]]) {
      expect(allOf(byPrincipal, () => missing)(acme)).toBeNull();
      expect(allOf(() => missing, byPrincipal)(acme)).toBeNull();
    }
  });
});

it("a tenant, a space, a conversation, a fixed name and a principal called x are five memories", () => {
  const x = scopeContext(principal({ principalId: "x", attributes: { tenantId: "x" } }), {
    conversation: { id: "x", space: { type: "shared", id: "x" } },
  });
  const helpers = [byTenant(), bySpace, byConversation, fixed("x"), byPrincipal, () => "x"];
  expect(new Set(helpers.map((helper) => keyOf(helper, x))).size).toBe(helpers.length);
  expect(new Set(helpers.map((helper) => keyOf(allOf(helper), x))).size).toBe(helpers.length);
});
