/** A cursor says where a list goes on, not whose it is. One that carries its scope, and is believed, is a key to it. */
import { MemoryError } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { recordsOfAll, withMaintenance } from "../reference/changed.ts";

/** More than any of them has records. */
const mostPages = 8;

const cursor = defineCheck({
  id: "isolation/cursor",
  clause: "MEM-ISO-09",
  title: "The cursor of one person's list, given with another's key, shows nothing of the first one's",
  needs: ["maintenance"],
  reasons: {
    "other-scope":
      "The cursor tells whose list it is, or a place among everybody's records: the key that is asked for has to decide.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const own = [bench.canary(), bench.canary(), bench.canary()];
    const others = [bench.canary(), bench.canary(), bench.canary()];
    for (const { text } of own) await ann.write(text);
    for (const { text } of others) await ben.write(text);
    for (const [owner, reader, hidden] of [
      [ann, ben, own],
      [ben, ann, others],
    ] as const) {
      const shown = (records: readonly unknown[]): boolean => {
        const text = JSON.stringify(records).toLowerCase();
        return hidden.some(({ word }) => text.includes(word));
      };
      const rest = await pagesFrom(owner, (await pageOf(owner)).cursor ?? notPaged());
      if (!shown(rest)) bench.notApplicable("The later pages of a list did not show what was written.");
      // Not that one again: a cursor may be good for one page.
      const foreign = (await pageOf(owner)).cursor ?? notPaged();
      const outcome = await bench.outcome(() => pagesFrom(reader, foreign));
      if (outcome.state === "fulfilled" && shown(outcome.value))
        fail("other-scope", "A list that was asked for with one key and another's cursor showed that other's memory.");
    }

    function notPaged(): never {
      return bench.notApplicable("A list of three memories in pages of one had no second page.");
    }
  },
});

export const isolationByCursor: Family = defineFamily({
  name: "isolation by cursor",
  clauses: [
    {
      id: "MEM-ISO-09",
      level: "MUST",
      profile: "base",
      sentence: "list() gives memory of the key that it is asked for only, whichever cursor comes with it.",
      source: "P1, P15",
    },
  ],
  checks: [cursor],
  mutants: [
    {
      id: "isolation/cursor-with-scope",
      flaw: "Writes the key into its cursors, and goes on with the list of that key.",
      kills: { "isolation/cursor": "other-scope" },
      spares: ["maintenance/list", "maintenance/bad-input"],
      provider: (provider) =>
        withMaintenance(provider, ({ list }) => ({
          list: async ({ key: asked, cursor: given, ...input }) => {
            const [, key = asked, at] = given === undefined ? [] : (/^(.*) (\S+)$/s.exec(given) ?? badCursor());
            const page = await list({ ...input, key, ...(at === undefined ? {} : { cursor: at }) });
            return page.cursor === undefined ? page : { ...page, cursor: `${key} ${page.cursor}` };
          },
        })),
    },
    {
      id: "isolation/cursor-among-all",
      flaw: "Looks for the key on the first page only: a cursor is a place among the records of everybody.",
      kills: { "isolation/cursor": "other-scope" },
      spares: ["isolation/matrix", "maintenance/bad-input"],
      provider: (provider, { store }) =>
        withMaintenance(provider, ({ list }) => ({
          list: async (input) => {
            if (input.cursor === undefined) return list(input);
            const all = await recordsOfAll(store, new AbortController().signal);
            const start = all.findIndex(({ id }) => id === input.cursor) + 1;
            if (start === 0) badCursor();
            const page = all.slice(start, start + (input.limit ?? 100));
            const last = page.at(-1);
            return {
              records: page.map(({ id, text }) => ({ type: "memory", id, text })),
              ...(last === undefined || start + page.length === all.length ? {} : { cursor: last.id }),
            };
          },
        })),
    },
  ],
});

async function pageOf(person: Person, from?: string) {
  const at = from === undefined ? {} : { cursor: from };
  return person.maintain("list", ({ list }, key) => list({ key, limit: 1, ...at }));
}

/** All records from a cursor on. */
async function pagesFrom(person: Person, from: string): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  let at = from;
  for (let pages = 0; pages < mostPages; pages += 1) {
    const page = await pageOf(person, at);
    records.push(...page.records);
    if (page.cursor === undefined) break;
    at = page.cursor;
  }
  return records;
}

function badCursor(): never {
  throw new MemoryError("invalid_input", "The cursor is not one of this list.");
}
