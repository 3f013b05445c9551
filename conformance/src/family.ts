/** A family: what is demanded, how it is tried, and who shows that the trying works. One family, one file. */
import type { MemoryProvider } from "@keepsake/core";
import type { Connection } from "./backend.ts";
import type { Check } from "./check.ts";
import type { Clause } from "./clause.ts";
import type { ReferenceParts } from "./reference/parts.ts";
import type { ReferenceOptions } from "./reference/provider.ts";
import type { RecordStore } from "./reference/record-store.ts";
import type { Subject } from "./subject/define.ts";

/** The reference provider, wrong in exactly one way. */
export interface Mutant {
  /** `<family>/<name>`, stable. */
  readonly id: `${string}/${string}`;
  /** What is wrong with it. */
  readonly flaw: string;
  /** The checks that have to fail it, and for which of their reasons. */
  readonly kills: Readonly<Record<string, string>>;
  /** Checks of other things, which have to pass. The first check always has to, unless it kills. */
  readonly spares: readonly string[];
  /** Which reference backend it stands on. Default `http`. */
  readonly backend?: "http" | "tcp" | "directory" | "none";
  /** Default `injected`. */
  readonly time?: "injected" | "global" | "real";
  /** Replaces decisions of the provider. */
  readonly parts?: (correct: ReferenceParts) => Partial<ReferenceParts>;
  /** Stands between the provider and its store. */
  readonly store?: (store: RecordStore, connection: Connection) => RecordStore;
  /** Done when the subject's module is imported. */
  readonly imported?: () => void;
  /** Stands before the finished provider. */
  readonly provider?: (provider: MemoryProvider, options: ReferenceOptions) => MemoryProvider;
  /** What is said of the provider to the kit. */
  readonly subject?: (correct: Subject) => Partial<Subject>;
}

export interface Family {
  readonly name: string;
  readonly clauses: readonly Clause[];
  readonly checks: readonly Check[];
  readonly mutants: readonly Mutant[];
}

/** @throws Error for checks without a clause of the family. */
export function defineFamily(family: Family): Family {
  for (const { id, clause } of family.checks) {
    if (!family.clauses.some((each) => each.id === clause)) throw new Error(`${id} proves no clause of its family.`);
  }
  return family;
}
