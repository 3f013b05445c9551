/**
 * Erasing is what the law asks for: everything of a scope, from every table, whoever wrote it and by which way, and nothing
 * of anybody else's. A request that comes late must not bring a person back who was erased meanwhile.
 */
import { extendProvider } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withCapture, withMaintenance } from "../reference/changed.ts";

const nothingLeft = defineCheck({
  id: "erasing/nothing-left",
  clause: "MEM-ERS-01",
  title:
    "After an erase no read path shows anything of the scope, the backend holds none of its words, others have theirs",
  needs: ["erase"],
  reasons: {
    "still-shown": "Only what was written in one of several ways is erased, or caches and indexes live on.",
    "still-held": "Side records are left: of recalls, of sessions, of an index, or marked as removed.",
    "took-others": "It erases by prefix, or more than its key.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase === "requested") bench.notApplicable("Its service erases later, as declared.");
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const told = bench.writePaths.map((path) => ({ path, memory: bench.canary() }));
    const others = bench.canary();
    for (const { path, memory } of told) await ann.write(memory.text, { path });
    await ben.write(others.text);
    for (const { memory } of told) await ann.readings(memory.query);
    await ann.maintain("erase", (maintenance, key) => maintenance.erase({ key }));
    for (const { path, memory } of told) {
      const left = pathShowing(await ann.readings(memory.query), memory.word);
      if (left !== undefined)
        fail("still-shown", `What had been written by ${path}, its ${left} showed after an erase.`);
      if (bench.facts.backend !== "none" && (await bench.holds(memory.word)))
        fail("still-held", "The backend held a word of the erased scope.");
    }
    if (!(await ben.knows(others))) fail("took-others", "Another scope's memory was gone as well.");
  },
});

const lateRepeat = defineCheck({
  id: "erasing/late-repeat",
  clause: "MEM-ERS-02",
  title: "An operation that is repeated after an erase brings nothing back; a new one is remembered",
  needs: ["erase"],
  reasons: {
    resurrected: "The erase takes with it what is known of operations, so that a late repeat is taken for new.",
    blocked: "After an erase the scope takes nothing any more.",
  },
  async run(bench, fail) {
    if (bench.facts.capabilities.erase === "requested") bench.notApplicable("Its service erases later, as declared.");
    const handle = await bench.open();
    for (const path of bench.writePaths.filter((each) => each !== "import")) {
      const [ann, memory, next] = [bench.someone(handle), bench.canary(), bench.canary()];
      const written = await ann.write(memory.text, { path });
      await ann.maintain("erase", (maintenance, key) => maintenance.erase({ key }));
      await bench.outcome(() => ann.repeat(written));
      const shown = pathShowing(await ann.readings(memory.query), memory.word);
      if (shown !== undefined)
        fail("resurrected", `A repeated write by ${path} was shown by its ${shown} after the erase.`);
      if (path !== bench.writePaths[0]) continue;
      await ann.again().write(next.text, { path });
      if (!(await ann.knows(next))) fail("blocked", "What was told after the erase was not recalled.");
    }
  },
});

const status = defineCheck({
  id: "erasing/status",
  clause: "MEM-ERS-03",
  title: "What an erase answers agrees with what is declared, and with what there was",
  needs: ["erase"],
  reasons: {
    status: 'Declared "immediate" is answered with "done", "requested" with "requested".',
    count: "The number is not that of records removed: it counts what is left behind, or is made up.",
  },
  async run(bench, fail) {
    const [ann, memory] = [bench.someone(await bench.open()), bench.canary()];
    const expected = bench.facts.capabilities.erase === "requested" ? "requested" : "done";
    const erase = () => ann.maintain("erase", (maintenance, key) => maintenance.erase({ key }));
    await ann.write(memory.text);
    if (!(await ann.knows(memory))) bench.untestable("There was nothing to erase.");
    const [first, second] = [await erase(), await erase()];
    if (first.status !== expected) fail("status", "An erase was answered with another status than is declared.");
    if (!Number.isSafeInteger(first.erased) || first.erased < 0) fail("count", "The count is no whole number.");
    if (expected === "done" && second.erased !== 0)
      fail("count", "It counted records in a scope that was erased already.");
  },
});

const undeclared = defineCheck({
  id: "erasing/undeclared",
  clause: "MEM-ERS-04",
  title: "Where no erase is declared, there is none",
  needs: ["maintenance"],
  reasons: {
    erases: 'It can erase and does not say so: declare erase "immediate" or "requested", so that it is judged.',
  },
  async run(bench, fail) {
    const { erase = "none" } = bench.facts.capabilities;
    if (erase !== "none") bench.notApplicable("It declares that it erases.");
    const [ann, memory] = [bench.someone(await bench.open()), bench.canary()];
    await ann.write(memory.text);
    if (!(await ann.knows(memory))) bench.untestable("There was nothing to erase.");
    await bench.outcome(() => ann.maintain("erase", (maintenance, key) => maintenance.erase({ key })));
    if (!(await ann.knows(memory))) fail("erases", "A provider that declares no erase erased.");
  },
});

export const erasing: Family = defineFamily({
  name: "erasing",
  clauses: [
    {
      id: "MEM-ERS-01",
      level: "MUST",
      profile: "base",
      sentence:
        "After an erase nothing of the scope is shown or held, however it was written, and nothing else is gone.",
      source: "P10, P1",
    },
    {
      id: "MEM-ERS-02",
      level: "MUST",
      profile: "base",
      sentence: "A capture or tool call that is repeated after an erase brings nothing back.",
      source: "P10, P2",
    },
    {
      id: "MEM-ERS-03",
      level: "MUST",
      profile: "base",
      sentence: "An erase answers the status that is declared, and counts what it removed.",
      source: "P10, P15",
    },
    {
      id: "MEM-ERS-04",
      level: "MUST",
      profile: "base",
      sentence: "A provider that does not declare that it erases does not erase.",
      source: "K4",
    },
  ],
  checks: [nothingLeft, lateRepeat, status, undeclared],
  mutants: [
    {
      id: "erasing/keeps-captured",
      flaw: "Erases what tools saved and imports brought, and not what was captured.",
      kills: { "erasing/nothing-left": "still-shown" },
      spares: ["forgetting/gone", "maintenance/list"],
      parts: ({ recordId }) => ({ recordId: (key, operation) => `${operation[0]}-${recordId(key, operation)}` }),
      provider: (provider, { store }) =>
        withMaintenance(provider, () => ({
          erase: async ({ key, signal = new AbortController().signal }) => {
            const records = (await store.list(key, signal)).filter(({ id }) => !id.startsWith("turn-"));
            for (const { id } of records) await store.remove(key, id, signal);
            return { erased: records.length, status: "done" };
          },
        })),
    },
    {
      id: "erasing/keeps-recalls",
      flaw: "Keeps a history of what was recalled, and erases the memories alone.",
      kills: { "erasing/nothing-left": "still-held" },
      spares: ["forgetting/gone", "maintenance/import-twice"],
      store: (store) => ({
        ...store,
        list: async (scope, signal) => {
          const records = await store.list(scope, signal);
          const text = records.map((record) => record.text).join("\n");
          const entry = { id: crypto.randomUUID(), text, createdAt: 0 };
          if (text !== "") await store.put(`history of ${scope}`, entry, signal);
          return records;
        },
      }),
    },
    {
      id: "erasing/everybody",
      flaw: "Erases the whole store.",
      kills: { "erasing/nothing-left": "took-others" },
      spares: ["forgetting/gone", "maintenance/list"],
      provider: (provider, { store }) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            const keys = await store.scopes(new AbortController().signal);
            for (const key of keys) await erase({ ...input, key });
            return { erased: keys.includes(input.key) ? 1 : 0, status: "done" };
          },
        })),
    },
    {
      id: "erasing/resurrects",
      flaw: "Knows nothing of earlier operations after an erase.",
      kills: { "erasing/late-repeat": "resurrected" },
      spares: ["erasing/nothing-left", "erasing/status", "forgetting/gone"],
      store: (store) => ({
        ...store,
        put: async (scope, record, signal) => {
          const outcome = await store.put(scope, record, signal);
          return outcome === "gone" ? store.put(scope, { ...record, id: `${record.id}-again` }, signal) : outcome;
        },
      }),
    },
    {
      id: "erasing/closes-the-scope",
      flaw: "Takes nothing any more for a scope that was erased.",
      kills: { "erasing/late-repeat": "blocked" },
      spares: ["erasing/nothing-left", "erasing/status"],
      provider: (provider) => {
        const erased = new Set<string>();
        const marking = withMaintenance(provider, ({ erase }) => ({
          erase: (input) => {
            erased.add(input.key);
            return erase(input);
          },
        }));
        return withCapture(marking, (capture, context) =>
          erased.has(context.memory.scope.key) ? undefined : capture(context),
        );
      },
    },
    {
      id: "erasing/says-requested",
      flaw: "Answers that it was only asked to.",
      kills: { "erasing/status": "status" },
      spares: ["erasing/nothing-left", "erasing/late-repeat"],
      provider: (provider) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => ({ ...(await erase(input)), status: "requested" }),
        })),
    },
    {
      id: "erasing/counts-operations",
      flaw: "Counts what it has erased so far, not what it erased.",
      kills: { "erasing/status": "count" },
      spares: ["erasing/nothing-left", "erasing/late-repeat"],
      provider: (provider) => {
        let total = 0;
        return withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            total += (await erase(input)).erased;
            return { erased: total, status: "done" };
          },
        }));
      },
    },
    {
      id: "erasing/erases-undeclared",
      flaw: "Declares no erase, and erases.",
      kills: { "erasing/undeclared": "erases" },
      spares: ["maintenance/list", "forgetting/gone"],
      provider: (provider) => extendProvider(provider, { declaration: { capabilities: { erase: "none" } } }),
    },
  ],
});
