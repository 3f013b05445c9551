/** The answer to an aborted call comes all the same. On a connection that calls share, it may be taken for the next one's. */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { abortReason } from "../drive/abort.ts";
import type { Canary } from "../drive/canary.ts";
import { heldOrSettled, settledOrStuck } from "../drive/held.ts";
import type { Person } from "../drive/person.ts";
import { type Read, readsOf } from "../drive/reads.ts";
import { defineFamily, type Family } from "../family.ts";
import type { StoredRecord } from "../reference/record-store.ts";
import { watch } from "../time/wait.ts";

/** Of the requests that one call makes, the answers that come late, one after the other. */
const mostAnswers = 4;

const aborted = defineCheck({
  id: "late-answers/aborted",
  clause: "MEM-LTA-01",
  title: "One person's read is aborted, another's begins, and then the answer to the first one comes",
  needs: ["backend"],
  reasons: {
    "others-memory":
      "Calls share a connection on which answers come in order, and one that was aborted takes its place in that order along: keep it until its answer has come, or end the connection.",
    lost: "After an answer that nobody waited for any more, memories are not recalled.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    let rounds = 0;
    for (const read of Object.values(readsOf(bench))) {
      for (let after = 0; after < mostAnswers; after += 1) {
        const [ann, ben] = [await told(bench, bench.someone(handle)), await told(bench, bench.someone(handle))];
        const shown = await afterAborted(bench, read, { ann, ben, after });
        if (shown === undefined) break;
        rounds += 1;
        const [annLater, benLater] = [
          await ann.person.recalls(both(ann, ben)),
          await ben.person.recalls(both(ann, ben)),
        ];
        if (`${shown}${benLater}`.includes(ann.memory.word) || annLater.includes(ben.memory.word))
          fail("others-memory", "One person was shown what another's aborted read had been waiting for.");
        if (!annLater.includes(ann.memory.word) || !benLater.includes(ben.memory.word))
          fail("lost", "A memory was not recalled any more.");
      }
    }
    if (rounds === 0) bench.notApplicable("Its reads do not wait for its backend.");
  },
});

export const lateAnswers: Family = defineFamily({
  name: "late-answers",
  clauses: [
    {
      id: "MEM-LTA-01",
      level: "MUST",
      profile: "base",
      sentence: "An answer that comes after its call was aborted reaches no other call.",
      source: "P1, P5",
    },
  ],
  checks: [aborted],
  mutants: [
    {
      id: "late-answers/in-order",
      flaw: "Shares one connection, takes answers in order, and strikes an aborted request from the list of those who wait.",
      kills: { "late-answers/aborted": "others-memory" },
      spares: ["aborting/before", "freshness/current", "stopping/goes-on"],
      store: (store) => {
        const waiting: PromiseWithResolvers<readonly StoredRecord[]>[] = [];
        let connection: Promise<unknown> = Promise.resolve();
        const never = new AbortController().signal;
        return {
          ...store,
          list(scope, signal) {
            const waiter = Promise.withResolvers<readonly StoredRecord[]>();
            const stop = (): void => {
              waiting.splice(waiting.indexOf(waiter), 1);
              waiter.reject(signal.reason);
            };
            signal.throwIfAborted();
            signal.addEventListener("abort", stop, { once: true });
            waiting.push(waiter);
            connection = connection
              .then(() => store.list(scope, never))
              .then(
                (records) => waiting.shift()?.resolve(records),
                (error) => waiting.shift()?.reject(error),
              );
            return waiter.promise.finally(() => signal.removeEventListener("abort", stop));
          },
        };
      },
    },
  ],
});

interface Told {
  readonly person: Person;
  readonly memory: Canary;
}

async function told(bench: Bench, person: Person): Promise<Told> {
  const memory = bench.canary();
  await person.write(memory.text);
  return { person, memory };
}

const both = (ann: Told, ben: Told): string => `${ann.memory.query} ${ben.memory.query}`;

/** What Ben's read shows when Ann's was aborted and its answer comes; `undefined` where hers waits for no such answer. */
async function afterAborted(
  bench: Bench,
  read: Read,
  { ann, ben, after }: { readonly ann: Told; readonly ben: Told; readonly after: number },
): Promise<string | undefined> {
  const controller = new AbortController();
  const answer = bench.backend.hold({ after });
  const first = watch(read(ann.person, ann.memory.query, { signal: controller.signal }));
  if (!(await heldOrSettled(answer, first))) {
    await first.settled;
    return undefined;
  }
  controller.abort(abortReason);
  const second = watch(read(ben.person, both(ann, ben)));
  await settledOrStuck(bench, second);
  answer.release();
  await Promise.all([first.settled, second.settled]);
  return second.outcome.state === "fulfilled" ? second.outcome.value : "";
}
