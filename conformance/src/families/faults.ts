/**
 * Faults: what a provider says while its backend fails. The worst of them are quiet: a recall that answers "nothing" for a
 * 500 or a 404, an error body in a 200 that has no `results`, a page that failed and was left out, a copy from before the
 * failure, a save that says "saved".
 */
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import { attempt, endingFaults, type Met, meetFaults, passingFault, recover, recovered } from "../drive/faulting.ts";
import { type OperationName, operationsOf, ready } from "../drive/operations.ts";
import type { Person } from "../drive/person.ts";
import { readsOf } from "../drive/reads.ts";
import { defineFamily, type Family } from "../family.ts";
import { faultMutants } from "./fault-mutants.ts";

const swallowed =
  "An error is caught and answered as if there were nothing: look for a catch that returns null or an empty list, for `?? []` on an answer that is an error, and for a status that is not looked at. A service that says 404 for what is not there needs a stand-in that says so by itself; an injected 404 is then left out.";
const lied = "The error of the backend is caught, logged perhaps, and not passed on.";
const lost = "A failed read is taken for an empty store, and the next write replaces what was there.";

const recalls = defineCheck({
  id: "faults/recall",
  clause: "MEM-FLT-01",
  title: "Under each fault recall rejects, or recalls what is there",
  needs: ["backend"],
  reasons: { swallowed },
  async run(bench, fail) {
    const { untrue } = await through(bench, "recall");
    if (untrue.length > 0)
      fail("swallowed", `Recall answered without the memory that was there, under: ${list(untrue)}.`);
  },
});

const captures = defineCheck({
  id: "faults/capture",
  clause: "MEM-FLT-02",
  title: "Under each fault capture rejects, or has captured",
  needs: ["backend", "capture"],
  reasons: { swallowed: lied, lost },
  run: (bench, fail) => writesHonestly(bench, "capture", fail),
});

const saves = defineCheck({
  id: "faults/save",
  clause: "MEM-FLT-03",
  title: "Under each fault the save tool fails or says so, or has saved",
  needs: ["backend", "save-tool"],
  reasons: { swallowed: lied, lost },
  run: (bench, fail) => writesHonestly(bench, "save", fail),
});

const searches = defineCheck({
  id: "faults/search",
  clause: "MEM-FLT-04",
  title: "Under each fault the search tool fails or says so, or finds what is there",
  needs: ["backend", "search-tool"],
  reasons: { swallowed },
  async run(bench, fail) {
    const { untrue } = await through(bench, "search");
    if (untrue.length > 0) fail("swallowed", `The search found nothing of what was there, under: ${list(untrue)}.`);
  },
});

const forgets = defineCheck({
  id: "faults/forget",
  clause: "MEM-FLT-05",
  title: "Under each fault the forget tool fails or says so, or has forgotten",
  needs: ["backend", "forget-tool"],
  reasons: { swallowed: lied, lost },
  async run(bench, fail) {
    if (operationsOf(bench, ["forget"]).length === 0) bench.notApplicable("No input was found that makes it forget.");
    const { untrue, gone } = await through(bench, "forget");
    if (untrue.length > 0)
      fail("swallowed", `The tool answered, and the memory was still there, under: ${list(untrue)}.`);
    if (gone.length > 0) fail("lost", `Another memory was gone afterwards, under: ${list(gone)}.`);
  },
});

const firstOfSeveral = defineCheck({
  id: "faults/first-of-several",
  clause: "MEM-FLT-06",
  title: "A backend that fails in the middle of an operation makes it fail",
  needs: ["backend"],
  reasons: {
    part: "Of several requests the failing ones are left out (`Promise.allSettled`, a loop with `continue`), and the rest is given as the whole.",
    swallowed: lied,
    lost: "A write takes away what is there before it has written the new.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const fault = passingFault(bench);
    const atRecall: string[] = [];
    for (const count of await requestsOf(bench, "recall")) {
      const person = bench.someone(handle);
      const memories = [bench.canary(), bench.canary(), bench.canary()];
      for (const { text } of memories) await person.write(text);
      const query = memories.map((memory) => memory.query).join(" ");
      const whole = known(memories, await person.recalls(query));
      bench.backend.inject(fault, { after: count });
      const outcome = await attempt(bench, () => person.again(handle, { hurried: true }).recalls(query));
      await recover(bench);
      if (outcome.state === "fulfilled" && known(memories, outcome.value) < whole) atRecall.push(String(count));
    }
    if (atRecall.length > 0) fail("part", `Recall gave a part when all failed after ${list(atRecall)} requests.`);
    for (const name of operationsOf(bench, ["capture", "save"])) {
      for (const count of await requestsOf(bench, name)) {
        const operation = await ready(bench, handle, name);
        if (operation === undefined) break;
        bench.backend.inject(fault, { after: count });
        const outcome = await attempt(bench, () => operation.run());
        await recover(bench);
        if (outcome.state === "fulfilled" && !(await recovered(bench, () => operation.isTrue(outcome.value))))
          fail("swallowed", `The ${name} answered, and stored nothing, when all failed after ${count} requests.`);
        if (!(await recovered(bench, () => operation.person.knows(operation.kept))))
          fail("lost", `An earlier memory was gone after a ${name} when all failed after ${count} requests.`);
      }
    }
  },
});

const stale = defineCheck({
  id: "faults/stale",
  clause: "MEM-FLT-07",
  title: "When the backend fails, recall and search do not answer with what they knew before somebody else wrote",
  needs: ["backend", "current"],
  reasons: {
    stale: "The last good answer is kept and served while the backend fails, although others have written since.",
  },
  async run(bench, fail) {
    const [first, second] = [await bench.open(), await bench.open()];
    const ways = readsOf(bench);
    const found: string[] = [];
    for (const fault of endingFaults(bench)) {
      const here = bench.someone(first);
      const there = here.again(second);
      const [old, current] = [bench.canary(), bench.canary()];
      const query = `${old.query} ${current.query}`;
      const isKnown = await recovered(bench, async () => {
        const { result } = await there.write(old.text);
        for (const ask of Object.values(ways)) await ask(here, query);
        await there.write(current.text);
        if (operationsOf(bench, ["forget"]).length > 0) await there.forget(old, result);
        return there.knows(current);
      });
      if (!isKnown) bench.untestable("What the second instance wrote was not recalled by it.");
      for (const [way, ask] of Object.entries(ways)) {
        const inHealth = await recovered(bench, () => ask(there, query));
        if (!inHealth.includes(current.word)) continue;
        bench.backend.inject(fault);
        const outcome = await attempt(bench, () => ask(here.again(first, { hurried: true }), query));
        await recover(bench);
        if (outcome.state !== "fulfilled") continue;
        // Who shows neither swallows the error, which is another check's matter.
        const { value } = outcome;
        if (value.includes(old.word) && !value.includes(current.word)) found.push(`${way} under ${fault.name}`);
      }
    }
    if (found.length > 0) fail("stale", `It showed what had been there before another instance wrote: ${list(found)}.`);
  },
});

const once = defineCheck({
  id: "faults/write-not-repeated",
  clause: "MEM-FLT-08",
  title: "A write whose answers are lost is stored once",
  needs: ["backend"],
  reasons: {
    repeated: "A write that is tried again goes under a new id each time, so that every attempt stores another copy.",
  },
  async run(bench, fail) {
    const lostAnswer = endingFaults(bench).find(({ kind }) => kind === "lost-reply");
    if (lostAnswer === undefined) return bench.notApplicable("Answers of this kind of backend do not get lost.");
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const [person, other] = [bench.someone(handle), bench.someone(handle)];
      const [memory, healthy] = [bench.canary(), bench.canary()];
      await other.write(healthy.text, { path });
      bench.backend.inject(lostAnswer);
      await attempt(bench, () => person.again(handle, { hurried: true }).write(memory.text, { path }));
      await recover(bench);
      const usual = await recovered(bench, () => copies(other, healthy.query, healthy.word));
      for (const [where, count] of await recovered(bench, () => copies(person, memory.query, memory.word))) {
        if (count > Math.max(1, usual.get(where) ?? 1))
          fail("repeated", `After one write by ${path}, ${where} shows it ${count} times.`);
      }
    }
  },
});

export const faults: Family = defineFamily({
  name: "faults",
  clauses: [
    must(
      "01",
      "While its backend fails, recall rejects, or recalls what is stored: never nothing in the place of an error.",
      "P4, K7",
    ),
    must(
      "02",
      "A capture that its backend failed rejects, unless what it took is stored, and loses nothing that was there.",
      "P4, K7",
    ),
    must(
      "03",
      "A save that its backend failed rejects or says so, unless it is stored, and loses nothing that was there.",
      "P4, K7",
    ),
    must("04", "A search that its backend failed rejects or says so, or finds what is there.", "P4, K7"),
    must(
      "05",
      "A forgetting that its backend failed rejects or says so, unless the memory is gone, and takes no other with it.",
      "P4, P10, K7",
    ),
    must(
      "06",
      "Where an operation takes several requests and a later one fails, it gives no part as the whole and loses nothing.",
      "P4",
    ),
    must(
      "07",
      "While its backend fails, recall and search never show a state that another instance has since changed.",
      "P4",
    ),
    must("08", "A write is repeated only where repeating it stores it once.", "P2, P4"),
  ],
  checks: [recalls, captures, saves, searches, forgets, firstOfSeveral, stale, once],
  mutants: faultMutants,
});

function must(number: string, sentence: string, source: string) {
  return { id: `MEM-FLT-${number}`, level: "MUST", profile: "base", sentence, source } as const;
}

/** Under which faults an operation said what was not so, and under which something else was gone afterwards. */
async function through(
  bench: Bench,
  name: OperationName,
): Promise<{ untrue: readonly string[]; gone: readonly string[] }> {
  const untrue: string[] = [];
  const gone: string[] = [];
  const unsettled: string[] = [];
  const see = async ({ fault, operation, outcome }: Met): Promise<void> => {
    if (outcome.state === "pending") unsettled.push(fault.name);
    const { person, kept, isTrue } = operation;
    if (outcome.state === "fulfilled" && !(await recovered(bench, () => isTrue(outcome.value))))
      untrue.push(fault.name);
    if (name !== "recall" && name !== "search") await recovered(bench, () => person.write(bench.canary().text));
    if (!(await recovered(bench, () => person.knows(kept)))) gone.push(fault.name);
  };
  await meetFaults(bench, name, see);
  if (untrue.length + gone.length === 0 && unsettled.length > 0)
    bench.advise(
      `Not decided: its time is real, and it was still trying after ten seconds, under: ${list(unsettled)}.`,
    );
  return { untrue, gone };
}

async function writesHonestly(bench: Bench, name: "capture" | "save", fail: Fail<"swallowed" | "lost">): Promise<void> {
  if (operationsOf(bench, [name]).length === 0) bench.notApplicable("What it takes this way is not recalled.");
  const { untrue, gone } = await through(bench, name);
  if (untrue.length > 0) fail("swallowed", `The ${name} answered, and nothing was stored, under: ${list(untrue)}.`);
  if (gone.length > 0) fail("lost", `An earlier memory was gone after the next write, under: ${list(gone)}.`);
}

/** After how many of its requests an operation may be made to fail: 1 up to all but the last, a dozen at most. */
async function requestsOf(bench: Bench, name: OperationName): Promise<readonly number[]> {
  const operation = await ready(bench, await bench.open(), name);
  const before = bench.backend.observed().length;
  await operation?.run();
  const count = bench.backend.observed().length - before;
  return Array.from({ length: Math.min(12, count - 1) }, (_, index) => index + 1);
}

async function copies(person: Person, query: string, word: string): Promise<ReadonlyMap<string, number>> {
  const readings = await person.readings(query);
  return new Map(readings.map(({ path, text }) => [path, text.toLowerCase().split(word).length - 1]));
}

function known(memories: readonly { readonly word: string }[], text: string): number {
  return memories.filter(({ word }) => text.toLowerCase().includes(word)).length;
}

function list(names: readonly string[]): string {
  return names.join(", ");
}
