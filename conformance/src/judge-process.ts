/** A process that judges: time is replaced before the subject is loaded, and nothing of the caller's is around. */
import { patchFileSystem } from "./backends/file-faults.ts";
import { allChecks } from "./families/index.ts";
import { type Judged, type JudgeOptions, judge, plannedChecks } from "./judge.ts";
import { note, serve } from "./process/rpc.ts";
import type { CheckHeading, CheckResult } from "./result.ts";
import { loadSubject } from "./subject/load.ts";
import { createKitClock, installGlobalTime, type TimeMode } from "./time/kit-clock.ts";

/** What the parent is told while it waits. */
export type JudgeNote = { readonly started: CheckHeading } | { readonly result: CheckResult };

export type JudgeTask = Omit<JudgeOptions, "time" | "onResult" | "onStart"> & { readonly timeMode: TimeMode };

export interface Look {
  readonly timeMode: TimeMode;
  /** How many checks there are to run. */
  readonly planned: number;
}

serve({
  async look(moduleUrl: string, options: Pick<JudgeOptions, "profile" | "only">): Promise<Look> {
    await patchFileSystem(); // a provider may take functions out of `node:fs` when it is loaded
    const { time: timeMode, deviations = [] } = await loadSubject(moduleUrl);
    for (const { check } of deviations) {
      if (!allChecks.some(({ id }) => id === check)) throw new TypeError(`There is no check "${check}" (deviations).`);
    }
    return { timeMode, planned: plannedChecks(options).length };
  },

  async judge({ timeMode, ...task }: JudgeTask): Promise<Judged> {
    if (timeMode === "global") installGlobalTime();
    await patchFileSystem();
    const time = createKitClock(timeMode);
    const subject = await loadSubject(task.moduleUrl);
    const tell = (message: JudgeNote): void => note(message);
    return judge(subject, {
      ...task,
      time,
      onStart: (started) => tell({ started }),
      onResult: (result) => tell({ result }),
    });
  },
});
