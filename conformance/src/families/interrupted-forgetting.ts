/**
 * Disks fill up and connections break in the middle. What a failed write leaves behind holds what is forgotten later; a
 * forget that was cut in two and is tried again finds nothing to do, and leaves half of it undone for good.
 */
import { type Fault, faults } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { type Canary, holds } from "../drive/canary.ts";
import { attempt, moments, passingFault, recover } from "../drive/faulting.ts";
import { forget } from "../drive/forgets.ts";
import type { Handle } from "../drive/handle.ts";
import { admitsFailure } from "../drive/operations.ts";
import type { Person, Written } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { interruptedMutants } from "./interrupted-mutants.ts";

const mostMoments = 8;

const afterFailedWrite = defineCheck({
  id: "forgetting/after-failed-write",
  clause: "MEM-FGT-10",
  title: "What is forgotten after a write failed is not in the backend, whichever of its requests had failed",
  needs: ["forget-tool", "backend"],
  reasons: {
    kept: "A write that failed leaves its draft or its backup, with what was there before, and nothing removes it.",
  },
  async run(bench, fail) {
    if (bench.facts.forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
    const handle = await bench.open();
    const [somebody, held] = [bench.someone(handle), bench.canary()];
    await somebody.write(held.text);
    if (!(await bench.holds(held.word))) return bench.notApplicable("Its backend does not hold text that can be read.");
    const requests = await requestsOfWrite(bench, somebody);
    const forgotten: Canary[] = [];
    const people: Person[] = [];
    for (const fault of faultsOf(bench)) {
      for (const after of moments(requests, mostMoments)) {
        const [ann, memory] = [bench.someone(handle), bench.canary()];
        const { result } = await ann.write(memory.text);
        bench.backend.inject(fault, { after });
        await bench.outcome(() => ann.write(bench.canary().text));
        await recover(bench);
        await forget(bench, ann, memory, result);
        forgotten.push(memory);
        people.push(ann);
      }
    }
    await handle.close();
    const other = await bench.open();
    for (const ann of people) await ann.again(other).write(bench.canary().text);
    const [last, next] = [bench.someone(other), bench.canary()];
    await last.write(next.text);
    await other.close();
    const contents = await bench.backend.contents();
    if (!holds(contents, next.word)) bench.untestable("What was written afterwards is not in the backend either.");
    if (forgotten.some(({ word }) => holds(contents, word)))
      fail("kept", "The backend held what was forgotten after a write had failed.");
  },
});

const interrupted = defineCheck({
  id: "forgetting/interrupted",
  clause: "MEM-FGT-11",
  title: "A forget that broke off at any of its requests and is tried again is as good as one that did not",
  needs: ["forget-tool", "backend"],
  reasons: {
    back: "The record goes before its tombstone is there: the second forget finds no record and leaves none, and a late repeat of the write is taken for new.",
    "still-there": "A forget is noted as done before it is.",
    lost: "It takes everything away and puts back what is left.",
  },
  async run(bench, fail) {
    const { forgetTool = "", forgetHow, writePaths } = bench.facts;
    if (forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
    if (writePaths[0] === "import") bench.notApplicable("An import has no late repeat.");
    const handle = await bench.open();
    const fault = passingFault(bench);
    const whole = await aboutToForget(bench, handle);
    const before = bench.backend.observed().length;
    await whole.person.call(forgetTool, whole.input);
    const requests = bench.backend.observed().length - before;
    if ((await pathAfterRepeat(bench, whole)) !== undefined)
      bench.notApplicable("A late repeat brings back what was forgotten without interruption, too.");
    for (const after of moments(requests, mostMoments)) {
      const { person, kept, memory, input, written } = await aboutToForget(bench, handle);
      bench.backend.inject(fault, { after });
      await bench.outcome(() => person.call(forgetTool, input));
      await recover(bench);
      // At least once more: who was told of a failure does not know how much of it was done.
      for (let tries = 0; tries < 3; tries += 1) {
        await bench.outcome(() => person.call(forgetTool, input));
        if (!(await person.knows(memory))) break;
      }
      if (await person.knows(memory)) fail("still-there", "A forget that had broken off could not be done any more.");
      if (!(await person.knows(kept))) fail("lost", "Another memory was gone after a forget had broken off.");
      const path = await pathAfterRepeat(bench, { person, memory, written });
      if (path !== undefined)
        fail("back", `After a forget that had broken off once, its ${path} showed what a late repeat had written.`);
    }
  },
});

const partly = defineCheck({
  id: "forgetting/partly",
  clause: "MEM-FGT-13",
  title: "A text that was written by two turns is forgotten, and the backend fails at any of the requests",
  needs: ["forget-tool", "backend"],
  reasons: {
    claims: "It says that it removed the memory where only some of its records are gone.",
  },
  async run(bench, fail) {
    const { forgetTool = "", forgetHow } = bench.facts;
    if (forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
    const handle = await bench.open();
    const told = async (): Promise<{ readonly person: Person; readonly memory: Canary; readonly input: unknown }> => {
      const [person, memory] = [bench.someone(handle), bench.canary()];
      const { result } = await person.write(memory.text);
      await person.again().write(memory.text);
      const [target] = await person.forgetInputs(memory, result);
      return { person, memory, input: target?.input };
    };
    const whole = await told();
    const before = bench.backend.observed().length;
    await bench.outcome(() => whole.person.call(forgetTool, whole.input));
    const requests = bench.backend.observed().length - before;
    if (await whole.person.knows(whole.memory)) bench.notApplicable("What was written twice could not be forgotten.");
    for (const after of moments(requests, mostMoments)) {
      const { person, memory, input } = await told();
      bench.backend.inject(passingFault(bench), { after });
      const outcome = await attempt(bench, () => person.call(forgetTool, input));
      await recover(bench);
      if (outcome.state !== "fulfilled" || admitsFailure(outcome.value) || !(await person.knows(memory))) continue;
      // An answer that says that nothing was removed claims nothing.
      if (Object(outcome.value).removed === false) continue;
      fail("claims", `A forget whose backend failed after ${after} of ${requests} requests claimed what was not so.`);
    }
  },
});

export const interruptedForgetting: Family = defineFamily({
  name: "interrupted forgetting",
  clauses: [
    {
      id: "MEM-FGT-10",
      level: "MUST",
      profile: "strict",
      sentence: "What was forgotten is not in the backend, though a write had failed at any of its requests before.",
      source: "P10",
    },
    {
      id: "MEM-FGT-11",
      level: "MUST",
      profile: "strict",
      sentence:
        "A forget that failed at any of its requests and is called again removes the memory for good, whatever is repeated later.",
      source: "P10, P2",
    },
    {
      id: "MEM-FGT-13",
      level: "MUST",
      profile: "base",
      sentence: "A forget that its backend failed in the middle rejects or says so, unless the memory is wholly gone.",
      source: "P4, P10",
    },
  ],
  checks: [afterFailedWrite, interrupted, partly],
  mutants: interruptedMutants,
});

/** One after which trying again helps, and one that leaves a write half done. */
function faultsOf(bench: Bench): readonly Fault[] {
  const known = bench.facts.backend === "none" ? [] : faults[bench.facts.backend];
  const half = known.find(({ kind }) => kind === "torn-write" || kind === "lost-reply");
  return half === undefined ? [passingFault(bench)] : [passingFault(bench), half];
}

/** Of one by somebody who has a memory already. */
async function requestsOfWrite(bench: Bench, person: Person): Promise<number> {
  const before = bench.backend.observed().length;
  await person.write(bench.canary().text);
  return bench.backend.observed().length - before;
}

interface AboutToForget {
  readonly person: Person;
  readonly kept: Canary;
  readonly memory: Canary;
  readonly written: Written;
  readonly input: unknown;
}

async function aboutToForget(bench: Bench, handle: Handle): Promise<AboutToForget> {
  const [person, kept, memory] = [bench.someone(handle), bench.canary(), bench.canary()];
  await person.write(kept.text);
  const written = await person.write(memory.text);
  const [target] = await person.forgetInputs(memory, written.result);
  if (target === undefined) return bench.notApplicable("It could not be made to forget.");
  return { person, kept, memory, written, input: target.input };
}

/** The read path that shows the memory once its write was repeated. */
async function pathAfterRepeat(
  bench: Bench,
  { person, memory, written }: Pick<AboutToForget, "person" | "memory" | "written">,
): Promise<string | undefined> {
  await bench.outcome(() => person.repeat(written));
  return pathShowing(await person.readings(memory.query), memory.word);
}
