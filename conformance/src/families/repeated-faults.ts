/**
 * A backend that has failed for a while. Who then spares it, and the caller the wait, has to say so each time: a circuit
 * breaker that answers nothing turns an outage into an empty memory, and one that never closes again stays one.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { attempt, passingFault, recover } from "../drive/faulting.ts";
import { operationsOf, ready } from "../drive/operations.ts";
import { defineFamily, type Family } from "../family.ts";
import { withCapture, withRecall } from "../reference/changed.ts";

const failures = 8;

const againAndAgain = defineCheck({
  id: "faults/again-and-again",
  clause: "MEM-FLT-13",
  title: `Each of ${failures} calls in a row that meet a failing backend rejects or says so, and then all is well again`,
  needs: ["backend"],
  reasons: {
    "gives-up": "After some failures its backend is left alone, and calls are answered as if there were nothing to do.",
    "never-again": "After some failures its backend is left alone for good, or for longer than five minutes.",
  },
  async run(bench, fail) {
    for (const name of operationsOf(bench, ["recall", "capture", "save", "search"])) {
      const handle = await bench.open();
      const operation = await ready(bench, handle, name);
      if (operation === undefined) continue;
      bench.backend.inject(passingFault(bench));
      const answers: unknown[] = [];
      for (let call = 0; call < failures; call += 1) {
        const outcome = await attempt(bench, () => operation.run());
        if (outcome.state === "fulfilled") answers.push(outcome.value);
      }
      bench.backend.heal(); // whoever still spares it has to say so
      const early = await attempt(bench, () => operation.run());
      if (early.state === "fulfilled") answers.push(early.value);
      await recover(bench);
      const again = await ready(bench, handle, name).catch(() => undefined);
      for (const answer of answers)
        if (!(await isTrue(bench, () => operation.isTrue(answer))))
          fail("gives-up", `A ${name} that followed others that had failed was answered, and it was not so.`);
      const outcome = await bench.outcome(async () => again?.run());
      if (again === undefined || outcome.state !== "fulfilled" || !(await again.isTrue(outcome.value)))
        fail("never-again", `A ${name} did not work five minutes after its backend had recovered.`);
    }
  },
});

/** What cannot be asked is not so either. */
async function isTrue(bench: Bench, ask: () => Promise<boolean>): Promise<boolean> {
  const outcome = await bench.outcome(ask);
  return outcome.state === "fulfilled" && outcome.value;
}

export const repeatedFaults: Family = defineFamily({
  name: "repeated faults",
  clauses: [
    {
      id: "MEM-FLT-13",
      level: "MUST",
      profile: "base",
      sentence:
        "However often its backend has failed, an operation rejects or is answered truly, and five minutes after it has recovered it works.",
      source: "P4, P5",
    },
  ],
  checks: [againAndAgain],
  mutants: [
    {
      id: "faults/breaker-recalls-nothing",
      flaw: "Recalls nothing for half a minute once it has failed five times in a row.",
      kills: { "faults/again-and-again": "gives-up" },
      spares: ["faults/recall", "recovery/usable-after"],
      provider: (provider, { clock }) => {
        const guarded = breaker({ failures: 5, now: clock.now, openMs: 30_000 });
        return withRecall(provider, (recall, context) =>
          guarded(
            () => recall(context),
            () => null,
          ),
        );
      },
    },
    {
      id: "faults/breaker-captures-nothing",
      flaw: "Leaves out captures for a minute once three have failed in a row.",
      kills: { "faults/again-and-again": "gives-up" },
      spares: ["faults/capture", "recovery/usable-after"],
      provider: (provider, { clock }) => {
        const guarded = breaker({ failures: 3, now: clock.now, openMs: 60_000 });
        return withCapture(provider, (capture, context) =>
          guarded(
            () => capture(context),
            () => undefined,
          ),
        );
      },
    },
    {
      id: "faults/breaker-stays-open",
      flaw: "Fails at once, and for ever, after seven failures in a row.",
      kills: { "faults/again-and-again": "never-again" },
      spares: ["faults/recall", "recovery/usable-after"],
      provider: (provider, { clock }) => {
        const guarded = breaker({ failures: 7, now: clock.now, openMs: Number.POSITIVE_INFINITY });
        const refuse = (): never => {
          throw new Error("The store is left alone.");
        };
        return withRecall(provider, (recall, context) => guarded(() => recall(context), refuse));
      },
    },
  ],
});

interface BreakerOptions {
  /** In a row, after which it opens. */
  readonly failures: number;
  readonly now: () => number;
  readonly openMs: number;
}

/** Of a mutant: a circuit breaker, which answers instead while it is open. */
function breaker({ failures: most, now, openMs }: BreakerOptions) {
  let [failed, until] = [0, Number.NEGATIVE_INFINITY];
  return async <T>(call: () => T | Promise<T>, instead: () => T): Promise<T> => {
    if (now() < until) return instead();
    try {
      const result = await call();
      failed = 0;
      return result;
    } catch (error) {
      failed += 1;
      if (failed >= most) until = now() + openMs;
      throw error;
    }
  };
}
