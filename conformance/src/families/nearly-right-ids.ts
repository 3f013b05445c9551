/**
 * A model that has half of an id, or one that is long gone, asks for it all the same. A forget that compares the beginning,
 * or in any case, takes the nearest memory along, and nobody has asked for that.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { madeUpInput } from "../drive/made-up-id.ts";
import { nearlyRight, withId } from "../drive/nearly-right-id.ts";
import type { Person } from "../drive/person.ts";
import { schemaRefuses } from "../drive/tool-input.ts";
import { defineFamily, type Family } from "../family.ts";
import { withTool } from "../reference/changed.ts";
import type { Outcome } from "../time/kit-clock.ts";

/** So many that one number is the beginning of another. */
const numbered = 13;

const nearly = defineCheck({
  id: "forgetting/nearly-right-id",
  clause: "MEM-FGT-09",
  title: "The forget tool forgets nothing for an id that is nearly that of a memory",
  needs: ["forget-tool"],
  reasons: {
    "took-nearest": "Ids are compared by their beginning, without their case, or as numbers without their sign.",
    "says-removed": "The answer tells of something that is like the id, and not of what was removed.",
  },
  async run(bench, fail) {
    if (bench.facts.forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
    const tool = bench.facts.forgetTool ?? "";
    const ann = bench.someone(await bench.open());
    const named = [await writeNamed(bench, ann), await writeNamed(bench, ann)];
    const [first, second] = named;
    const real = madeUpInput(first?.input, second?.input)?.real;
    if (first === undefined || real === undefined || String(real).toLowerCase().includes(first.memory.word))
      return bench.notApplicable("Its forget tool does not go by an id.");
    const isNumber = /^\d{1,9}$/.test(String(real));
    if (isNumber) for (let more = named.length; more < numbered; more += 1) named.push(await writeNamed(bench, ann));
    const inputs = named.map(({ input }) => JSON.stringify(input));
    const tried = nearlyRight(real).map(({ id, ...rest }) => ({ ...rest, input: withId(first.input, real, id) }));
    const offered = (await ann.toolset())[tool];
    for (const { how, isSame, input } of tried) {
      // A host does not let through what the tool's own schema turns down.
      if (offered !== undefined && (await schemaRefuses(offered, input))) continue;
      if (inputs.includes(JSON.stringify(input))) continue;
      const outcome = await bench.outcome(() => ann.call(tool, input));
      const gone = await missing(ann, named);
      if (gone.some((each) => !isSame || each !== first)) fail("took-nearest", `For ${how}, a memory was gone.`);
      if (gone.length === 0 && saysRemoved(outcome))
        fail("says-removed", `For ${how}, it said that it had removed it.`);
    }
    if (!isNumber) return;
    // A number that is gone, and that others begin with: 1, while there are 10 to 12.
    const numbers = named.map((each) => ({ each, number: numberOf(each.input, first.input, real) }));
    const short = numbers.find(({ number }) =>
      numbers.some((other) => other.number !== number && other.number?.startsWith(number ?? " ")),
    );
    if (short === undefined) return;
    await ann.call(tool, short.each.input);
    const left = named.filter((each) => each !== short.each);
    const again = await bench.outcome(() => ann.call(tool, short.each.input));
    if ((await missing(ann, left)).length > 0)
      fail("took-nearest", "For a number that was gone, a memory was gone whose number begins with it.");
    if (saysRemoved(again)) fail("says-removed", "For a number that was gone, it said that it had removed it.");
  },
});

export const nearlyRightIds: Family = defineFamily({
  name: "nearly right ids",
  clauses: [
    {
      id: "MEM-FGT-09",
      level: "MUST",
      profile: "base",
      sentence:
        "An id that is like that of a memory, and is not it, forgets nothing and is not answered with `removed: true`.",
      source: "P10, E11.8",
    },
  ],
  checks: [nearly],
  mutants: [
    {
      id: "forgetting/by-prefix",
      flaw: "Forgets the memory whose id begins with what it is given.",
      kills: { "forgetting/nearly-right-id": "took-nearest" },
      spares: ["forgetting/gone", "forgetting/missing"],
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", (tool, { memory }) => ({
          execute: async ({ id }: { readonly id: string }, context) => {
            const records = await store.list(memory.scope.key, context.abortSignal);
            const found = records.find((record) => record.id.startsWith(id));
            return tool.execute({ id: found?.id ?? id } as never, context);
          },
        })),
    },
    {
      id: "forgetting/number-by-prefix",
      flaw: "Numbers its memories, and forgets the first whose number begins with what it is given where none is equal.",
      kills: { "forgetting/nearly-right-id": "took-nearest" },
      spares: ["forgetting/gone"],
      parts: () => {
        const known: string[] = [];
        return {
          recordId: (scope, operation) => {
            const name = JSON.stringify([scope, operation]);
            if (!known.includes(name)) known.push(name);
            return String(known.indexOf(name) + 1);
          },
        };
      },
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", (tool, { memory }) => ({
          execute: async ({ id }: { readonly id: string }, context) => {
            const records = await store.list(memory.scope.key, context.abortSignal);
            const found = records.find((record) => record.id === id) ?? records.find((each) => each.id.startsWith(id));
            return tool.execute({ id: found?.id ?? id } as never, context);
          },
        })),
    },
    {
      id: "forgetting/finds-by-prefix",
      flaw: "Looks by prefix whether there is such a memory, answers that it removed it, and removes by the whole id.",
      kills: { "forgetting/nearly-right-id": "says-removed" },
      spares: ["forgetting/gone", "forgetting/missing"],
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", (tool, { memory }) => ({
          execute: async (input: { readonly id: string }, context) => {
            const records = await store.list(memory.scope.key, context.abortSignal);
            await tool.execute(input as never, context);
            return { removed: records.some(({ id }) => id.startsWith(input.id)) };
          },
        })),
    },
  ],
});

interface Named {
  readonly memory: Canary;
  readonly input: unknown;
}

async function writeNamed(bench: Bench, person: Person): Promise<Named> {
  const memory = bench.canary();
  const { result } = await person.write(memory.text);
  const [target] = await person.forgetInputs(memory, result);
  return { memory, input: target?.input };
}

/** Those that are not recalled, asked for one by one where a first recall has not shown them. */
async function missing(person: Person, named: readonly Named[]): Promise<readonly Named[]> {
  const recalled = (await person.recalls(named.map(({ memory }) => memory.query).join(" "))).toLowerCase();
  const gone: Named[] = [];
  for (const each of named)
    if (!recalled.includes(each.memory.word) && !(await person.knows(each.memory))) gone.push(each);
  return gone;
}

function saysRemoved(outcome: Outcome<unknown>): boolean {
  return outcome.state === "fulfilled" && Reflect.get(Object(outcome.value), "removed") === true;
}

/** The number in an input that differs from the first one's in its number only. */
function numberOf(input: unknown, first: unknown, real: string | number): string | undefined {
  const number = input === first ? real : madeUpInput(input, first)?.real;
  return number === undefined ? undefined : String(number);
}
