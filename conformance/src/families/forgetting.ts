/**
 * People ask to be forgotten and expect it to have happened: not in the index only, not in this instance only, not until
 * the next restart. And what they did not ask for stays: a removal by position or by text takes somebody else's along.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { madeUpInput } from "../drive/made-up-id.ts";
import type { Person } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { forgettingMutants } from "./forgetting-mutants.ts";

const gone = defineCheck({
  id: "forgetting/gone",
  clause: "MEM-FGT-01",
  title: "What was forgotten shows on no read path; another memory, and another person's of the same text, stay",
  needs: ["forget-tool"],
  reasons: {
    "still-there":
      "The tool removes nothing, or from one index of several. Or the kit calls it wrongly: see tools.forget.",
    "took-another": "It removes more of the scope than was asked for.",
    "took-anothers": "It removes by text or id without the scope.",
    "not-kept":
      "It is not the tool: what one person wrote is taken for a repeat of the same text of another's, or takes its place.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [memory, kept] = [bench.canary(), bench.canary()];
    const { result } = await ann.write(memory.text);
    await ann.write(kept.text);
    await ben.write(memory.text);
    if (!(await ben.knows(memory)) || !(await ann.knows(memory)))
      fail(
        "not-kept",
        "When two had written the same text, one of them did not find it, before anything was forgotten.",
      );
    await ann.forget(memory, result);
    const path = pathShowing(await ann.readings(memory.query), memory.word);
    if (path !== undefined) fail("still-there", `Its ${path} showed what had been forgotten.`);
    if (!(await ann.knows(kept))) fail("took-another", "Another memory of the same person was gone as well.");
    if (!(await ben.knows(memory))) fail("took-anothers", "The same text was gone from another person's memory.");
  },
});

const otherHandle = defineCheck({
  id: "forgetting/other-handle",
  clause: "MEM-FGT-02",
  title: "Another instance that had recalled it shows it no more",
  needs: ["forget-tool", "durable"],
  reasons: {
    stale: "It is cached in the instance, and the cache does not learn of it.",
    lost: "The other instance shows nothing any more.",
    "not-forgotten":
      "What forgets goes by what its instance has read or written before, and others have written since.",
  },
  async run(bench, fail) {
    const [handle, other] = [await bench.open(), await bench.open()];
    const [memory, kept] = [bench.canary(), bench.canary()];
    const ann = bench.someone(handle);
    const there = ann.again(other);
    const { result } = await written(bench, ann, memory);
    await ann.write(kept.text);
    await there.readings(`${memory.query} ${kept.query}`);
    await ann.forget(memory, result);
    const readings = await there.readings(`${memory.query} ${kept.query}`);
    const path = pathShowing(readings, memory.word);
    if (path !== undefined) fail("stale", `The other instance's ${path} showed what had been forgotten.`);
    if (pathShowing(readings, kept.word) === undefined) fail("lost", "What had not been forgotten, it did not show.");
    const since = bench.canary();
    await there.write(bench.canary().text);
    const saved = await ann.write(since.text);
    const [target] = await ann.forgetInputs(since, saved.result); // to read there would tell that instance of it
    if (target === undefined) return;
    await bench.outcome(() => there.call(bench.facts.forgetTool ?? "", target.input));
    if (await ann.knows(since))
      fail("not-forgotten", "An instance that had written before did not forget what another had written since.");
  },
});

const restart = defineCheck({
  id: "forgetting/restart",
  clause: "MEM-FGT-03",
  title: "After a restart it stays forgotten, and the rest is still there",
  needs: ["forget-tool", "durable"],
  slow: true,
  reasons: {
    back: "It was removed from memory and not from the store, or the store's log plays it again.",
    lost: "What is left after a removal is not written.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [memory, kept] = [bench.canary(), bench.canary()];
    const ann = handle.person({ scope: "ann" });
    const { result } = await written(bench, ann, memory);
    await ann.write(kept.text);
    await ann.forget(memory, result);
    await handle.close();
    const there = (await bench.spawn()).person({ scope: "ann" });
    const readings = await there.readings(`${memory.query} ${kept.query}`);
    const path = pathShowing(readings, memory.word);
    if (path !== undefined) fail("back", `After a restart, its ${path} showed what had been forgotten.`);
    if (pathShowing(readings, kept.word) === undefined)
      fail("lost", "After a restart, what had not been forgotten was not shown.");
  },
});

const missing = defineCheck({
  id: "forgetting/missing",
  clause: "MEM-FGT-04",
  title: "Forgetting what is not there changes nothing, and does not claim that it did",
  needs: ["forget-tool"],
  reasons: {
    "took-another": "An index of -1, or the nearest match, is taken for what was meant.",
    "says-removed": "The answer does not depend on whether anything was removed.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [first, second] = [bench.canary(), bench.canary()];
    const ann = bench.someone(handle);
    const saved = await written(bench, ann, first);
    const savedNext = await ann.write(second.text);
    const [[one], [two]] = [
      await ann.forgetInputs(first, saved.result),
      await ann.forgetInputs(second, savedNext.result),
    ];
    const tool = bench.facts.forgetTool ?? "";
    const madeUp = madeUpInput(one?.input, two?.input);
    const tried = madeUp === undefined ? [] : [await bench.outcome(() => ann.call(tool, madeUp.input))];
    if (!(await ann.knows(first)) || !(await ann.knows(second)))
      fail("took-another", "A memory was gone after the tool had been called for one that never existed.");
    await ann.call(tool, one?.input);
    tried.push(await bench.outcome(() => ann.call(tool, one?.input)));
    if (!(await ann.knows(second)))
      fail("took-another", "Another memory was gone after one had been forgotten for a second time.");
    const claims = tried.some(
      (outcome) => outcome.state === "fulfilled" && Reflect.get(Object(outcome.value), "removed") === true,
    );
    if (claims) fail("says-removed", "The tool answered that it removed what was not there.");
  },
});

const saveAgain = defineCheck({
  id: "forgetting/save-again",
  clause: "MEM-FGT-05",
  title: "What was forgotten is remembered again when it is told again",
  needs: ["forget-tool"],
  reasons: {
    blocked: "What was removed is known by its text, and every later write of it is taken for a repeat.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const { result } = await written(bench, ann, memory);
    await ann.forget(memory, result);
    await ann.again().write(memory.text);
    if (!(await ann.knows(memory))) fail("blocked", "What was told again after it was forgotten was not recalled.");
  },
});

const duplicates = defineCheck({
  id: "forgetting/duplicates",
  clause: "MEM-FGT-06",
  title: "What was written twice and forgotten once is gone",
  needs: ["forget-tool"],
  reasons: {
    "still-there": "Equal texts are records of their own, and the tool removes one of them.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const [ann, memory] = [bench.someone(handle), bench.canary()];
      const { result } = await ann.write(memory.text, { path });
      await ann.again().write(memory.text, { path });
      if (bench.facts.forgetHow === undefined || !(await ann.knows(memory))) continue;
      await ann.forget(memory, result);
      const left = pathShowing(await ann.readings(memory.query), memory.word);
      if (left !== undefined)
        fail("still-there", `Written twice by ${path} and forgotten once, it was still shown by its ${left}.`);
    }
  },
});

const witness = defineCheck({
  id: "forgetting/witness",
  clause: "MEM-FGT-07",
  title: "The backend does not hold what was forgotten once the provider was closed and opened again",
  needs: ["forget-tool", "backend", "durable"],
  reasons: {
    kept: "It is marked as removed, or left in a log, an index, a trash or a history of recalls.",
    lost: "What had not been forgotten is not in the backend any more.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [memory, kept] = [bench.canary(), bench.canary()];
    const ann = bench.someone(handle);
    const { result } = await written(bench, ann, memory);
    await ann.write(kept.text);
    if (!(await bench.holds(memory.word)))
      return bench.notApplicable("Its backend does not hold text that can be read.");
    await ann.forget(memory, result);
    await handle.close();
    const there = ann.again(await bench.open());
    await there.write(bench.canary().text);
    const isKnown = await there.knows(kept);
    await there.handle.close();
    if (await bench.holds(memory.word)) fail("kept", "The backend still held a word of what had been forgotten.");
    if (!isKnown) fail("lost", "What had not been forgotten was not recalled any more.");
  },
});

export const forgetting: Family = defineFamily({
  name: "forgetting",
  clauses: [
    {
      id: "MEM-FGT-01",
      level: "MUST",
      profile: "base",
      sentence: "What the forget tool was called for shows on no read path from then on, and nothing else is removed.",
      source: "P10, P1",
    },
    {
      id: "MEM-FGT-02",
      level: "MUST",
      profile: "base",
      sentence: "What was forgotten shows in no other instance over the same store either.",
      source: "P10, P4",
    },
    {
      id: "MEM-FGT-03",
      level: "MUST",
      profile: "base",
      sentence: "What was forgotten stays so after a restart.",
      source: "P10",
    },
    {
      id: "MEM-FGT-04",
      level: "MUST",
      profile: "base",
      sentence: "Forgetting what is not there removes nothing, and is not answered with `removed: true`.",
      source: "P10, E11.8",
    },
    {
      id: "MEM-FGT-05",
      level: "MUST",
      profile: "base",
      sentence: "A new write of what was forgotten is remembered again.",
      source: "P10",
    },
    {
      id: "MEM-FGT-06",
      level: "MUST",
      profile: "strict",
      sentence: "Forgetting a memory takes all records of the same text with it.",
      source: "P10",
    },
    {
      id: "MEM-FGT-07",
      level: "MUST",
      profile: "strict",
      sentence: "What was forgotten is not in the backend once the provider was closed and opened again.",
      source: "P10",
    },
    {
      id: "MEM-FGT-08",
      level: "MUST",
      profile: "strict",
      sentence: "The words of a forgotten memory are in no vector and in no derived record.",
      source: "P10",
      excluded: "A vector or a summary cannot be read from outside; what holds the words themselves is MEM-FGT-07's.",
    },
  ],
  checks: [gone, otherHandle, restart, missing, saveAgain, duplicates, witness],
  mutants: forgettingMutants,
});

/** Writes what is about to be forgotten. Ends the check where the kit cannot make the tool forget: that is the first one's. */
async function written(bench: Bench, person: Person, memory: Canary): ReturnType<Person["write"]> {
  if (bench.facts.forgetHow === undefined)
    return bench.notApplicable("Nothing that the kit tried made the tool forget: see forgetting/gone.");
  return person.write(memory.text);
}
