/**
 * Memory across processes: deployments, crashes, a machine that is switched off. Real providers said that they had written
 * while the write was still in a queue, left half a file or a lock behind when they were killed, and kept a process
 * alive that had nothing left to do.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import { ProviderThrew } from "../drive/handle.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RemotePerson } from "../process/remote-handle.ts";
import { RemoteError } from "../process/rpc.ts";
import { eventLoopTurn, Hung, withHangGuard } from "../time/wait.ts";
import { processMutants } from "./process-mutants.ts";

const restart = defineCheck({
  id: "processes/restart",
  clause: "MEM-RUN-01",
  title: "One process writes and ends; another one recalls",
  needs: ["durable"],
  slow: true,
  reasons: {
    forgotten: "Memory is kept in the process, or in a place or under a key that another process does not find.",
  },
  async run(bench, fail) {
    const [scope, memory] = [bench.canary().word, bench.canary()];
    const before = await bench.spawn();
    await before.person({ scope }).write(memory.text);
    await before.close();
    const after = (await bench.open()).person({ scope });
    if (!(await after.knows(memory))) fail("forgotten", "What one process had written was not recalled by another.");
  },
});

const declaredNotDurable = defineCheck({
  id: "processes/declared-not-durable",
  clause: "MEM-RUN-02",
  title: "A provider that declares that its memory ends with the process is asked in another process",
  slow: true,
  reasons: { outlives: "It declares durable: false, and what it keeps is there in another process." },
  async run(bench, fail) {
    if (bench.facts.declared.durable !== false)
      bench.notApplicable("It does not declare that its memory ends with the process.");
    const [scope, memory] = [bench.canary().word, bench.canary()];
    const before = (await bench.open()).person({ scope });
    await before.write(memory.text);
    if (!(await before.knows(memory)))
      bench.untestable("What was written was not recalled in the process that wrote it.");
    const recalled = await (await bench.spawn()).person({ scope }).recalls(memory.query);
    if (recalled.toLowerCase().includes(memory.word))
      fail("outlives", "Another process recalled what this one had written.");
  },
});

const awaited = defineCheck({
  id: "processes/awaited-is-durable",
  clause: "MEM-RUN-03",
  title: "A process is killed as soon as it has written; another one recalls",
  needs: ["durable"],
  slow: true,
  reasons: { lost: "The write is put into a queue or a buffer, and the call ends before it has been made." },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const [scope, memory] = [bench.canary().word, bench.canary()];
      const child = await bench.spawn();
      await child.person({ scope }).write(memory.text, { path });
      await child.kill();
      if (await handle.person({ scope }).knows(memory)) continue;
      if (path !== bench.writePaths[0]) await needsRecall(bench, path);
      fail("lost", `What was written by ${path} was not recalled after its process had been killed.`);
    }
  },
});

const killedMidWrite = defineCheck({
  id: "processes/killed-mid-write",
  clause: "MEM-RUN-04",
  title: "A process is killed in the middle of ten writes, twice; another one recalls and writes",
  needs: ["durable"],
  slow: true,
  reasons: {
    unreadable: "A write overwrites what is there, and half of it is all that a killed writer leaves.",
    lost: "A write puts at risk what was there before, or what is half written counts as empty.",
    blocked: "A lock is held by its file alone, which a killed writer leaves behind.",
  },
  async run(bench, fail) {
    const scope = bench.canary().word;
    const earlier = bench.canary();
    const memories = [earlier];
    await (await bench.open()).person({ scope }).write(earlier.text);
    for (let round = 0; round < 2; round += 1) {
      const child = await bench.spawn();
      const finished = await killedWhileWriting(bench, child.person({ scope }), () => child.kill());
      memories.push(...finished);
      const person = (await bench.open()).person({ scope });
      const recalling = await bench.outcome(() => person.knows(earlier));
      if (recalling.state === "rejected") fail("unreadable", "After a writer was killed, recall failed.");
      for (const memory of memories)
        if (!(await person.knows(memory)))
          fail("lost", "After a writer was killed, an earlier memory was not recalled.");
      const next = bench.canary();
      const writing = await bench.outcome(() => person.write(next.text));
      if (writing.state === "rejected") fail("blocked", "After a writer was killed, a new write failed.");
      if (!(await person.knows(next))) fail("blocked", "After a writer was killed, a new memory was not recalled.");
      memories.push(next);
    }
  },
});

const openHandles = defineCheck({
  id: "processes/open-handles",
  clause: "MEM-RUN-05",
  title: "A process writes, recalls, and closes the provider, and then has nothing left to do",
  slow: true,
  reasons: {
    open: "A timer, a connection or a watcher is left that keeps the process alive: unref it, or end it in close().",
  },
  async run(bench, fail) {
    const child = await bench.spawn({ realTime: true });
    const [person, memory] = [child.person({ scope: bench.canary().word }), bench.canary()];
    await person.write(memory.text);
    await person.recalls(memory.query);
    await closed(child.process.call("close"));
    child.process.disconnect();
    try {
      await withHangGuard(child.process.ended, "the process ended", 3_000);
    } catch (error) {
      if (error instanceof Hung)
        fail("open", "Three seconds after everything was done and closed, the process still ran.");
      throw error;
    }
  },
});

export const processes: Family = defineFamily({
  name: "processes",
  clauses: [
    {
      id: "MEM-RUN-01",
      level: "MUST",
      profile: "base",
      sentence: "What a durable provider wrote in one process is recalled in another.",
      source: "P16, K12",
    },
    {
      id: "MEM-RUN-02",
      level: "MUST",
      profile: "base",
      sentence: "A provider that declares that its memory ends with the process shows none of it in another.",
      source: "K4",
    },
    {
      id: "MEM-RUN-03",
      level: "MUST",
      profile: "base",
      sentence:
        "A durable provider's write has been made when its call ends: a process that is killed then loses nothing.",
      source: "P16",
    },
    {
      id: "MEM-RUN-04",
      level: "MUST",
      profile: "base",
      sentence:
        "When a process is killed while a durable provider writes, earlier memories are recalled and new ones are stored.",
      source: "P16, P13, K12",
    },
    {
      id: "MEM-RUN-05",
      level: "MUST",
      profile: "base",
      sentence: "Nothing of a provider that is done, and closed where it can be, keeps its process alive.",
      source: "P16, K12",
    },
  ],
  checks: [restart, declaredNotDurable, awaited, killedMidWrite, openHandles],
  mutants: processMutants,
});

/** Writes ten memories one after another, and is killed once the third is there. Answers those whose writes had ended. */
async function killedWhileWriting(
  bench: Bench,
  writer: RemotePerson,
  kill: () => Promise<void>,
): Promise<readonly Canary[]> {
  const memories = Array.from({ length: 10 }, () => bench.canary());
  const third = memories[2]?.word ?? "";
  const finished: Canary[] = [];
  let isOver = false;
  const writing = (async () => {
    for (const memory of memories) {
      await writer.write(memory.text);
      finished.push(memory);
    }
  })();
  // The witness sees a write before its call ends, and so in the middle.
  const isThere = async (): Promise<boolean> => bench.facts.backend !== "none" && (await bench.holds(third));
  const ended = writing
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  while (!isOver && finished.length < 3 && !(await isThere())) await eventLoopTurn();
  await kill();
  await ended;
  return finished;
}

/** Ends the check where this way to write is not recalled even while nothing happens to the process. */
async function needsRecall(bench: Bench, path: WritePath): Promise<void> {
  const [person, memory] = [bench.someone(await bench.open()), bench.canary()];
  await person.write(memory.text, { path });
  if (!(await person.knows(memory))) bench.notApplicable(`What is written by ${path} is not recalled.`);
}

async function closed(closing: Promise<unknown>): Promise<void> {
  try {
    await closing;
  } catch (error) {
    throw error instanceof RemoteError ? new ProviderThrew("close", error) : error;
  }
}
