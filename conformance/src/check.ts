/** A check: one thing that a provider is put through, with the reasons for which it can fail. */
import type { Bench } from "./bench.ts";

/** What a check needs of a provider to be tried at all. Where it is missing, the check is not applicable. */
export type Need =
  | "capture"
  | "tools"
  | "save-tool"
  | "search-tool"
  | "forget-tool"
  | "maintenance"
  | "erase"
  | "ttl"
  | "durable"
  | "replay"
  | "current"
  | "backend"
  | "provider-time"
  | "invalid-options";

export interface Check {
  /** `<family>/<name>`, stable. */
  readonly id: string;
  /** The one clause that it proves. */
  readonly clause: string;
  /** What is tried, in a few words. */
  readonly title: string;
  readonly needs: readonly Need[];
  /** The likely cause of each way to fail. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Starts processes, which takes a while. */
  readonly slow: boolean;
  run(bench: Bench): Promise<void>;
}

export interface CheckDefinition<Reason extends string> {
  readonly id: `${string}/${string}`;
  readonly clause: string;
  readonly title: string;
  readonly needs?: readonly Need[];
  readonly slow?: boolean;
  readonly reasons: Readonly<Record<Reason, string>>;
  readonly run: (bench: Bench, fail: Fail<Reason>) => Promise<void>;
}

/** Ends the check: `reason` is one of its own, `saw` one sentence on what was seen, without content. */
export type Fail<Reason extends string> = (reason: Reason, saw: string) => never;

export function defineCheck<const Reason extends string>(definition: CheckDefinition<Reason>): Check {
  const { needs = [], slow = false, run, ...rest } = definition;
  return {
    ...rest,
    needs,
    slow,
    run: (bench) =>
      run(bench, (reason, saw) => {
        throw new Violation(reason, saw);
      }),
  };
}

/** The provider broke the rule. */
export class Violation extends Error {
  readonly reason: string;

  constructor(reason: string, saw: string) {
    super(saw);
    this.name = "Violation";
    this.reason = reason;
  }
}

/** Not a failure: the check does not apply to this provider, or says something that does not decide. */
export class Verdict extends Error {
  readonly state: "not-applicable" | "advisory" | "untestable";

  constructor(state: Verdict["state"], why: string) {
    super(why);
    this.name = "Verdict";
    this.state = state;
  }
}

/** Reasons for which any check can fail. */
export const commonReasons: Readonly<
  Record<"hung" | "threw" | "unhandled-request" | "unhandled-rejection" | "process-ended" | "stuck", string>
> = {
  hung: "A call was still open when everything that it could wait for had happened.",
  threw: "The provider threw where nothing was wrong.",
  "unhandled-request": "The provider asked somebody other than its backend.",
  "unhandled-rejection": "A promise of the provider's failed with nobody waiting for it.",
  "process-ended": "The provider ended the process.",
  stuck: "The provider computes without an end, so that nothing else in the process goes on.",
};
