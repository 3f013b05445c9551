/**
 * One instance serves many people at the same moment. A variable of the instance that is set before an await and read
 * after it, a buffer that every write shares, a cache of the latest call: alone each person is served well.
 */
import type { MemorySlotInfo } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { answersTo, leakIn, pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withRecall } from "../reference/changed.ts";
import type { RecordStore, StoredRecord } from "../reference/record-store.ts";

const atOnce = defineCheck({
  id: "isolation/at-once",
  clause: "MEM-ISO-07",
  title:
    "Three people in two slots of one instance write at once, and then ask at once: each finds their own memories only",
  reasons: {
    "shared-between-calls":
      "A variable, a buffer or a cache of the instance is shared between calls that run at once: one is answered, or written, with what belongs to another.",
    lost: "A write that comes while another person's is under way takes its place.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const people = peopleOf(bench, handle, path);
      const earlier = people.map((person) => ({ person, memory: bench.canary() }));
      for (const { person, memory } of earlier) await person.write(memory.text);
      const told = people.map((person) => ({ person, memory: bench.canary() }));
      await writeAtOnce(bench, told, path);
      const query = [...earlier, ...told].map(({ memory }) => memory.query).join(" ");
      const own = await Promise.all(
        told.map(({ person, memory }, index) => person.readings(`${memory.query} ${earlier[index]?.memory.query}`)),
      );
      // Each twice, so that a batch has the same scope more than once.
      const asked = await Promise.all(
        people.map(async (person) => (await Promise.all([answersTo(person, query), answersTo(person, query)])).flat()),
      );
      for (const memories of [earlier, told]) {
        const crossed = memories.map((each, index) => ({
          ...each,
          all: [own, asked].flatMap((readings) => readings[index] ?? []),
        }));
        const leak = leakIn(crossed);
        if (leak !== undefined)
          fail("shared-between-calls", `Of six that wrote by ${path} at once, one's ${leak.path} showed another's.`);
      }
      const hasLost = (memories: readonly { readonly memory: Canary }[], readings: typeof own): boolean =>
        memories.some(({ memory }, index) => pathShowing(readings[index] ?? [], memory.word) === undefined);
      if (hasLost(earlier, own)) fail("lost", "Of six who asked at once, one was not shown an earlier memory.");
      // Not everything that is captured has to be recalled; what was saved or imported has.
      if (path === "capture" && path !== bench.writePaths[0]) continue;
      if (hasLost(told, own)) fail("lost", `Of six that wrote by ${path} at once, one's memory was not shown.`);
    }
  },
});

export const isolationAtOnce: Family = defineFamily({
  name: "isolation at once",
  clauses: [
    {
      id: "MEM-ISO-07",
      level: "MUST",
      profile: "base",
      sentence:
        "Calls that run at once in one instance, for different people and slots, each write to and show their own scope, and no other.",
      source: "P1, P13",
    },
  ],
  checks: [atOnce],
  mutants: [
    {
      id: "isolation/latest-scope",
      flaw: "Keeps the scope of a recall in a variable of the instance, and reads it again after an await.",
      kills: { "isolation/at-once": "shared-between-calls" },
      spares: ["isolation/matrix", "one-instance/two-slots"],
      provider: (provider) => {
        let latest: MemorySlotInfo | undefined;
        return withRecall(provider, async (recall, context) => {
          latest = context.memory;
          await Promise.resolve();
          return recall({ ...context, memory: latest });
        });
      },
    },
    {
      id: "isolation/batch-out-of-step",
      flaw: "Reads for many at once, each scope once, and hands the answers out by the place of the question.",
      kills: { "isolation/at-once": "shared-between-calls" },
      spares: ["isolation/matrix", "one-instance/two-slots"],
      store: batched,
    },
    {
      id: "isolation/shared-buffer",
      flaw: "Prepares each text to be written in one buffer, which the next write fills before this one is sent.",
      kills: { "isolation/at-once": "shared-between-calls" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      store: (store) => {
        let buffer = "";
        return {
          ...store,
          put: async (scope, record, signal) => {
            buffer = record.text;
            await Promise.resolve();
            return store.put(scope, { ...record, text: buffer }, signal);
          },
        };
      },
    },
    {
      id: "isolation/one-pending-write",
      flaw: "Has one place for the write that is due, and one that comes meanwhile takes it.",
      kills: { "isolation/at-once": "lost" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      store: (store) => {
        let due: string | undefined;
        return {
          ...store,
          put: async (scope, record, signal) => {
            due = record.id;
            await Promise.resolve();
            return due === record.id ? store.put(scope, record, signal) : "stored";
          },
        };
      },
    },
  ],
});

function peopleOf({ namespace }: Bench, handle: Handle, path: WritePath): readonly Person[] {
  return ["ann", "ben", "cal"].flatMap((name) =>
    ["work", "home"].map((slot) =>
      handle.person({ scope: `${name} by ${path}`, namespace: `${namespace} at ${slot}`, slot }),
    ),
  );
}

/** Of a mutant: what is asked within one turn of the event loop is read together. */
function batched(store: RecordStore): RecordStore {
  let waiting: { readonly scope: string; readonly signal: AbortSignal }[] = [];
  let answers: Promise<readonly (readonly StoredRecord[])[]> | undefined;
  const read = async (): Promise<readonly (readonly StoredRecord[])[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    const asked = waiting;
    [waiting, answers] = [[], undefined];
    const scopes = new Map(asked.map(({ scope, signal }) => [scope, signal]));
    const read = await Promise.all([...scopes].map(([scope, signal]) => store.list(scope, signal)));
    return asked.map((_, index) => read[index % read.length] ?? []);
  };
  return {
    ...store,
    list: async (scope, signal) => {
      const place = waiting.push({ scope, signal }) - 1;
      answers ??= read();
      return (await answers)[place] ?? [];
    },
  };
}

/** All at once. One that fails has said so, and comes again alone. */
async function writeAtOnce(
  bench: Bench,
  told: readonly { readonly person: Person; readonly memory: Canary }[],
  path: WritePath,
): Promise<void> {
  const writes = told.map(({ person, memory }) => {
    const operation = { path, turn: person.begin(memory.text), callId: `call-${memory.topic}` };
    return () => person.write(memory.text, operation);
  });
  const outcomes = await Promise.all(writes.map((write) => bench.outcome(write)));
  for (const [index, write] of writes.entries()) if (outcomes[index]?.state === "rejected") await write();
}
