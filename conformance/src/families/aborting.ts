/**
 * Aborting: the user stops a turn, and every call ends then and there, with no answer of the backend's. Providers that look
 * at the signal only on entry, or sleep through their backoff, hold the session up; one that took an aborted read for "no
 * document" replaced everybody's memories with the next save.
 */
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { abortReason, isAbort } from "../drive/abort.ts";
import type { Canary } from "../drive/canary.ts";
import { endlessFaults, passingFault, recoverFromAbandoned } from "../drive/faulting.ts";
import type { Handle } from "../drive/handle.ts";
import { type Operation, type OperationName, operationsOf, ready } from "../drive/operations.ts";
import type { Person, Recalled } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { quietOr } from "../time/wait.ts";
import { abortingMutants } from "./aborting-mutants.ts";

const before = defineCheck({
  id: "aborting/before",
  clause: "MEM-ABT-01",
  title: "Aborted beforehand, every operation rejects and nothing is sent",
  needs: ["backend"],
  reasons: {
    ran: "The signal is not looked at before the operation begins: `abortSignal.throwIfAborted()` on entry.",
    sent: "The request is made before the signal is looked at, or is not given the signal.",
    "other-error": "The abort is turned into an error of the provider's, which a host takes for a failure.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const name of operationsOf(bench)) {
      const operation = await ready(bench, handle, name);
      if (operation === undefined) continue;
      const seen = bench.backend.observed().length;
      const outcome = await bench.outcome(() => operation.run({ signal: AbortSignal.abort(abortReason) }));
      const sent = bench.backend.observed().length - seen;
      if (outcome.state !== "rejected") return fail("ran", `The ${name} ran, although it was aborted before it began.`);
      if (sent > operation.toolsRequests)
        fail("sent", `The ${name} sent ${sent} requests, although it was aborted before.`);
      if (!isAbort(outcome.error))
        fail("other-error", `The ${name} rejected with neither the reason nor an AbortError.`);
    }
  },
});

const duringHang = defineCheck({
  id: "aborting/during-hang",
  clause: "MEM-ABT-02",
  title: "Aborted while its backend does not answer, every operation ends at once",
  needs: ["backend"],
  reasons: {
    late: "The signal is looked at only on entry, or is not passed on to whatever waits: the request, its body, the file, a queue.",
    resolved: "The abort is caught, and answered as if all were well.",
    "other-error": "The abort is turned into an error of the provider's, which a host takes for a failure.",
  },
  async run(bench, fail) {
    let tried = 0;
    for (const fault of endlessFaults(bench)) {
      for (const name of operationsOf(bench)) {
        const aborted = await abortedUnder(bench, name, fault, reached);
        if (aborted === undefined) continue;
        tried += 1;
        const { outcome } = aborted;
        const where = `The ${name}, aborted under "${fault.name}",`;
        if (outcome.state === "pending") return fail("late", `${where} was still open.`);
        if (outcome.state === "fulfilled") return fail("resolved", `${where} resolved.`);
        if (!isAbort(outcome.error))
          fail("other-error", `${where} rejected with neither the reason nor an AbortError.`);
      }
    }
    if (tried === 0) bench.notApplicable("None of its operations waits for its backend.");
  },
});

const duringBackoff = defineCheck({
  id: "aborting/during-backoff",
  clause: "MEM-ABT-03",
  title: "Aborted between two attempts, every operation ends at once",
  needs: ["backend"],
  reasons: {
    late: "The pause between attempts does not listen to the signal.",
    resolved: "The abort is caught, and answered as if all were well.",
  },
  async run(bench, fail) {
    let tried = 0;
    for (const name of operationsOf(bench)) {
      const aborted = await abortedUnder(bench, name, passingFault(bench), pausing);
      if (aborted === undefined) continue;
      tried += 1;
      if (aborted.outcome.state === "pending") fail("late", `The ${name} was still open.`);
      if (aborted.outcome.state === "fulfilled") fail("resolved", `The ${name} resolved.`);
    }
    if (tried === 0) bench.notApplicable("It does not pause before it tries again.");
  },
});

const notNothing = defineCheck({
  id: "aborting/not-nothing",
  clause: "MEM-ABT-04",
  title: "An aborted read is not taken for an empty memory, neither by recall nor by the next write",
  needs: ["backend"],
  reasons: {
    "empty-recall": "An aborted read is answered as if nothing were stored.",
    overwritten:
      "An aborted read is taken for an empty document, which the next write then replaces the real one with.",
  },
  async run(bench, fail) {
    for (const fault of endlessFaults(bench)) {
      const recall = await abortedUnder(bench, "recall", fault, reached);
      if (recall?.outcome.state === "fulfilled" && !(await recall.operation.isTrue(recall.outcome.value)))
        fail("empty-recall", `Aborted under "${fault.name}", recall answered ${shape(recall.outcome.value)}.`);
      for (const name of operationsOf(bench, ["recall", "capture", "save"])) {
        const aborted = await abortedUnder(bench, name, fault, reached);
        if (aborted === undefined) continue;
        const { person, kept } = aborted.operation;
        const later = bench.canary();
        await person.write(later.text);
        if (!(await person.knows(kept)))
          fail("overwritten", `An earlier memory was gone after an aborted ${name} and a write.`);
        if (!(await person.knows(later)))
          fail("overwritten", `What was written after an aborted ${name} was not recalled.`);
      }
    }
  },
});

const usable = defineCheck({
  id: "aborting/usable-after",
  clause: "MEM-ABT-05",
  title: "After an abort the same instance recalls and writes again",
  needs: ["backend"],
  reasons: {
    unusable:
      "What was aborted is kept: a cached promise, a lock that nobody releases, a connection in the middle of a reply.",
  },
  async run(bench, fail) {
    for (const name of operationsOf(bench)) {
      for (const fault of endlessFaults(bench)) {
        const aborted = await abortedUnder(bench, name, fault, reached);
        if (aborted === undefined) continue;
        const { person, kept } = aborted.operation;
        if (!(await stillWorks(bench, person, kept)))
          fail("unusable", `After an aborted ${name} the instance did not work as before.`);
      }
    }
  },
});

const first = defineCheck({
  id: "aborting/first-call",
  clause: "MEM-ABT-05",
  title: "After the very first call of an instance was aborted, it recalls and writes all the same",
  needs: ["backend", "durable"],
  reasons: {
    unusable:
      "What is made once, such as a connection or a session, is made under the first caller's signal, and kept.",
  },
  async run(bench, fail) {
    const [fault] = endlessFaults(bench);
    if (fault === undefined) return bench.untestable("This backend cannot be made to wait.");
    for (const name of operationsOf(bench)) {
      const by = await bench.open();
      const aborted = await abortedUnder(bench, name, fault, reached, by);
      if (aborted === undefined) continue;
      const { person, kept } = aborted.operation;
      if (!(await stillWorks(bench, person.again(by), kept)))
        fail("unusable", `An instance whose first call, ${name}, had been aborted did not work.`);
    }
  },
});

export const aborting: Family = defineFamily({
  name: "aborting",
  clauses: [
    must("01", "Recall, capture and every tool, aborted before they are called, reject and send nothing."),
    must(
      "02",
      "Recall, capture and every tool, aborted while their backend does not answer, reject at once with the signal's reason or an AbortError.",
    ),
    must("03", "Recall, capture and every tool, aborted between two attempts, reject at once."),
    must("04", "A read that was aborted is never taken for an empty memory."),
    must("05", "After an abort the same instance recalls and writes as before."),
  ],
  checks: [before, duringHang, duringBackoff, notNothing, usable, first],
  mutants: abortingMutants,
});

function must(number: string, sentence: string) {
  return { id: `MEM-ABT-${number}`, level: "MUST", profile: "base", sentence, source: "P5, E7.3, E7.4" } as const;
}

/** Whether a person's instance takes another memory, and recalls it and what was there before. */
async function stillWorks(bench: Bench, person: Person, kept: Canary): Promise<boolean> {
  const later = bench.canary();
  const outcome = await bench.outcome(async () => {
    await person.write(later.text);
    return (await person.knows(kept)) && (await person.knows(later));
  });
  return outcome.state === "fulfilled" && outcome.value;
}

/** Waits until a call is where it is to be aborted: answers whether it is. */
type Moment = (bench: Bench, settled: () => boolean, seen: number) => Promise<boolean>;

const reached: Moment = async (bench, settled, seen) => {
  const isThere = (): boolean => bench.backend.observed().length > seen;
  await quietOr(
    () => isThere() || settled(),
    () => false,
    200,
  );
  // What arrived may be only the beginning, such as the headers of a slow answer.
  await quietOr(settled, () => false, 3);
  return isThere() && !settled();
};

const pausing: Moment = async (bench, settled, seen) => {
  await quietOr(settled, bench.busy);
  return bench.backend.observed().length > seen && !settled();
};

/** An operation, of the instance `by` where there is one, that a fault made wait, and that was aborted then; the backend is well again. `undefined` if it never waits. */
async function abortedUnder(
  bench: Bench,
  name: OperationName,
  fault: Fault,
  moment: Moment,
  by?: Handle,
): Promise<{ readonly operation: Operation; readonly outcome: Outcome<unknown> } | undefined> {
  const options = { hurried: false, ...(by === undefined ? {} : { by }) };
  const operation = await ready(bench, await bench.open(), name, options);
  if (operation === undefined) return undefined;
  const controller = new AbortController();
  const seen = bench.backend.observed().length + operation.toolsRequests;
  bench.backend.inject(fault);
  let isSettled = false;
  const call = operation.run({ signal: controller.signal }).finally(() => {
    isSettled = true;
  });
  call.catch(() => {}); // looked at below
  const isWaiting = await moment(bench, () => isSettled, seen);
  controller.abort(abortReason);
  const outcome = await bench.atOnce(call);
  await recoverFromAbandoned(bench);
  return isWaiting ? { operation, outcome } : undefined;
}

function shape(answer: unknown): string {
  const { messages } = answer as Recalled; // what a recall resolves with
  return messages === null ? "null" : `${messages.length} messages without what is stored`;
}
