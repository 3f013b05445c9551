/**
 * The one place that refuses secrets. Every provider calls {@link assertNoSecrets} before it stores, indexes or sends
 * text, and {@link redactSecrets} before a query leaves the process. Nothing inside a text can switch the rules off.
 */
import { MemoryError } from "../errors.ts";
import { checkOptions, optionIs } from "../options.ts";
import type { SecretRule } from "./rule.ts";
import { secretRules } from "./rules.ts";
import { visibleText } from "./visible-text.ts";

export type { SecretRule };

/** Where a rule matched. Never the value. */
export interface SecretFinding {
  readonly ruleId: string;
  /** The class of secret, as a person would say it: `private key`, `access token`. */
  readonly kind: string;
  /** UTF-16 offsets into the text, end exclusive. */
  readonly start: number;
  readonly end: number;
}

/** Which rules apply. Made by {@link secretPolicy}. */
export interface SecretPolicy {
  readonly rules: readonly SecretRule[];
}

export interface SecretPolicyOptions {
  /** Rules of one's own, beside the built-in ones. */
  readonly rules?: readonly SecretRule[];
  /** Ids of built-in rules that do not apply. An unknown id is an error. */
  readonly disable?: readonly string[];
}

/**
 * Builds a policy from the built-in rules.
 * @throws MemoryError `invalid_options` for an unknown id in `disable` or two rules with one id.
 */
export function secretPolicy(options: SecretPolicyOptions = {}): SecretPolicy {
  checkOptions("secretPolicy()", options, {
    rules: (rules) => Array.isArray(rules) && rules.every(isRule),
    disable: (ids) => Array.isArray(ids),
  });
  const disabled = new Set(options.disable);
  for (const id of disabled) {
    if (!secretRules.some((rule) => rule.id === id)) {
      throw new MemoryError("invalid_options", "secretPolicy() was asked to disable a rule that does not exist.");
    }
  }
  const rules = [...secretRules.filter((rule) => !disabled.has(rule.id)), ...(options.rules ?? [])];
  if (new Set(rules.map((rule) => rule.id)).size !== rules.length) {
    throw new MemoryError("invalid_options", "secretPolicy() was given two rules with one id.");
  }
  return Object.freeze({ rules: Object.freeze(rules) });
}

function isRule(rule: unknown): boolean {
  return (
    optionIs.having("find")(rule) && ["id", "kind"].every((name) => optionIs.text(Reflect.get(Object(rule), name)))
  );
}

/** All built-in rules. */
export const defaultSecretPolicy: SecretPolicy = Object.freeze({ rules: secretRules });

/** Every finding in the text, by position; overlapping ones are merged under the rule that starts first. */
export function inspect(text: string, policy: SecretPolicy = defaultSecretPolicy): readonly SecretFinding[] {
  const found: SecretFinding[] = [];
  const visible = visibleText(text);
  for (const rule of policy.rules) {
    const { id: ruleId, kind } = rule;
    for (const { start, end } of rule.find(text)) found.push({ ruleId, kind, start, end });
    if (visible === undefined) continue;
    for (const span of rule.find(visible.text)) found.push({ ruleId, kind, ...visible.toOriginal(span) });
  }
  found.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: SecretFinding[] = [];
  for (const finding of found) {
    const last = merged.at(-1);
    if (last === undefined || finding.start >= last.end) merged.push(finding);
    else if (finding.end > last.end) merged[merged.length - 1] = { ...last, end: finding.end };
  }
  return merged;
}

/**
 * Refuses the write when any of the texts holds a secret.
 * @throws MemoryError `secret_refused` with `ruleIds`; never with the text.
 */
export function assertNoSecrets(texts: string | readonly string[], policy: SecretPolicy = defaultSecretPolicy): void {
  const ruleIds = new Set<string>();
  for (const text of typeof texts === "string" ? [texts] : texts) {
    for (const finding of inspect(text, policy)) ruleIds.add(finding.ruleId);
  }
  if (ruleIds.size > 0) {
    throw new MemoryError(
      "secret_refused",
      "This looks like a secret (a key, token or password), and memory never keeps one.",
      {
        ruleIds: [...ruleIds],
      },
    );
  }
}

/** The text with every finding replaced by `[<kind> removed]`, for queries that leave the process. */
export function redactSecrets(
  text: string,
  policy: SecretPolicy = defaultSecretPolicy,
): { readonly text: string; readonly ruleIds: readonly string[] } {
  const findings = inspect(text, policy);
  let redacted = "";
  let position = 0;
  for (const finding of findings) {
    redacted += `${text.slice(position, finding.start)}[${finding.kind} removed]`;
    position = finding.end;
  }
  return { text: redacted + text.slice(position), ruleIds: [...new Set(findings.map((finding) => finding.ruleId))] };
}
