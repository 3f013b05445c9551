/** A process that judges: time is replaced before the subject is loaded, and nothing of the caller's is around. */
import { patchFileSystem } from "./backends/file-faults.ts";
import { allowUnencryptedTls } from "./backends/unencrypted-tls.ts";
import type { Facts } from "./drive/facts.ts";
import { allChecks } from "./families/index.ts";
import { createJudge, type Judge, type JudgeOptions } from "./judge.ts";
import { headingOf, type PlanOptions, plannedChecks } from "./plan.ts";
import { serve } from "./process/rpc.ts";
import type { CheckHeading, CheckResult } from "./result.ts";
import type { Deviation } from "./subject/define.ts";
import { loadSubject } from "./subject/load.ts";
import { parseSubject } from "./subject/parse.ts";
import { createKitClock, installGlobalTime, type TimeMode } from "./time/kit-clock.ts";

/** What has to be known of a subject before it is judged. */
export interface Look {
  readonly name: string | undefined;
  readonly timeMode: TimeMode;
  readonly deviations: readonly Deviation[];
  /** The checks of the run. */
  readonly planned: readonly CheckHeading[];
}

export type Case = Omit<JudgeOptions, "time"> & { readonly timeMode: TimeMode };

let judge: Judge | undefined;

/** First of all: a provider may take functions out of Node's modules when it is loaded. */
async function patchNode(): Promise<void> {
  allowUnencryptedTls();
  await patchFileSystem();
}

serve({
  /** Where its time is to be replaced, this process has loaded the subject too early to judge it. */
  async look(moduleUrl: string, plan: PlanOptions): Promise<Look> {
    await patchNode();
    const { name, time: timeMode, deviations = [] } = parseSubject(await loadSubject(moduleUrl));
    for (const { check } of deviations) {
      if (!allChecks.some(({ id }) => id === check)) throw new TypeError(`There is no check "${check}" (deviations).`);
    }
    return { name, timeMode, deviations, planned: plannedChecks(plan).map(headingOf) };
  },

  async meet({ timeMode, ...options }: Case): Promise<Facts> {
    if (timeMode === "global") installGlobalTime();
    await patchNode();
    const subject = parseSubject(await loadSubject(options.moduleUrl));
    judge = await createJudge(subject, { ...options, time: createKitClock(timeMode) });
    return judge.facts;
  },

  async try(id: string): Promise<CheckResult> {
    const check = allChecks.find((each) => each.id === id);
    if (judge === undefined || check === undefined) throw new TypeError("There is nobody to judge, or no such check.");
    return judge.try(check);
  },
});
