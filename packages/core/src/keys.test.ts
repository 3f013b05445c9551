import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertScopeKey,
  isDerivedScopeKey,
  itemKey,
  listDigest,
  namespaceKey,
  scopeKey,
  scopeKeyOfStorageName,
  scopeValueKey,
  storageName,
  textDigest,
} from "./keys.ts";
import { eveScopeKey } from "./test-support/eve-internals.ts";
import { codeOf, memoryErrorOf } from "./test-support/outcome.ts";

interface Facts {
  readonly scopes: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly scope: string | readonly string[];
    readonly namespaceKey: string;
    readonly scopeValueKey: string;
    readonly scopeKey: string;
  }[];
  readonly items: readonly { readonly id: string; readonly itemKey: string }[];
  readonly longestAccepted: { readonly namespaceLength: number; readonly partLengths: readonly number[] };
}

// Read, not imported: a bundler's JSON parser need not take the lone surrogate that is in there.
const facts = JSON.parse(readFileSync(new URL("./__fixtures__/scope-keys.json", import.meta.url), "utf8")) as Facts;

const distinct = (values: readonly string[]): number => new Set(values).size;

describe("scopeKey", () => {
  it.each(facts.scopes)("$name", (row) => {
    expect(scopeKey(row)).toBe(row.scopeKey);
    expect(namespaceKey(row.namespace)).toBe(row.namespaceKey);
    expect(scopeValueKey(row.scope)).toBe(row.scopeValueKey);
  });

  it("is what eve derives, for any namespace and scope, and refuses what eve refuses", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 8 }),
      fc.constantFrom("", " ", "\ud800", "a\udc00b", "x".repeat(1024), "x".repeat(1025), "\u00e9".repeat(513)),
    );
    const scope = fc.oneof(text, fc.array(text, { maxLength: 18 }));
    const ours = (input: { readonly namespace: string; readonly scope: string | string[] }): string | null => {
      try {
        return scopeKey(input);
      } catch {
        return null;
      }
    };
    const verdicts = { derived: 0, refused: 0 };
    fc.assert(
      fc.property(text, scope, (namespace, value) => {
        const key = ours({ namespace, scope: value });
        expect(key).toBe(eveScopeKey({ namespace, scope: value }));
        verdicts[key === null ? "refused" : "derived"] += 1;
      }),
      { numRuns: 500 },
    );
    expect(Math.min(verdicts.derived, verdicts.refused)).toBeGreaterThan(20);
  });

  it("takes a lone surrogate for U+FFFD, and tells any other two texts apart", () => {
    expect(scopeKey({ namespace: "app", scope: "\ud800" })).toBe(scopeKey({ namespace: "app", scope: "\ufffd" }));
    expect(scopeKey({ namespace: "app", scope: "\ufffc" })).not.toBe(scopeKey({ namespace: "app", scope: "\ufffd" }));
  });

  it.each([
    ["tuples that read the same when joined", ["a:b", "c"], ["a", "b:c"]],
    ["a text and a tuple of it", "a", ["a"]],
    ["a tenant and one whose name begins alike", "t/acme", "t/acme-corp"],
    ["upper and lower case", "Ann", "ann"],
    ["normal forms", "\u00e9", "e\u0301"],
    ["spaces around", " a", "a"],
    ["order within a tuple", ["a", "b"], ["b", "a"]],
    ["punctuation", "ann.lee", "ann_lee"],
    ["names of prototypes", "__proto__", "constructor"],
    ["control characters", "a\u0000", "a\u0001"],
    ["a tuple and its JSON", ["a", "b"], '["a","b"]'],
  ])("keeps apart: %s", (_, one, other) => {
    expect(scopeKey({ namespace: "app", scope: one })).not.toBe(scopeKey({ namespace: "app", scope: other }));
    expect(scopeValueKey(one)).not.toBe(scopeValueKey(other));
  });

  it("gives distinct keys to distinct namespaces and scopes, and the same key to the same", () => {
    const text = fc
      .oneof(
        fc.string({ unit: "binary", minLength: 1, maxLength: 12 }),
        fc.constantFrom(
          "a:b",
          "a",
          "b:c",
          "c",
          "t/acme",
          "t/acme-corp",
          "__proto__",
          "constructor",
          "\u0000",
          "\u00e9",
          "e\u0301",
        ),
      )
      .filter((value) => value.trim() !== "");
    const pair = fc.record({ namespace: text, scope: fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 4 })) });
    fc.assert(
      fc.property(pair, pair, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(scopeKey(one) === scopeKey(other)).toBe(same);
        expect(scopeKey(structuredClone(one))).toBe(scopeKey(one));
      }),
    );
  });

  const long = "s".repeat(1025);
  it.each<[string, unknown, unknown, string]>([
    ["a blank namespace, before the scope is looked at", " \t", [], "A namespace must be text"],
    ["a namespace that is not text", undefined, "a", "A namespace must be text"],
    ["a long namespace, before the scope is looked at", long, [], "A namespace may have at most 1024"],
    ["too many parts, before any part is looked at", "app", Array(17).fill(" "), "A scope tuple may have at most 16"],
    ["no part", "app", [], "A scope tuple must have at least one"],
    ["an empty scope", "app", "", "Scope part 0 must be text"],
    ["a blank scope", "app", " \n", "Scope part 0 must be text"],
    ["a scope of undefined", "app", undefined, "Scope part 0 must be text"],
    ["a scope that is a number", "app", 5, "Scope part 0 must be text"],
    ["a part that is a number", "app", ["a", 5], "Scope part 1 must be text"],
    ["a blank part", "app", ["a", "\t"], "Scope part 1 must be text"],
    ["a hole for a part", "app", Object.assign([], { 1: "a" }), "Scope part 0 must be text"],
    ["a long part, before the blank one after it", "app", [long, " "], "Scope part 0 may have at most 1024"],
    [
      "a part whose characters fit but whose bytes do not",
      "app",
      "\u00e9".repeat(513),
      "Scope part 0 may have at most 1024",
    ],
    [
      "all of it together",
      "n".repeat(1024),
      ["s", "t", "u"].map((part) => part.repeat(1024)),
      "Namespace and scope together",
    ],
  ])("refuses %s", async (_, namespace, scope, message) => {
    const error = await memoryErrorOf(() => scopeKey({ namespace: namespace as string, scope: scope as string }));
    expect(error).toMatchObject({ code: "invalid_scope", retryable: false });
    expect(error.message).toContain(message);
  });

  it("takes exactly 4,096 encoded bytes and refuses one more", async () => {
    const { namespaceLength, partLengths } = facts.longestAccepted;
    const namespace = "n".repeat(namespaceLength);
    const scope = partLengths.map((length) => "s".repeat(length));
    expect(scopeKey({ namespace, scope })).toMatch(/^memscope1_/);
    expect(await codeOf(() => scopeKey({ namespace: `${namespace}n`, scope }))).toBe("invalid_scope");
  });

  it("takes 1,024 bytes in one part", () => {
    expect(scopeKey({ namespace: "app", scope: "\u00e9".repeat(512) })).toMatch(/^memscope1_/);
  });

  it("never quotes what it refuses", async () => {
    const name = "ann.lee";
    const refusals = [
      { namespace: name.repeat(200), scope: "a" },
      { namespace: "app", scope: name.repeat(200) },
      { namespace: "app", scope: [name, " "] },
      { namespace: "app", scope: Array<string>(17).fill(name) },
      { namespace: name.repeat(146), scope: Array<string>(4).fill(name.repeat(146)) },
    ];
    for (const refusal of refusals) {
      const { message, stack } = await memoryErrorOf(() => scopeKey(refusal));
      expect(message).toMatch(/namespace|scope/i);
      expect(`${message} ${stack}`).not.toContain(name);
    }
  });
});

describe("digests", () => {
  it.each(facts.items)("name the recalled item $id", ({ id, itemKey: key }) => {
    expect(itemKey(id)).toBe(key);
  });

  it("of a text are the SHA-256 that everyone computes", () => {
    // The digest of "abc" in FIPS 180-2, as base64url.
    expect(textDigest("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  });

  it("of lists mind where one text ends and the next begins", () => {
    expect(distinct([["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"]].map(listDigest))).toBe(5);
    expect(listDigest(["ab", "c"])).toBe(listDigest(["ab", "c"]));
  });
});

describe("isDerivedScopeKey", () => {
  it("knows what scopeKey derives from anything else, its other spellings too", () => {
    const key = scopeKey({ namespace: "app", scope: "ann" });
    expect(isDerivedScopeKey(key)).toBe(true);
    const others = [
      "",
      "ann",
      "memscope1_",
      `${key}x`,
      key.slice(0, -1),
      `${key.slice(0, -1)}!`,
      key.toUpperCase(),
      7,
      null,
    ];
    for (const other of others) expect(isDerivedScopeKey(other)).toBe(false);
    const last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const spellings = [...last].map((letter) => key.slice(0, -1) + letter).filter(isDerivedScopeKey);
    expect(spellings).toContain(key);
    expect(spellings).toHaveLength(16); // of six bits the last letter holds four
  });
});

describe("storageName", () => {
  const derived = facts.scopes.map((row) => row.scopeKey);

  it("is a derived key's own digest, and leads back to it", () => {
    for (const key of derived) {
      expect(storageName(key)).toMatch(/^[0-9a-f]{64}$/);
      expect(scopeKeyOfStorageName(storageName(key))).toBe(key);
    }
  });

  it("does not take another spelling of a derived key's digest for the key", () => {
    const key = "memscope1_QgrrLxjWiZQEgz5yp2pMCojhLQOypkfqmxj8GHUFmfQ";
    // The last character holds four bits: Q, R, S and T all decode to the same bytes.
    const spellings = ["Q", "R", "S", "T"].map((last) => key.slice(0, -1) + last);
    expect(distinct(spellings.map(storageName))).toBe(4);
    expect(spellings.map((spelling) => scopeKeyOfStorageName(storageName(spelling)))).toEqual([key, null, null, null]);
  });

  it("keeps hostile keys apart, in names that any file system takes", () => {
    const base = "memscope1_QgrrLxjWiZQEgz5yp2pMCojhLQOypkfqmxj8GHUFmfQ";
    const hostile = [
      ...[
        "..",
        "../../x",
        ".",
        "/",
        "a/b",
        "a\\b",
        "a\u0000b",
        "a\u0000",
        "CON",
        "con",
        "NUL",
        "C:\\x",
        "a|b",
        "*",
        "app[1]:",
      ],
      ...["x".repeat(1000), "x".repeat(1001), " a", "a ", "a", "A", "\u00e9", "e\u0301", "__proto__", "constructor"],
      ...[
        base.toLowerCase(),
        base.toUpperCase(),
        `${base}=`,
        `${base}A`,
        `${base}\n`,
        ` ${base}`,
        base.replace("1_", "2_"),
      ],
      ...["0".repeat(64), `${"0".repeat(64)}00`, storageName("a"), storageName(base)],
    ];
    const names = hostile.map(storageName);
    for (const name of names) expect(name).toMatch(/^[0-9a-f]{64}(00)?$/);
    expect(distinct([...names, storageName(base)])).toBe(hostile.length + 1);
    expect(names.map(scopeKeyOfStorageName)).toEqual(hostile.map(() => null));
  });

  it("is lower-case hex for any well-formed key, and distinct", () => {
    const key = fc.string({ unit: "binary", minLength: 1 }).filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(key, key, (one, other) => {
        expect(storageName(one)).toMatch(/^[0-9a-f]{64}(00)?$/);
        expect(storageName(one) === storageName(other)).toBe(one === other);
      }),
    );
  });

  it("is the only kind of name that leads back to a key", () => {
    expect(scopeKeyOfStorageName("0".repeat(64))).toMatch(/^memscope1_A{43}$/);
    for (const name of [
      "",
      "0".repeat(63),
      "0".repeat(66),
      "G".repeat(64),
      "A".repeat(64),
      `${"0".repeat(64)}\n`,
      ".DS_Store",
    ]) {
      expect(scopeKeyOfStorageName(name)).toBeNull();
    }
  });

  it.each([
    ["empty", ""],
    ["blank", " \t\u2028"],
    ["ill-formed", "a\ud800"],
    ["missing", undefined],
    ["a number", 7],
    ["a list", ["a"]],
  ])("refuses a key that is %s", async (_, key) => {
    expect(await codeOf(() => storageName(key as string))).toBe("invalid_scope");
    expect(await codeOf(() => assertScopeKey(key))).toBe("invalid_scope");
    expect(() => assertScopeKey("a")).not.toThrow();
  });
});
