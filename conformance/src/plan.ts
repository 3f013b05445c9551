/** Which checks a run consists of. */
import type { Check } from "./check.ts";
import type { Profile } from "./clause.ts";
import { allChecks, clauseOf, firstCheck } from "./families/index.ts";
import type { CheckHeading } from "./result.ts";

export interface PlanOptions {
  readonly profile: Profile;
  /** Ids of checks, or of families. Default: all. */
  readonly only?: readonly string[] | undefined;
}

/**
 * The checks of a run, in the order of the families. The first check always belongs to it.
 * @throws TypeError where `only` names what there is not.
 */
export function plannedChecks({ profile, only }: PlanOptions): readonly Check[] {
  const isNamed = ({ id }: Check, name: string): boolean => id === name || id.startsWith(`${name}/`);
  for (const name of only ?? []) {
    if (!allChecks.some((check) => isNamed(check, name))) {
      throw new TypeError(`There is no check or family "${name}" (only).`);
    }
  }
  return allChecks
    .filter(({ clause }) => profile === "strict" || clauseOf(clause).profile === "base")
    .filter((check) => check === firstCheck || only === undefined || only.some((name) => isNamed(check, name)));
}

export function headingOf(check: Check): CheckHeading {
  const { id, level, sentence } = clauseOf(check.clause);
  return { check: check.id, clause: id, level, sentence };
}
