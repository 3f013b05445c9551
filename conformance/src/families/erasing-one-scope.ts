/** An erase that takes too much. A delete by prefix or by pattern takes the memory of people with similar keys along. */
import { defineCheck } from "../check.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";

/** The first of each row is erased, and means the others to whoever matches by prefix, by pattern or without case. */
const rows: readonly (readonly [erased: string, ...others: string[]])[] = [
  ["t/acme", "t/acme-corp", "t/acm", "T/ACME", "x/t/acme"],
  ["a_c*%", "abc", "a_c", "abcd"],
  ["team", "team:ann", "team/ann", "team.ann", "[team]"],
];

const similarKeys = defineCheck({
  id: "erasing/similar-keys",
  clause: "MEM-ERS-06",
  title:
    "An erase of one scope leaves the memory of those whose keys begin like it, contain it, or match it as a pattern",
  needs: ["erase"],
  reasons: {
    "takes-along": "What is deleted is found by a prefix or a pattern made of the key, and not by the key itself.",
    left: "The key is found in one form and erased in another.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const keys of rows) {
      const told = keys.map((key) => ({ person: handle.person({ scope: "somebody", key }), memory: bench.canary() }));
      for (const { person, memory } of told) await person.write(memory.text);
      const [first, ...others] = told as [(typeof told)[number], ...typeof told];
      for (const { person, memory } of told)
        if (!(await person.knows(memory))) bench.untestable("What was written under a key was not recalled under it.");
      await first.person.erase();
      for (const { person, memory } of others)
        if (pathShowing(await person.readings(memory.query), memory.word) === undefined)
          fail("takes-along", "An erase of one scope took the memory of another with a similar key.");
      if (bench.facts.capabilities.erase === "immediate" && (await first.person.knows(first.memory)))
        fail("left", "What was erased was still recalled.");
    }
  },
});

export const erasingOneScope: Family = defineFamily({
  name: "erasing one scope",
  clauses: [
    {
      id: "MEM-ERS-06",
      level: "MUST",
      profile: "base",
      sentence: "An erase takes nothing of another scope, however similar its key.",
      source: "P1, P10",
    },
  ],
  checks: [similarKeys],
  mutants: [
    {
      id: "erasing/by-prefix",
      flaw: "Erases all scopes whose keys begin with the key.",
      kills: { "erasing/similar-keys": "takes-along" },
      spares: ["erasing/nothing-left", "partitions/opaque-keys"],
      provider: (provider, { store }) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            const { key, signal = new AbortController().signal } = input;
            const alike = (await store.scopes(signal)).filter((scope) => scope.startsWith(key) && scope !== key);
            for (const scope of alike) await erase({ ...input, key: scope });
            return erase(input);
          },
        })),
    },
    {
      id: "erasing/lower-case",
      flaw: "Erases by the key in lower case.",
      kills: { "erasing/similar-keys": "takes-along" },
      spares: ["erasing/nothing-left", "isolation/look-alike-keys"],
      provider: (provider, { store }) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: async (input) => {
            const { key, signal = new AbortController().signal } = input;
            const same = (await store.scopes(signal)).filter(
              (scope) => scope !== key && scope.toLowerCase() === key.toLowerCase(),
            );
            for (const scope of same) await erase({ ...input, key: scope });
            return erase(input);
          },
        })),
    },
    {
      id: "erasing/encoded-key",
      flaw: "Encodes the key as for a URL when it erases, and not when it writes.",
      kills: { "erasing/similar-keys": "left" },
      spares: ["maintenance/round-trip", "partitions/opaque-keys"],
      provider: (provider) =>
        withMaintenance(provider, ({ erase }) => ({
          erase: (input) => erase({ ...input, key: encodeURIComponent(input.key) }),
        })),
    },
  ],
});
