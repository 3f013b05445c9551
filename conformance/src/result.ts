/** What came of a run. */
import type { MemoryCapabilities } from "@keepsake/core";
import type { Profile } from "./clause.ts";

export type CheckState =
  | "pass"
  | "fail"
  /** Did not pass, and does not decide: a SHOULD, or something that cannot be measured here. */
  | "advisory"
  /** The provider does not have, or honestly does not declare, what the check is about. */
  | "not-applicable"
  /** Must be shown and could not be tried. Fails. */
  | "untestable"
  /** Not tried, because another check failed first. */
  | "blocked"
  /** The kit's own fault. */
  | "harness-error";

export interface CheckResult {
  readonly check: string;
  readonly clause: string;
  readonly level: "MUST" | "SHOULD";
  /** What the clause demands. */
  readonly sentence: string;
  readonly state: CheckState;
  /** For what did not pass: which of the check's reasons. */
  readonly reason?: string;
  /** What was seen, or why it was not tried. Never content. */
  readonly saw?: string;
  readonly likelyCause?: string;
  /** The last requests to the backend, without bodies. */
  readonly exchange?: readonly string[];
  readonly blockedBy?: string;
  /** Known and listed by the subject. */
  readonly deviation?: { readonly reason: string; readonly link: string };
  readonly durationMs: number;
}

/** Which check of which clause: what is known of a result before there is one. */
export type CheckHeading = Pick<CheckResult, "check" | "clause" | "level" | "sentence">;

/** How the provider was understood. */
export interface Understanding {
  readonly name: string;
  readonly profile: Profile;
  readonly time: "injected" | "global" | "real";
  readonly backend: string;
  readonly capabilities: MemoryCapabilities;
  /** What was guessed, a sentence each. */
  readonly guesses: readonly string[];
}

export interface Certificate {
  readonly understanding: Understanding;
  readonly clauseSet: number;
  /** Runs the same again. */
  readonly seed: number;
  /** In the order of the clauses, whatever the order in which they were tried. */
  readonly results: readonly CheckResult[];
  /** Whether every check of the profile was up for its turn: a filtered run never certifies. */
  readonly complete: boolean;
  readonly certified: boolean;
  /** Whether every failure is a deviation that the subject lists, and none of those passes: what a CI of its own asks. */
  readonly asDeclared: boolean;
  /** Why not, a sentence each; empty where certified. */
  readonly because: readonly string[];
  /** Why not as declared, a sentence each; empty where it is. */
  readonly surprises: readonly string[];
}
