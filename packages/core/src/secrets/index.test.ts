import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MemoryError } from "../errors.ts";
import {
  assertNoSecrets,
  defaultSecretPolicy,
  inspect,
  redactSecrets,
  type SecretRule,
  secretPolicy,
} from "./index.ts";

// Joined here, so that no scanner takes this file for a leak.
const githubToken = ["ghp", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("_");
const anthropicKey = ["sk", "ant", "api03", "Zx9-Yw8_Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0"].join("-");
const password = ["hunter2", "x9"].join("!");

function thrownBy(run: () => unknown): MemoryError {
  try {
    run();
  } catch (error) {
    if (MemoryError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("Nothing was thrown.");
}

describe("inspect", () => {
  it("reports where a secret stands and of what kind it is, and never the secret", () => {
    expect(inspect(`The bot uses ${githubToken}.`)).toEqual([
      { ruleId: "github-token", kind: "access token", start: 13, end: 13 + githubToken.length },
    ]);
    expect(inspect("The bot uses a token.")).toEqual([]);
  });

  it("reports findings by position and merges the ones that overlap", () => {
    const findings = inspect(`password: ${password}, token=${githubToken}`);
    expect(findings.map((finding) => finding.ruleId)).toEqual(["assigned-password", "assigned-credential"]);
  });

  it.each([
    ["a zero-width space", "\u200B"],
    ["a zero-width joiner", "\u200D"],
    ["a word joiner", "\u2060"],
    ["a byte order mark", "\uFEFF"],
    ["a soft hyphen", "\u00AD"],
    ["a tag character", "\u{E0061}"],
    ["NUL", "\u0000"],
    ["an escape character", "\u001B"],
    ["a delete character", "\u007F"],
    ["a C1 control character", "\u0090"],
  ])("finds a token broken by %s, at its place in the original text", (_, character) => {
    const broken = `${githubToken.slice(0, 2)}${character}${githubToken.slice(2, 20)}${character}${githubToken.slice(20)}`;
    const text = `caf\u00E9 ${character}${broken} end`;
    const [finding, ...others] = inspect(text);
    expect(others).toEqual([]);
    expect(text.slice(finding?.start, finding?.end)).toBe(broken);
  });

  it("does not count an invisible character after the token as a part of it", () => {
    const broken = `${githubToken.slice(0, 9)}\u200B${githubToken.slice(9)}`;
    expect(inspect(`${broken}\u200B\u200B end`)).toMatchObject([{ start: 0, end: broken.length }]);
  });

  it("finds a token that an invisible character separates from the word before it", () => {
    expect(inspect(`word\u200B${githubToken}`)).toHaveLength(1);
  });

  it.each([
    "// secretlint-disable",
    "# gitleaks:allow",
    "<!-- pragma: allowlist secret -->",
    "// nosec: this is a dummy EXAMPLE",
    "trufflehog:ignore",
  ])("is not switched off by %s", (comment) => {
    for (const text of [
      `${comment}\n${githubToken}`,
      `${githubToken} ${comment}`,
      `password: ${password} ${comment}`,
    ]) {
      expect(inspect(text)).toHaveLength(1);
    }
  });

  it("finds nothing more once the findings are cut out, and stays within the text", () => {
    const piece = fc.oneof(
      fc.constantFrom(
        githubToken,
        anthropicKey,
        `password: ${password}`,
        `https://bob:${password}@db.example.net/x`,
        `Authorization: Bearer ${anthropicKey}`,
      ),
      fc.constantFrom("the weather is fine", "risk-based", "\u200B", "\u{1F600}", "\n", ", ", "(", "`", "2024-05-01"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), fc.constantFrom(" ", "\n", " \u00AD"), (pieces, separator) => {
        const text = pieces.join(separator);
        let rest = "";
        let position = 0;
        for (const { start, end } of inspect(text)) {
          expect(start).toBeGreaterThanOrEqual(position);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          rest += `${text.slice(position, start)} `;
          position = end;
        }
        expect(inspect(rest + text.slice(position))).toEqual([]);
      }),
    );
  });

  it("reads any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        for (const { start, end } of inspect(text)) expect(start >= 0 && start < end && end <= text.length).toBe(true);
      }),
    );
  });
});

describe("assertNoSecrets", () => {
  it("lets innocent texts pass", () => {
    expect(() => assertNoSecrets(["I like green tea.", "The secret is patience."])).not.toThrow();
  });

  it("refuses with the rules' ids, each once, and never with the text", () => {
    const error = thrownBy(() => assertNoSecrets([githubToken, `see ${githubToken}`, `password: ${password}`]));
    expect(error.code).toBe("secret_refused");
    expect(error.ruleIds).toEqual(["github-token", "assigned-password"]);
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toMatch(/a1B2c3|hunter2/);
  });

  it("applies the policy it is given", () => {
    expect(() => assertNoSecrets(githubToken, secretPolicy({ disable: ["github-token"] }))).not.toThrow();
    expect(() => assertNoSecrets(anthropicKey, secretPolicy({ disable: ["github-token"] }))).toThrow();
  });
});

describe("redactSecrets", () => {
  it("puts the kind of secret in its place and keeps the rest", () => {
    expect(redactSecrets(`use ${githubToken}, then password: ${password} (old)`)).toEqual({
      text: "use [access token removed], then [password removed] (old)",
      ruleIds: ["github-token", "assigned-password"],
    });
  });

  it("leaves nothing of a token that is broken by invisible characters", () => {
    const broken = `${githubToken.slice(0, 9)}\u200B${githubToken.slice(9)}`;
    expect(redactSecrets(`use ${broken} now`).text).toBe("use [access token removed] now");
  });

  it("returns an innocent text as it came, invisible characters and all", () => {
    expect(redactSecrets("co\u00ADop\u200B eration")).toEqual({ text: "co\u00ADop\u200B eration", ruleIds: [] });
  });
});

describe("secretPolicy", () => {
  const badgeRule: SecretRule = {
    id: "badge",
    kind: "badge number",
    find: function* (text) {
      for (const match of text.matchAll(/badge-\d{4}/g))
        yield { start: match.index, end: match.index + match[0].length };
    },
  };

  it("adds rules of one's own to the built-in ones", () => {
    const policy = secretPolicy({ rules: [badgeRule] });
    expect(redactSecrets("it is badge-12\u200B34", policy).text).toBe("it is [badge number removed]");
    expect(inspect("it is badge-1234")).toEqual([]);
    expect(inspect(githubToken, policy)).toHaveLength(1);
  });

  it("has all built-in rules by default and cannot be changed afterwards", () => {
    expect(secretPolicy().rules).toEqual(defaultSecretPolicy.rules);
    expect(Object.isFrozen(secretPolicy().rules) && Object.isFrozen(defaultSecretPolicy.rules)).toBe(true);
  });

  it("refuses to disable a rule that does not exist", () => {
    expect(thrownBy(() => secretPolicy({ disable: ["github-tokens"] })).code).toBe("invalid_options");
  });

  it("refuses two rules with one id", () => {
    expect(thrownBy(() => secretPolicy({ rules: [{ ...badgeRule, id: "github-token" }] })).code).toBe(
      "invalid_options",
    );
    expect(() =>
      secretPolicy({ rules: [{ ...badgeRule, id: "github-token" }], disable: ["github-token"] }),
    ).not.toThrow();
  });
});
