/**
 * What a provider promises of its memory is kept: that it outlives the process, that an operation is answered as the
 * first time, that an erasure is done. Each is believed until the day on which it matters.
 */
import { describeProvider, extendProvider, type MemoryMaintenance, type MemoryProvider } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { ignoring, processRecordStore } from "../reference/process-store.ts";
import { declaring } from "../reference/standing-before.ts";

const durable = defineCheck({
  id: "promises/durable",
  clause: "MEM-PMS-01",
  title: "Memory that is declared to outlive the process is outside of it",
  reasons: {
    "nothing-to-outlive-in": "It declares to be durable, and stands on nothing outside its process.",
    "in-process":
      "It declares to be durable, and another instance over the same backend does not find what it was told.",
  },
  async run(bench, fail) {
    if (bench.facts.declared.durable !== true) bench.notApplicable("It does not declare to be durable.");
    if (bench.facts.backend === "none") fail("nothing-to-outlive-in", "There is no backend.");
    const [person, memory] = [bench.someone(await bench.open()), bench.canary()];
    await person.write(memory.text);
    const elsewhere = person.again(await bench.open());
    if (!(await elsewhere.knows(memory)))
      fail("in-process", "A second instance did not recall what the first was told.");
  },
});

const replayDeclared = defineCheck({
  id: "promises/replay-declared",
  clause: "MEM-PMS-02",
  title: "Where replay is declared, the same operation recalls the same after another write",
  reasons: {
    moved: "It declares to replay, and answers a repeated operation from what is stored by then.",
    forgotten: "What was written is not recalled at all.",
  },
  async run(bench, fail) {
    const { replay = "none" } = bench.facts.declared;
    if (replay === "none") bench.notApplicable("It does not declare to replay.");
    const person = bench.someone(await bench.open());
    const [memory, later] = [bench.canary(), bench.canary()];
    await person.write(memory.text);
    const asking = person.again();
    const turn = asking.begin(`${memory.query} ${later.query}`);
    const once = await asking.recall(turn);
    await person.write(later.text);
    const again = await asking.recall(turn);
    if (!once.text.includes(memory.word)) fail("forgotten", "What was written was not recalled.");
    if (again.text !== once.text) fail("moved", "The same operation recalled something else after another write.");
  },
});

const eraseNone = defineCheck({
  id: "promises/erase-none",
  clause: "MEM-PMS-03",
  title: "Where it declares not to erase, nothing is erased",
  needs: ["maintenance"],
  reasons: {
    "erases-anyway": "It declares that it does not erase, and does. Declare what it does, or refuse the call.",
    forgotten: "What was written is not recalled, whether erased or not.",
  },
  async run(bench, fail) {
    if (bench.facts.declared.erase !== "none") bench.notApplicable("It does not declare that it does not erase.");
    const handle = await bench.open();
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text);
    if (!(await person.knows(memory))) fail("forgotten", "What was written was not recalled.");
    await eraseScope(bench, person, handle.declaration?.maintenance);
    if (!(await person.knows(memory))) fail("erases-anyway", "After the call, what had been written was gone.");
  },
});

const eraseDeclared = defineCheck({
  id: "promises/erase-declared",
  clause: "MEM-PMS-04",
  title: "An erasure that is declared succeeds, says what it did, and spares other scopes",
  needs: ["erase"],
  reasons: {
    refuses: "It declares to erase, and the call fails.",
    "says-otherwise": 'An immediate erasure answers the status "done", one that a service was asked for "requested".',
    "still-there": "After an erasure that is done, something is still recalled.",
    "erases-others": "An erasure of one scope reaches another.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [tea, bees] = [bench.canary(), bench.canary()];
    await ann.write(tea.text);
    await ben.write(bees.text);
    const knew = await ann.knows(tea);
    const erased = await eraseScope(bench, ann, handle.declaration?.maintenance);
    if (erased.state !== "fulfilled") return fail("refuses", "The erasure failed.");
    const expected = bench.facts.declared.erase === "requested" ? "requested" : "done";
    if (erased.value?.status !== expected) fail("says-otherwise", `The status was not "${expected}", as is declared.`);
    if (expected === "done" && (!knew || (await ann.knows(tea)))) fail("still-there", "It was still recalled.");
    if (!(await ben.knows(bees))) fail("erases-others", "What another scope had been told was gone.");
  },
});

export const promises: Family = defineFamily({
  name: "promises",
  clauses: [
    {
      id: "MEM-PMS-01",
      level: "MUST",
      profile: "base",
      sentence: "Memory that is declared durable is found by another instance over the same backend.",
      source: "K4, P16",
    },
    {
      id: "MEM-PMS-02",
      level: "MUST",
      profile: "base",
      sentence:
        "A provider that declares to replay answers a repeated operation as the first time, after other writes too.",
      source: "K4, P3",
    },
    {
      id: "MEM-PMS-03",
      level: "MUST",
      profile: "base",
      sentence: "Where an erasure is not declared, there is none: it is absent, refuses, or leaves everything.",
      source: "K4, P10",
    },
    {
      id: "MEM-PMS-04",
      level: "MUST",
      profile: "base",
      sentence: "An erasure that is declared succeeds and says what it did; an immediate one has happened by then.",
      source: "K4, P10, P15",
    },
  ],
  checks: [durable, replayDeclared, eraseNone, eraseDeclared],
  mutants: [
    {
      id: "promises/durable-on-nothing",
      flaw: "Declares that its memory outlives the process in which it is kept.",
      kills: { "promises/durable": "nothing-to-outlive-in" },
      spares: ["promises/replay-declared", "promises/erase-declared"],
      backend: "none",
      provider: (provider) => declaring(provider, { durable: true }),
    },
    {
      id: "promises/durable-in-a-cache",
      flaw: "Keeps in a cache of its own what it declares to be durable.",
      kills: { "promises/durable": "in-process" },
      spares: ["promises/replay-declared", "promises/erase-declared"],
      store: (store) => ignoring(store, { ...processRecordStore({ now: () => 0 }), durable: true }),
    },
    {
      id: "promises/replays-what-is-stored",
      flaw: "Declares to replay, and answers a repetition from what is stored by then.",
      kills: { "promises/replay-declared": "moved" },
      spares: ["promises/durable", "promises/erase-declared"],
      store: (store) => ({ ...store, pin: async (_scope, _operation, ids) => ids }),
    },
    {
      id: "promises/erases-anyway",
      flaw: "Declares that it does not erase, and erases.",
      kills: { "promises/erase-none": "erases-anyway" },
      spares: ["promises/durable", "promises/replay-declared"],
      provider: (provider) => declaring(provider, { erase: "none" }),
    },
    {
      id: "promises/refuses-to-erase",
      flaw: "Declares an immediate erasure, and has none yet.",
      kills: { "promises/erase-declared": "refuses" },
      spares: ["promises/durable", "promises/replay-declared"],
      provider: (provider) => erasing(provider, () => Promise.reject(new RangeError("Not implemented."))),
    },
    {
      id: "promises/done-when-requested",
      flaw: "Declares an immediate erasure, and answers that it was requested.",
      kills: { "promises/erase-declared": "says-otherwise" },
      spares: ["promises/durable"],
      provider: (provider) =>
        erasing(provider, async (input, { erase }) => ({ ...(await erase(input)), status: "requested" })),
    },
    {
      id: "promises/erases-later",
      flaw: "Answers that the erasure is done, and leaves it for later.",
      kills: { "promises/erase-declared": "still-there" },
      spares: ["promises/durable"],
      provider: (provider) => erasing(provider, async () => ({ erased: 1, status: "done" })),
    },
    {
      id: "promises/erases-everything",
      flaw: "Erases every scope there is.",
      kills: { "promises/erase-declared": "erases-others" },
      spares: ["promises/durable"],
      provider: (provider) =>
        erasing(provider, async (input, { erase, scopes }) => {
          for await (const key of scopes?.({}) ?? []) await erase({ ...input, key });
          return { erased: 1, status: "done" };
        }),
    },
  ],
});

async function eraseScope(bench: Bench, { key }: Person, maintenance: MemoryMaintenance | undefined) {
  const erasing = (async () => maintenance?.erase({ key }))();
  return bench.time.drive(erasing, { limitMs: 10_000, busy: bench.busy });
}

function erasing(
  provider: MemoryProvider,
  erase: (
    input: Parameters<MemoryMaintenance["erase"]>[0],
    own: MemoryMaintenance,
  ) => ReturnType<MemoryMaintenance["erase"]>,
): MemoryProvider {
  const { maintenance } = describeProvider(provider) ?? {};
  if (maintenance === undefined) return provider;
  return extendProvider(provider, {
    declaration: { maintenance: { ...maintenance, erase: (input) => erase(input, maintenance) } },
  });
}
