/**
 * One person's memory shown to another is the worst that a memory can do, and the most often reported: a key that drops
 * the namespace or joins a tuple, one write path or one tool that was forgotten when the scope came in.
 */
import { defineCheck } from "../check.ts";
import { crossReadings, leakIn, pathMissing, pathShowing, toldBy, workingPaths } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { recordsOfAll, rescoped, withMaintenance, withTool } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";

type Scope = string | readonly string[];

const scopes: readonly { readonly scope: Scope; readonly namespace?: string }[] = [
  { scope: "ann" },
  { scope: "ben" },
  { scope: "ann", namespace: "conformance of another agent" },
  { scope: ["ann"] },
  { scope: ["ann", "ben"] },
  { scope: ["ben", "ann"] },
];

const matrix = defineCheck({
  id: "isolation/matrix",
  clause: "MEM-ISO-01",
  title: "Six scopes that differ in value, namespace, form or order each show their own memory, and no other's",
  reasons: {
    "scope-value": "Part of the scope's value is ignored, or one read path knows no scope.",
    namespace: "The namespace is ignored: memory.scope.value does not hold it, memory.scope.key does.",
    "tuple-or-string": 'The scope "a" and the scope ["a"] are written alike, as by String() or join().',
    "tuple-order": "The parts of a tuple are sorted or kept as a set.",
    lost: "The memory of one scope displaced that of another.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const working = await workingPaths(bench, handle);
    const told = scopes.map((options) => ({ options, person: handle.person(options), memory: bench.canary() }));
    for (const { person, memory } of told) await person.write(memory.text);
    const crossed = await crossReadings(told);
    const leak = leakIn(crossed);
    if (leak !== undefined) {
      const { reader, owner, path } = leak;
      fail(difference(reader.options, owner.options), `Its ${path} showed another scope's memory.`);
    }
    for (const { own, memory } of crossed) {
      const path = pathMissing(own, memory.word, working);
      if (path !== undefined) fail("lost", `Its ${path} did not show a scope's own memory any more.`);
    }
  },
});

const writePaths = defineCheck({
  id: "isolation/write-paths",
  clause: "MEM-ISO-02",
  title: "Whichever way two people's memories are written, each finds their own and not the other's",
  reasons: {
    "other-person": "This way of writing drops the scope, or marks what it writes as everybody's.",
    lost: "This way of writing puts it where the scope's own reads do not look.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const told = await toldBy(bench, handle, { count: 2, path });
      const crossed = await crossReadings(told);
      const leak = leakIn(crossed);
      if (leak !== undefined) fail("other-person", `What one wrote by ${path}, the other's ${leak.path} showed.`);
      // Not everything that is captured has to be recalled; what was saved or imported has.
      if (path === "capture" && path !== bench.writePaths[0]) continue;
      const lost = crossed.some(({ own, memory }) => pathShowing(own, memory.word) === undefined);
      if (lost) fail("lost", `What was written by ${path}, nothing in its scope shows.`);
    }
  },
});

export const isolation: Family = defineFamily({
  name: "isolation",
  clauses: [
    {
      id: "MEM-ISO-01",
      level: "MUST",
      profile: "base",
      sentence:
        "Scopes that differ in value, in namespace, in being text or a tuple, or in the order of a tuple share no memory on any read path.",
      source: "P1, C2, C3, E3.4, E3.5",
    },
    {
      id: "MEM-ISO-02",
      level: "MUST",
      profile: "base",
      sentence: "Whichever way memory is written, it is written to the scope of the operation, and to no other.",
      source: "P1",
    },
  ],
  checks: [matrix, writePaths],
  mutants: [
    {
      id: "isolation/first-of-tuple",
      flaw: "Uses the first part of a tuple only.",
      kills: { "isolation/matrix": "scope-value" },
      spares: ["isolation/flooded"],
      provider: (provider) =>
        rescoped(provider, ({ namespace, value }) =>
          JSON.stringify([namespace, typeof value === "string" ? value : value.slice(0, 1)]),
        ),
    },
    {
      id: "isolation/without-namespace",
      flaw: "Partitions by the scope's value, without the namespace.",
      kills: { "isolation/matrix": "namespace" },
      spares: ["isolation/flooded"],
      provider: (provider) => rescoped(provider, ({ value }) => JSON.stringify(value)),
    },
    {
      id: "isolation/joined-tuple",
      flaw: "Writes the scope's value as text, which joins a tuple.",
      kills: { "isolation/matrix": "tuple-or-string" },
      spares: ["isolation/flooded"],
      provider: (provider) => rescoped(provider, ({ namespace, value }) => JSON.stringify([namespace, String(value)])),
    },
    {
      id: "isolation/sorted-tuple",
      flaw: "Sorts the parts of a tuple.",
      kills: { "isolation/matrix": "tuple-order" },
      spares: ["isolation/flooded"],
      provider: (provider) =>
        rescoped(provider, ({ namespace, value }) =>
          JSON.stringify([namespace, typeof value === "string" ? value : value.toSorted()]),
        ),
    },
    {
      id: "isolation/unscoped-search",
      flaw: "Recall is scoped; the search tool searches everything.",
      kills: { "isolation/matrix": "scope-value", "isolation/flooded": "other-person" },
      spares: ["isolation/operation-id"],
      provider: (provider, { store }) =>
        withTool(provider, "search_memories", () => ({
          execute: async ({ query }: { readonly query: string }, { abortSignal }) => ({
            matches: correctParts.rank(await recordsOfAll(store, abortSignal), query).slice(0, 5),
          }),
        })),
    },
    {
      id: "isolation/few-scopes",
      flaw: "Keeps the four scopes that were written last.",
      kills: { "isolation/matrix": "lost" },
      spares: ["isolation/write-paths"],
      store: (store) => {
        const recent: string[] = [];
        return {
          ...store,
          put: (scope, record, signal) => {
            recent.splice(0, recent.length, ...[scope, ...recent.filter((each) => each !== scope)].slice(0, 4));
            return store.put(scope, record, signal);
          },
          list: async (scope, signal) => (recent.includes(scope) ? store.list(scope, signal) : []),
        };
      },
    },
    {
      id: "isolation/import-for-everybody",
      flaw: "Imports without a scope, and shows what has none to everybody.",
      kills: { "isolation/write-paths": "other-person" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      provider: (provider) =>
        withMaintenance(provider, ({ import: bringIn }) => ({
          import: (input) => bringIn({ ...input, key: "imported" }),
        })),
      store: (store) => ({
        ...store,
        list: async (scope, signal) => [
          ...(await store.list(scope, signal)),
          ...(scope === "imported" ? [] : await store.list("imported", signal)),
        ],
      }),
    },
    {
      id: "isolation/import-elsewhere",
      flaw: "Imports into a default scope that nobody reads.",
      kills: { "isolation/write-paths": "lost" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      provider: (provider) =>
        withMaintenance(provider, ({ import: bringIn }) => ({
          import: (input) => bringIn({ ...input, key: "default" }),
        })),
    },
  ],
});

/** In what the two differ. */
function difference(one: (typeof scopes)[number], other: (typeof scopes)[number]) {
  const parts = ({ scope }: { readonly scope: Scope }): string => JSON.stringify([scope].flat().toSorted());
  if (one.namespace !== other.namespace) return "namespace";
  if (parts(one) !== parts(other)) return "scope-value";
  return typeof one.scope === typeof other.scope ? "tuple-order" : "tuple-or-string";
}
