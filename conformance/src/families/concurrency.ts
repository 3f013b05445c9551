/**
 * Many writes at once, as agents make them: parallel tool calls, two tabs, two servers. Real providers read a document,
 * changed it and wrote it back, and each write undid the ones that it had not seen, without a word to anybody.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { copiesOfOne, standsMoreOften } from "../drive/copies.ts";
import type { WritePath } from "../drive/facts.ts";
import { forget } from "../drive/forgets.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RemotePerson } from "../process/remote-handle.ts";
import { concurrencyMutants } from "./concurrency-mutants.ts";

const lost =
  "A write reads what is there, changes it and writes it back, without a condition or a lock over the whole.";
const twice = "A write that met another one is tried again without looking whether it has been stored.";

const oneProcess = defineCheck({
  id: "concurrency/one-process",
  clause: "MEM-CON-01",
  title: "One instance is given 20 writes at once",
  reasons: { lost, twice },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of simultaneousPaths(bench)) {
      const single = await copiesOfOne(bench, handle, path);
      const person = bench.someone(handle);
      const memories = canariesOf(bench, 20);
      await writeAtOnce(
        bench,
        memories.map((memory) => ({ memory, writer: person.again() })),
        path,
      );
      const lostCount = await missing(person, memories);
      if (lostCount > 0) fail("lost", `Of 20 writes by ${path} that succeeded, ${lostCount} were not recalled.`);
      const readings = await person.readings(bench.canary().query);
      if (memories.some((memory) => standsMoreOften(readings, memory, single)))
        fail("twice", `Of 20 writes by ${path} at once, one stands there more often than one made alone.`);
    }
  },
});

const twoHandles = defineCheck({
  id: "concurrency/two-handles",
  clause: "MEM-CON-01",
  title: "Two instances are given ten writes each at once",
  reasons: { lost: `${lost} A lock within the instance is not enough.` },
  async run(bench, fail) {
    const [one, other] = [await bench.open(), await bench.open()];
    for (const path of simultaneousPaths(bench)) {
      await copiesOfOne(bench, one, path);
      const person = bench.someone(one);
      if (!(await shareMemory(bench, [one, other], path))) bench.notApplicable("Two instances share no memory.");
      const memories = canariesOf(bench, 20);
      const writes = memories.map((memory, index) => ({
        memory,
        writer: hurried(person, index % 2 === 0 ? one : other),
      }));
      await writeAtOnce(bench, writes, path);
      if ((await missing(person, memories)) > 0) fail("lost", "Of 20 writes, one that had succeeded was not recalled.");
    }
  },
});

const firstWrites = defineCheck({
  id: "concurrency/first-writes",
  clause: "MEM-CON-01",
  title: "Two instances each make the first write of a new scope at once",
  reasons: { lost: "What a scope begins with is created without a condition, over what another has just created." },
  async run(bench, fail) {
    const [one, other] = [await bench.open(), await bench.open()];
    for (const path of simultaneousPaths(bench)) {
      await copiesOfOne(bench, one, path);
      if (!(await shareMemory(bench, [one, other], path))) bench.notApplicable("Two instances share no memory.");
      for (let scope = 0; scope < 4; scope += 1) {
        const person = bench.someone(one);
        const memories = canariesOf(bench, 2);
        const writes = memories.map((memory, index) => ({
          memory,
          writer: hurried(person, index === 0 ? one : other),
        }));
        await writeAtOnce(bench, writes, path);
        if ((await missing(person, memories)) > 0) fail("lost", "Of two first writes, one was not recalled.");
      }
    }
  },
});

const mixed = defineCheck({
  id: "concurrency/mixed",
  clause: "MEM-CON-02",
  title: "Memories are forgotten, by this instance or by another, while others are being written",
  needs: ["forget-tool"],
  reasons: {
    lost: "What forgets writes back what it has read, without what was written meanwhile.",
    back: "What writes puts back what it has read, with what was forgotten meanwhile.",
    "back-from-another":
      "What writes does not notice that another instance has forgotten meanwhile: a version that a removal does not change, or a lock within the instance.",
  },
  async run(bench, fail) {
    const { forgetTool = "", forgetHow } = bench.facts;
    if (forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
    const handle = await bench.open();
    for (const by of [handle, await bench.open()]) {
      const person = bench.someone(handle);
      const [written, forgotten]: [Canary[], Canary[]] = [[], []];
      for (let round = 0; round < 5; round += 1) {
        const [old, memories] = [bench.canary(), canariesOf(bench, 3)];
        const { result } = await person.again().write(old.text);
        const remover = hurried(person, by);
        if (!(await remover.knows(old))) return; // instances that share nothing
        const target = (await remover.forgetInputs(old, result)).find(({ how }) => how === forgetHow);
        if (target === undefined) return bench.notApplicable("It could not be made to forget.");
        const forgetting = bench.outcome(() => remover.call(forgetTool, target.input));
        const writes = memories.map((memory) => ({ memory, writer: hurried(person, handle) }));
        await Promise.all([forgetting, writeAtOnce(bench, writes, bench.writePaths[0] ?? "tool")]);
        // Where the two met, the one that lost may say so; it is then tried again.
        if ((await forgetting).state === "rejected") await forget(bench, person, old, result);
        written.push(...memories);
        forgotten.push(old);
      }
      if ((await missing(person, written)) > 0)
        fail("lost", "A write that succeeded during a forget was not recalled.");
      if ((await missing(person, forgotten)) < forgotten.length)
        fail(by === handle ? "back" : "back-from-another", "What was forgotten during a write was recalled again.");
    }
  },
});

const erasing = defineCheck({
  id: "concurrency/erasing",
  clause: "MEM-CON-04",
  title: "Everything is erased by another instance while something is being written",
  needs: ["erase"],
  reasons: { back: "What writes puts back what it has read, with what was erased meanwhile." },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase !== "immediate")
      bench.notApplicable("What it erases is gone at some later time.");
    const [handle, other] = [await bench.open(), await bench.open()];
    for (let round = 0; round < 5; round += 1) {
      const [person, old, memories] = [bench.someone(handle), bench.canary(), canariesOf(bench, 3)];
      await person.write(old.text);
      const remover = hurried(person, other);
      if (!(await remover.knows(old))) bench.notApplicable("Two instances share no memory.");
      const erasing = bench.outcome(() => remover.erase());
      const writes = memories.map((memory) => ({ memory, writer: hurried(person, handle) }));
      await Promise.all([erasing, writeAtOnce(bench, writes, bench.writePaths[0] ?? "tool")]);
      if ((await erasing).state === "rejected") continue;
      if (await person.knows(old)) fail("back", "What had been erased while others wrote was recalled again.");
    }
  },
});

const twoProcesses = defineCheck({
  id: "concurrency/two-processes",
  clause: "MEM-CON-03",
  title: "Two processes are given 20 writes each at once",
  needs: ["durable"],
  slow: true,
  reasons: { lost: `${lost} A lock within the process is not enough.` },
  async run(bench, fail) {
    const handle = await bench.open();
    const scope = bench.canary().word;
    const [here, there] = [handle.person({ scope }), (await bench.spawn()).person({ scope })];
    await there.recalls(bench.canary().query); // so that both are ready
    const memories = canariesOf(bench, 40);
    const writes = memories.map((memory, index) => ({ memory, writer: index % 2 === 0 ? there : here.again() }));
    await writeAtOnce(bench, writes, bench.writePaths[0] ?? "tool");
    if ((await missing(here, memories)) > 0) fail("lost", "Of 40 writes, one that had succeeded was not recalled.");
  },
});

export const concurrency: Family = defineFamily({
  name: "concurrency",
  clauses: [
    {
      id: "MEM-CON-01",
      level: "MUST",
      profile: "base",
      sentence: "Of writes at once in one scope, from one instance or several, each that succeeds is recalled, once.",
      source: "P13",
    },
    {
      id: "MEM-CON-02",
      level: "MUST",
      profile: "base",
      sentence: "What is forgotten while other memories are written is gone, and those that were written are there.",
      source: "P13, P10",
    },
    {
      id: "MEM-CON-04",
      level: "MUST",
      profile: "base",
      sentence: "What was there when a scope was erased stays erased, whoever was writing meanwhile.",
      source: "P13, P10",
    },
    {
      id: "MEM-CON-03",
      level: "MUST",
      profile: "base",
      sentence: "Of writes at once in one scope from two processes, each that succeeds is recalled.",
      source: "P13",
    },
  ],
  checks: [oneProcess, twoHandles, firstWrites, mixed, erasing, twoProcesses],
  mutants: concurrencyMutants,
});

interface Write {
  readonly memory: Canary;
  readonly writer: Person | RemotePerson;
}

/** Who waits for the other waits for time to pass. */
function hurried(person: Person, handle: Handle): Person {
  return person.again(handle, { hurried: true });
}

/** All at once. One that fails has said so, and comes again alone. */
async function writeAtOnce(bench: Bench, writes: readonly Write[], path: WritePath): Promise<void> {
  const operations = await Promise.all(
    writes.map(async ({ memory, writer }) => {
      const operation = { path, turn: await writer.begin(memory.text), callId: `call-${memory.topic}` };
      return (): Promise<unknown> => writer.write(memory.text, operation);
    }),
  );
  const outcomes = await Promise.all(operations.map((write) => bench.outcome(write)));
  for (const [index, write] of operations.entries()) if (outcomes[index]?.state === "rejected") await write();
}

/** How many of the memories are not recalled, asked for one by one where a first recall has not shown them. */
async function missing(person: Person, memories: readonly Canary[]): Promise<number> {
  const recalled = (await person.recalls(memories[0]?.query ?? "")).toLowerCase();
  let count = 0;
  for (const memory of memories) {
    if (!recalled.includes(memory.word) && !(await person.knows(memory))) count += 1;
  }
  return count;
}

/** Ways to write that hosts use at once. */
function simultaneousPaths({ writePaths }: Bench): readonly WritePath[] {
  return writePaths.filter((path) => path !== "import");
}

async function shareMemory(bench: Bench, [one, other]: readonly [Handle, Handle], path: WritePath): Promise<boolean> {
  const [person, memory] = [bench.someone(one), bench.canary()];
  await person.write(memory.text, { path });
  return person.again(other).knows(memory);
}

function canariesOf(bench: Bench, count: number): readonly Canary[] {
  return Array.from({ length: count }, () => bench.canary());
}
