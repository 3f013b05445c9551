/**
 * An operator's calls meet failing backends too. An erase that swallows the failure says that a person is gone who is
 * not; a list or an export that stops where a page failed hands out half a memory as the whole of it.
 */
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { attempt, moments, passingFault, plainFaults, recover } from "../drive/faulting.ts";
import type { Handle } from "../drive/handle.ts";
import { collect, type Person } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";

const memoriesEach = 2;
const mostMoments = 6;

const erases = defineCheck({
  id: "faults/erase",
  clause: "MEM-FLT-11",
  title:
    "Under each fault, and when any of its requests fails, an erase rejects, or nothing is left; tried again, it ends",
  needs: ["erase", "backend"],
  reasons: {
    "claims-done": "A failed delete is caught, or not waited for, and the erase says that it is done.",
    stuck: "What is to be deleted is noted as deleted first: an erase that is tried again finds nothing to do.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase !== "immediate")
      bench.notApplicable("What it erases is gone at some later time.");
    const handle = await bench.open();
    for (const { fault, after } of await meetings(bench, handle, (person) => person.erase())) {
      const { person, memories } = await filled(bench, handle);
      bench.backend.inject(fault, { after });
      const outcome = await attempt(bench, () =>
        person.maintain("erase", (maintenance, key) => maintenance.erase({ key })),
      );
      await recover(bench);
      const claimsDone = outcome.state === "fulfilled" && outcome.value.status === "done";
      if (claimsDone && (await shown(person, memories)) !== undefined)
        fail("claims-done", `Under "${fault.name}" after ${after} requests it was done, and a memory was still there.`);
      await person.erase();
      if ((await shown(person, memories)) !== undefined)
        fail("stuck", `An erase that had met "${fault.name}" after ${after} requests left a memory when tried again.`);
    }
  },
});

const readsOut = defineCheck({
  id: "faults/list-and-export",
  clause: "MEM-FLT-12",
  title: "Under each fault, and when any of its requests fails, a list and an export reject, or hold everything",
  needs: ["maintenance", "backend"],
  reasons: { part: "A page, or a record, that could not be read is left out, and the rest is given as the whole." },
  async run(bench, fail) {
    const handle = await bench.open();
    const { person, memories } = await filled(bench, handle);
    const ways = {
      list: () => person.maintain("list", (maintenance, key) => maintenance.list({ key, limit: 1_000 })),
      export: () => person.maintain("export", (maintenance, key) => collect(maintenance.export({ key }))),
    };
    for (const [name, read] of Object.entries(ways)) {
      for (const { fault, after } of await meetings(bench, handle, read)) {
        bench.backend.inject(fault, { after });
        const outcome = await attempt<unknown>(bench, read);
        await recover(bench);
        if (outcome.state !== "fulfilled") continue;
        const text = (JSON.stringify(outcome.value) ?? "").toLowerCase();
        if (memories.some(({ word }) => !text.includes(word)))
          fail(
            "part",
            `Under "${fault.name}" after ${after} requests the ${name} lacked a memory, and did not say so.`,
          );
      }
    }
  },
});

export const maintenanceFaults: Family = defineFamily({
  name: "faults of maintenance",
  clauses: [
    {
      id: "MEM-FLT-11",
      level: "MUST",
      profile: "base",
      sentence:
        "An erase that meets a failing backend rejects or has erased everything, and one that is called again erases the rest.",
      source: "P4, P10, K7",
    },
    {
      id: "MEM-FLT-12",
      level: "MUST",
      profile: "base",
      sentence: "A list or an export that meets a failing backend rejects, and never gives a part as the whole.",
      source: "P4, P12, K7",
    },
  ],
  checks: [erases, readsOut],
  mutants: [
    {
      id: "faults/erase-swallows",
      flaw: "Erases record by record, and goes on after one that fails.",
      kills: { "faults/erase": "claims-done" },
      spares: ["erasing/nothing-left", "faults/forget"],
      provider: (provider, { store }) =>
        withMaintenance(provider, () => ({
          erase: async ({ key, signal = new AbortController().signal }) => {
            const records = await store.list(key, signal);
            for (const { id } of records) await store.remove(key, id, signal).catch(() => false);
            return { erased: records.length, status: "done" };
          },
        })),
    },
    {
      id: "faults/erase-noted-first",
      flaw: "Notes a scope as erased before it erases, and has nothing to do the second time.",
      kills: { "faults/erase": "stuck" },
      spares: ["erasing/nothing-left", "faults/forget"],
      provider: (provider) => {
        const erased = new Set<string>();
        return withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            if (erased.has(input.key)) return { erased: 0, status: "done" };
            erased.add(input.key);
            return erase(input);
          },
        }));
      },
    },
    {
      id: "faults/export-ends-early",
      flaw: "Ends an export, and a list, where its backend fails.",
      kills: { "faults/list-and-export": "part" },
      spares: ["maintenance/round-trip", "maintenance/list"],
      provider: (provider) =>
        withMaintenance(provider, ({ list, export: records }) => ({
          list: (input) => list(input).catch(() => ({ records: [] })),
          async *export(input) {
            try {
              yield* records(input);
            } catch {}
          },
        })),
    },
  ],
});

interface Meeting {
  readonly fault: Fault;
  readonly after: number;
}

/** Every fault at the first request, and one that passes at each of the others. */
async function meetings(
  bench: Bench,
  handle: Handle,
  call: (person: Person) => Promise<unknown>,
): Promise<readonly Meeting[]> {
  const somebody = await filled(bench, handle);
  await needsShown(bench, somebody);
  const before = bench.backend.observed().length;
  await call(somebody.person);
  const later = moments(bench.backend.observed().length - before, mostMoments).filter((after) => after > 0);
  const passing = passingFault(bench);
  return [
    ...plainFaults(bench).map((fault) => ({ fault, after: 0 })),
    ...later.map((after) => ({ fault: passing, after })),
  ];
}

interface Filled {
  readonly person: Person;
  readonly memories: readonly Canary[];
}

async function filled(bench: Bench, handle: Handle): Promise<Filled> {
  const person = bench.someone(handle);
  const memories = Array.from({ length: memoriesEach }, () => bench.canary());
  for (const { text } of memories) await person.write(text);
  return { person, memories };
}

/** Ends the check where not everything that is written is shown, even while all is well. */
async function needsShown(bench: Bench, { person, memories }: Filled): Promise<void> {
  const readings = await person.readings(memories.map(({ query }) => query).join(" "));
  if (!memories.every(({ word }) => pathShowing(readings, word) !== undefined))
    bench.notApplicable("Not everything that is written is shown, even while all is well.");
}

/** The read path that still shows one of them. */
async function shown(person: Person, memories: readonly Canary[]): Promise<string | undefined> {
  const readings = await person.readings(memories.map(({ query }) => query).join(" "));
  return memories.map(({ word }) => pathShowing(readings, word)).find((path) => path !== undefined);
}
