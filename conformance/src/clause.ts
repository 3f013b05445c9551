/** What a provider must do, as data: one sentence, one id, one source. Checks prove clauses; mutants prove checks. */

/** `base` is what every host needs; `strict` adds what good providers do and the reference host does not ask for. */
export type Profile = "base" | "strict";

export interface Clause {
  /** Such as `MEM-ISO-01`: never reused, never given another meaning. */
  readonly id: string;
  /** A check of a MUST decides the verdict; a check of a SHOULD advises. */
  readonly level: "MUST" | "SHOULD";
  readonly profile: Profile;
  /** One normative sentence. */
  readonly sentence: string;
  /** Requirements and clauses of the reference that it stands on: `P1`, `C2`, `E5.4`. */
  readonly source: string;
  /** Why no check can show it from outside. A clause has a check, or this. */
  readonly excluded?: string;
}

/** The set that this version judges by. A set is frozen once released; what comes later advises until the next one. */
export const clauseSet = 1;
