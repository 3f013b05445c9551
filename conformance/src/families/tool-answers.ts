/**
 * What a tool answers goes to a model, as JSON: a Map, a bigint or a stream fails a call that was done, and an answer that
 * says nothing lets the model believe what it likes.
 */
import { defineCheck } from "../check.ts";
import { isJson } from "../drive/json.ts";
import { defineFamily, type Family } from "../family.ts";
import { withTool } from "../reference/changed.ts";

const jsonResults = defineCheck({
  id: "tool-answers/json",
  clause: "MEM-TOL-08",
  title: "What tools answer can be sent as JSON",
  needs: ["tools"],
  reasons: {
    "not-json": "JSON cannot hold it: a Map, a bigint, a cycle, a stream. A host fails the call, although it was done.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const { save, search, forget } = handle.guess(await ann.toolset());
    const check = (name: string | undefined, result: unknown): void => {
      if (!isJson(result)) fail("not-json", `What the tool "${name}" answered is no JSON.`);
    };
    const saved = save === undefined ? undefined : await ann.save(memory.text);
    check(save?.name, saved);
    if (save !== undefined) check(save.name, await ann.save(memory.text));
    if (save === undefined) await ann.write(memory.text);
    if (search !== undefined) check(search.name, await ann.search(memory.query));
    if (forget === undefined || bench.facts.forgetHow === undefined) return;
    const [named] = await ann.forgetInputs(memory, saved);
    check(forget.name, await ann.call(forget.name, named?.input));
    const second = await bench.outcome(() => ann.call(forget.name, named?.input));
    if (second.state === "fulfilled") check(forget.name, second.value);
  },
});

const saysWhatHappened = defineCheck({
  id: "tool-answers/what-happened",
  clause: "MEM-TOL-09",
  title: "A save says whether it saved, and a forget says whether there was anything to forget",
  needs: ["save-tool"],
  reasons: {
    "silent-save": "The model cannot tell a save from one that came to nothing.",
    "silent-forget": "The model cannot tell a removal from an id that was wrong.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const { forget } = handle.guess(await ann.toolset());
    const saved = await ann.save(memory.text);
    if (!/saved|stored|added|creat|remember|duplicate|pending|queued/i.test(JSON.stringify(saved) ?? ""))
      fail("silent-save", "The answer to a save did not say what became of it.");
    if (forget === undefined || bench.facts.forgetHow === undefined || !(await ann.knows(memory))) return;
    const [named] = await ann.forgetInputs(memory, saved);
    const removed = JSON.stringify(await ann.call(forget.name, named?.input)) ?? "";
    const missing = await bench.outcome(() => ann.call(forget.name, named?.input));
    const said = missing.state === "fulfilled" ? (JSON.stringify(missing.value) ?? "") : "an error";
    if (removed === "" || removed === "null" || removed === said)
      fail("silent-forget", "A forget answered the same for what was there and for what was not.");
  },
});

export const toolAnswers: Family = defineFamily({
  name: "tool answers",
  clauses: [
    {
      id: "MEM-TOL-08",
      level: "MUST",
      profile: "base",
      sentence: "Tools answer what JSON can hold, or nothing.",
      source: "P12, E9.6",
    },
    {
      id: "MEM-TOL-09",
      level: "SHOULD",
      profile: "strict",
      sentence: "A save says what became of it, and a forget whether there was something to remove.",
      source: "P12",
    },
  ],
  checks: [jsonResults, saysWhatHappened],
  mutants: [
    {
      id: "tool-answers/map",
      flaw: "Answers a search with a Map.",
      kills: { "tool-answers/json": "not-json" },
      spares: ["tool-maps/repeated", "tool-maps/names"],
      provider: (provider) =>
        withTool(provider, "search_memories", () => ({ execute: async () => new Map([["matches", []]]) })),
    },
    {
      id: "tool-answers/silent",
      flaw: "Saves without a word.",
      kills: { "tool-answers/what-happened": "silent-save" },
      spares: ["tool-answers/json", "tool-maps/locked-scope"],
      provider: (provider) =>
        withTool(provider, "save_memory", (tool) => ({
          execute: async (input, context) => void (await tool.execute(input, context)),
        })),
    },
    {
      id: "tool-answers/always-removed",
      flaw: "Says that it removed, whether or not there was anything.",
      kills: { "tool-answers/what-happened": "silent-forget", "forgetting/missing": "says-removed" },
      spares: ["tool-answers/json", "forgetting/gone"],
      provider: (provider) =>
        withTool(provider, "forget_memory", (tool) => ({
          execute: async (input, context) => {
            await tool.execute(input, context);
            return { removed: true };
          },
        })),
    },
  ],
});
