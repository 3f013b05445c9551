/** One system in a process of its own, so that neither compiled code nor garbage of another system is in its figures. */
import { PerformanceObserver, performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import type { Answer, Order } from "./process.ts";
import { playSessions } from "./sessions.ts";
import { type Work, work } from "./slots.ts";
import type { System, SystemName } from "./system.ts";

const systems: Readonly<Record<SystemName, () => Promise<{ readonly openSession: System }>>> = {
  keepsake: () => import("./keepsake.ts"),
  "by-hand": () => import("./by-hand.ts"),
  eve: () => import("./eve.ts"),
};
const { openSession } = await systems[process.argv[2] as SystemName]();

let collections = 0;
new PerformanceObserver((list) => {
  collections += list.getEntries().length;
}).observe({ entryTypes: ["gc"] });

process.on("message", async (order: Order) => {
  const workBefore = { ...work };
  await collectGarbage();
  const collectionsBefore = collections;
  const bytesBefore = process.memoryUsage().heapUsed;
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await playSessions(openSession, order.sessions, order.texts);
  const { user, system } = process.cpuUsage(cpuBefore);
  const elapsed = performance.now() - startedAt;
  const heapGrowth = process.memoryUsage().heapUsed - bytesBefore;
  await observeCollections();
  const answer: Answer = {
    cpuMicroseconds: user + system,
    elapsedMicroseconds: elapsed * 1_000,
    heapGrowthBytes: collections === collectionsBefore ? heapGrowth : null,
    work: difference(work, workBefore),
  };
  process.send?.(answer);
});

async function collectGarbage(): Promise<void> {
  globalThis.gc?.();
  await observeCollections();
}

/** The observer is told in a later turn of the event loop. */
async function observeCollections(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await setImmediate();
}

function difference(after: Work, before: Work): Work {
  return {
    recalls: after.recalls - before.recalls,
    toolSets: after.toolSets - before.toolSets,
    captures: after.captures - before.captures,
    messages: after.messages - before.messages,
  };
}
