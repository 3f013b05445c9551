/**
 * An id is no permission. A forget that trusts the id alone removes other people's memories, one that says "not yours"
 * tells that they exist; and ids that a host makes, of sessions, turns and operations, are the same in two scopes.
 */
import { MemoryError, type MemoryRecallResult } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { madeUpInput } from "../drive/made-up-id.ts";
import type { Person } from "../drive/person.ts";
import { answersTo, pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withCapture, withRecall, withTool } from "../reference/changed.ts";
import type { Outcome } from "../time/kit-clock.ts";

const foreignId = defineCheck({
  id: "isolation/foreign-id",
  clause: "MEM-ISO-05",
  title: "The id of another person's memory forgets nothing, and is answered like an id that never existed",
  needs: ["forget-tool"],
  reasons: {
    removed: "The tool removes by id alone: the scope is not part of the query.",
    "told-apart": "The tool finds the record first and checks its scope afterwards, so that its answer gives it away.",
    "used-up": "Removed ids are remembered without their scope.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const tool = bench.facts.forgetTool ?? "";
    const [ann, first, second] = [bench.someone(handle), bench.canary(), bench.canary()];
    const inputs: { readonly memory: typeof first; readonly input: unknown; readonly how: string }[] = [];
    for (const memory of [first, second]) {
      const { result } = await ann.write(memory.text);
      const [named] = await ann.forgetInputs(memory, result);
      if (named !== undefined) inputs.push({ memory, ...named });
    }
    const [one, other] = inputs;
    if (bench.facts.forgetHow === undefined || one === undefined || other === undefined)
      return bench.notApplicable("No way was found to name a memory to the tool that forgets.");
    // Where ids are numbers within a scope, the higher one is nobody else's.
    const [target, rest] = numberIn(one.input) > numberIn(other.input) ? [one, other] : [other, one];
    const strangers = [bench.someone(handle), bench.someone(handle), bench.someone(handle)];
    for (const stranger of strangers) await stranger.write(bench.canary().text);
    const [ben, cal, dan] = strangers as [Person, Person, Person]; // three, just made

    const foreign = await bench.outcome(() => ben.call(tool, target.input));
    if (!(await ann.knows(target.memory)) || !(await ann.knows(rest.memory)))
      fail("removed", "A memory was gone after another person had called the tool with its id.");
    const madeUp = madeUpInput(target.input, rest.input);
    if (madeUp !== undefined && !target.how.startsWith("the text") && !target.how.startsWith("its word")) {
      const again = madeUpInput(madeUp.input, rest.input) ?? madeUp;
      const missing = described(await bench.outcome(() => cal.call(tool, madeUp.input)), madeUp.id);
      const control = described(await bench.outcome(() => dan.call(tool, again.input)), again.id);
      // What differs between two ids that never existed, such as a time, says nothing.
      if (missing === control && described(foreign, madeUp.real) !== missing)
        fail("told-apart", "The answer to another person's id was not that to an id that never existed.");
    }
    await ann.call(tool, target.input);
    if (await ann.knows(target.memory)) fail("used-up", "Its own person could not forget the memory any more.");
    if (!(await ann.knows(rest.memory))) fail("removed", "Another memory of that person was gone as well.");
  },
});

const operationIds = defineCheck({
  id: "isolation/operation-id",
  clause: "MEM-ISO-06",
  title: "Two scopes whose sessions, turns, calls and operations have the same ids are told apart",
  reasons: {
    "not-kept":
      "What was done is remembered by the ids of the host alone: the second scope's write is taken for a repeat.",
    "written-elsewhere":
      "Tools, or places to write to, are kept by the ids of the host alone: the second scope's write goes to the first one.",
    "other-scope": "What was recalled is kept by operationId alone, and answered to whoever comes with the same one.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const told = ["ann", "ben"].map((name) => ({ scope: `${name} by ${path}`, memory: bench.canary() }));
      for (const { scope, memory } of told) {
        await handle.person({ scope, session: "the session" }).write(memory.text, { path, callId: "call_0" });
      }
      const query = told.map(({ memory }) => memory.query).join(" ");
      for (const { scope, memory } of told) {
        const text = (await handle.person({ scope }).recalls(query)).toLowerCase();
        if (told.some((each) => each.memory !== memory && text.includes(each.memory.word)))
          fail(
            "written-elsewhere",
            `Of two scopes that wrote by ${path} under the same ids, one holds what the other wrote.`,
          );
      }
      for (const { scope, memory } of told) {
        const person = handle.person({ scope, session: "a later session" });
        if (bench.facts.capabilities.freshness === "previous-turn") await person.say(query);
        const { text } = await person.recall(query);
        const others = told.filter((each) => each.scope !== scope);
        if (others.some((each) => text.toLowerCase().includes(each.memory.word)))
          fail("other-scope", "Recall under one operationId showed in one scope what it had shown in another.");
        if (path === "capture" && path !== bench.writePaths[0]) continue; // it need not be recalled
        if (pathShowing([{ path: "recall", text }, ...(await answersTo(person, query))], memory.word) === undefined)
          fail("not-kept", `Of two scopes that wrote by ${path} under the same ids, one found nothing.`);
      }
    }
  },
});

const operationState = defineCheck({
  id: "isolation/operation-state",
  clause: "MEM-ISO-06",
  title:
    "Under the operationId of a recall in a scope that knew nothing, another recalls what it wrote before and since",
  reasons: {
    "as-the-first":
      "What a recall found, how much there was, or where it ended, is kept by operationId alone, and limits whoever comes with the same one.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [name, memories] = [bench.canary().word, [bench.canary(), bench.canary(), bench.canary()]];
    const known = handle.person({ scope: name });
    const query = memories.map((memory) => memory.query).join(" ");
    const shown = async (person: Person): Promise<number> => {
      if (bench.facts.capabilities.freshness === "previous-turn") await person.say(query);
      const text = (await person.recall(query)).text.toLowerCase();
      return memories.filter(({ word }) => text.includes(word)).length;
    };
    await known.write(memories[0]?.text ?? "");
    await shown(handle.person({ scope: `not ${name}`, session: "one session" }));
    for (const { text } of memories.slice(1)) await known.write(text);
    const under = await shown(handle.person({ scope: name, session: "one session" }));
    if (under < (await shown(known.again())))
      fail(
        "as-the-first",
        "After another scope had recalled under an operationId, recall under the same one showed less.",
      );
  },
});

export const isolationById: Family = defineFamily({
  name: "isolation by id",
  clauses: [
    {
      id: "MEM-ISO-05",
      level: "MUST",
      profile: "base",
      sentence:
        "An id of another scope behaves, in result and in text, exactly like an id that does not exist, and changes nothing.",
      source: "P1",
    },
    {
      id: "MEM-ISO-06",
      level: "MUST",
      profile: "base",
      sentence: "The same operationId, session, turn or call id under another scope is another operation.",
      source: "P2, E5.10",
    },
  ],
  checks: [foreignId, operationIds, operationState],
  mutants: [
    {
      id: "isolation/forgets-by-id",
      flaw: "Removes the record of an id, whosever it is.",
      kills: { "isolation/foreign-id": "removed" },
      spares: ["isolation/matrix", "isolation/operation-id"],
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", () => ({
          execute: async ({ id }: { readonly id: string }, { abortSignal }) => {
            const scopes = await store.scopes(abortSignal);
            const removals = await Promise.all(scopes.map((scope) => store.remove(scope, id, abortSignal)));
            return { removed: removals.includes(true) };
          },
        })),
    },
    {
      id: "isolation/says-not-yours",
      flaw: "Refuses an id of another scope as forbidden, and one that never existed as not found.",
      kills: { "isolation/foreign-id": "told-apart" },
      spares: ["isolation/matrix", "isolation/operation-id"],
      provider: (provider, { store }) =>
        withTool(provider, "forget_memory", (tool, { memory }) => ({
          execute: async (input: { readonly id: string }, context) => {
            for (const scope of await store.scopes(context.abortSignal)) {
              const records = await store.list(scope, context.abortSignal);
              if (scope !== memory.scope.key && records.some(({ id }) => id === input.id))
                throw new MemoryError("denied", "This memory is another person's.");
            }
            return tool.execute(input as never, context);
          },
        })),
    },
    {
      id: "isolation/uses-up-ids",
      flaw: "Does nothing for an id that it was asked to remove before, by whomever.",
      kills: { "isolation/foreign-id": "used-up" },
      spares: ["isolation/matrix", "isolation/operation-id"],
      provider: (provider) => {
        const asked = new Set<string>();
        return withTool(provider, "forget_memory", (tool) => ({
          execute: async (input: { readonly id: string }, context) => {
            if (asked.has(input.id)) return { removed: false };
            asked.add(input.id);
            return tool.execute(input as never, context);
          },
        }));
      },
    },
    {
      id: "isolation/ledger-without-scope",
      flaw: "Skips a capture whose operationId it has seen, in whichever scope.",
      kills: { "isolation/operation-id": "not-kept" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      provider: (provider) => {
        const done = new Set<string>();
        return withCapture(provider, async (capture, context) => {
          if (done.has(context.operationId)) return;
          await capture(context);
          done.add(context.operationId);
        });
      },
    },
    {
      id: "isolation/cutoff-without-scope",
      flaw: "Shows a recall that comes again no more than it showed the first time, and knows it by operationId alone.",
      kills: { "isolation/operation-state": "as-the-first" },
      spares: ["isolation/matrix", "replay/interleaved"],
      provider: (provider, { store }) => {
        const counts = new Map<string, number>();
        return withRecall(provider, async (recall, context) => {
          const present = (await store.list(context.memory.scope.key, context.abortSignal)).length;
          const count = counts.get(context.operationId) ?? present;
          counts.set(context.operationId, count);
          return count === 0 && present > 0 ? null : recall(context);
        });
      },
    },
    {
      id: "isolation/memo-without-scope",
      flaw: "Answers a recall from a memo that is keyed by operationId alone.",
      kills: { "isolation/operation-id": "other-scope" },
      spares: ["isolation/matrix", "isolation/write-paths"],
      provider: (provider) => {
        const memo = new Map<string, MemoryRecallResult>();
        return withRecall(provider, async (recall, context) => {
          const known = memo.get(context.operationId);
          if (known !== undefined) return known;
          const result = await recall(context);
          memo.set(context.operationId, result);
          return result;
        });
      },
    },
  ],
});

/** The largest number in an input; without one, minus infinity. */
function numberIn(input: unknown): number {
  const numbers = Object.values(Object(input))
    .flat()
    .filter((value) => /^\d{1,9}$/.test(String(value)));
  return Math.max(...numbers.map(Number));
}

/** How a call ended, with the id that it was about left out. */
function described(outcome: Outcome<unknown>, id: string | number): string {
  const { value, error } = { value: undefined, error: undefined, ...outcome };
  const said = outcome.state === "rejected" ? errorParts(error) : ["answered", value ?? null];
  const escaped = String(id).replace(/[^A-Za-z0-9]/g, "\\$&");
  return JSON.stringify(said).replace(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, "g"), "<id>");
}

function errorParts(error: unknown): readonly unknown[] {
  return ["threw", ...["name", "code", "message"].map((part) => Reflect.get(Object(error), part) ?? null)];
}
