/**
 * A model fills in whatever a tool has a field for, and text that somebody planted tells it what. So no field names a
 * person, an argument that nobody declared changes nothing, and input that is none is refused and not stored as
 * "[object Object]".
 */
import type { MemoryTool } from "@keepsake/core";
import { z } from "zod";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Person } from "../drive/person.ts";
import { jsonSchemaOf } from "../drive/schema-input.ts";
import { pathShowing } from "../drive/shown.ts";
import { declaredNames, fieldHolding, schemaRefuses, without } from "../drive/tool-input.ts";
import { defineFamily, type Family } from "../family.ts";
import { pointedBy, withTool } from "../reference/changed.ts";

const scopeNames =
  /^(?:scope|tenant|user|namespace|owner|account|partition|principal|container)(?:s|_?tags?|_?ids?|_?keys?|_?names?)?$/i;

const noScopeField = defineCheck({
  id: "tools/no-scope-field",
  clause: "MEM-TOL-01",
  title: "No tool's schema has a field for a scope, a tenant or a user",
  needs: ["tools"],
  reasons: {
    "scope-field": "The model chooses whose memory it is. Take it from memory.scope.key when the tools are made.",
  },
  async run(bench, fail) {
    const tools = await bench.someone(await bench.open()).toolset();
    for (const [name, { inputSchema }] of Object.entries(tools)) {
      const field = declaredNames(jsonSchemaOf(inputSchema)).find((each) => scopeNames.test(each));
      if (field !== undefined) fail("scope-field", `The tool "${name}" has a field "${field}".`);
    }
  },
});

const argumentNames = [
  ...["scope", "scopeKey", "scope_key", "userId", "user_id", "user", "tenant", "tenantId", "tenant_id"],
  ...["namespace", "owner", "ownerId", "account", "accountId", "partition", "containerTag", "container_tags"],
];

const extraArguments = defineCheck({
  id: "tools/extra-arguments",
  clause: "MEM-TOL-02",
  title: "Arguments that no schema declares do not decide whose memory is written, found or forgotten",
  needs: ["save-tool"],
  reasons: {
    "wrote-elsewhere": "What the model added to the input decides where it is written.",
    "read-elsewhere": "What the model added to the input decides where it is searched.",
    "removed-elsewhere": "What the model added to the input decides where it is removed.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const { save, search, forget } = handle.guess(await ann.toolset());
    const kept = bench.canary();
    const { result } = await ben.write(kept.text);
    for (const pointing of [ben.key, String(ben.memory.scope.value)]) {
      const memory = bench.canary();
      const saving = await bench.outcome(() => callPointing(ann, save?.name ?? "", save?.input(memory.text), pointing));
      if (pathShowing(await ben.readings(memory.query), memory.word) !== undefined)
        fail("wrote-elsewhere", "An added argument put what one person saved into another's memory.");
      if (saving.state === "fulfilled" && !saysNo(saving.value) && !(await isFound(ann, memory)))
        fail("wrote-elsewhere", "With an added argument, what was saved was not found by who saved it.");
      if (search !== undefined) {
        const found = await bench.outcome(() => callPointing(ann, search.name, search.input(kept.query), pointing));
        const shown = found.state === "fulfilled" ? (JSON.stringify(found.value) ?? "") : "";
        if (shown.includes(kept.word)) fail("read-elsewhere", "An added argument found another person's memory.");
      }
      if (forget === undefined) continue;
      const [named] = await ben.forgetInputs(kept, result);
      await bench.outcome(() => callPointing(ann, forget.name, named?.input, pointing));
      if (!(await ben.knows(kept))) fail("removed-elsewhere", "An added argument removed another person's memory.");
    }
  },
});

const unknownArguments = defineCheck({
  id: "tools/unknown-arguments",
  clause: "MEM-TOL-03",
  title: "An argument that the schema does not declare is refused",
  needs: ["save-tool"],
  reasons: {
    accepted: "The schema is an open object: make it strict, so that the model learns what there is not.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const tools = await ann.toolset();
    const { save, search } = handle.guess(tools);
    for (const use of [save, search]) {
      const tool = use === undefined ? undefined : tools[use.name];
      if (use === undefined || tool === undefined) continue;
      const good = use.input(bench.canary().text);
      const input = { ...Object(good), kitUnknown: "x" };
      if (await schemaRefuses(tool, good)) bench.untestable(`The kit's input does not fit the tool "${use.name}".`);
      if (await isRefused(bench, ann, { tool, name: use.name, input })) continue;
      fail("accepted", `The tool "${use.name}" took an argument that it does not declare.`);
    }
  },
});

const badInput = defineCheck({
  id: "tools/bad-input",
  clause: "MEM-TOL-04",
  title:
    "A save without text, with a wrong kind of value or with nothing in it is refused, stores nothing and breaks nothing",
  needs: ["save-tool"],
  reasons: {
    accepted: "Input is not validated, neither by the schema nor by the tool.",
    stored: "What is no text is made into one.",
    broken: "A failed call blocks the next, as in a queue that hands its error on.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const tools = await ann.toolset();
    const { save } = handle.guess(tools);
    const [hidden, good] = [bench.canary(), bench.canary()];
    const input = save?.input(good.text);
    const field = fieldHolding(input, good.text);
    const tool = save === undefined ? undefined : tools[save.name];
    if (save === undefined || tool === undefined || field === undefined)
      return bench.notApplicable("The kit cannot tell which field of the tool takes the text.");
    const bad = {
      "no text": without(input, field),
      "an object as text": { ...Object(input), [field]: { [hidden.word]: hidden.text } },
      "empty text": { ...Object(input), [field]: "" },
    };
    const accepted: string[] = [];
    for (const [what, each] of Object.entries(bad)) {
      if (!(await isRefused(bench, ann, { tool, name: save.name, input: each }))) accepted.push(what);
    }
    const shown = (await ann.readings(`${hidden.query} object undefined`)).map(({ text }) => text).join("\n");
    if (shown.toLowerCase().includes(hidden.word) || /\[object Object\]/.test(shown))
      fail("stored", "Something that is no text was stored as one.");
    if (accepted.length > 0) fail("accepted", `A save with ${accepted.join(", with ")} was not refused.`);
    const saving = await bench.outcome(() => ann.save(good.text));
    if (saving.state !== "fulfilled" || !(await isFound(ann, good)))
      fail("broken", "After input that was refused, the tool saved nothing any more.");
  },
});

export const tools: Family = defineFamily({
  name: "tools",
  clauses: [
    {
      id: "MEM-TOL-01",
      level: "MUST",
      profile: "base",
      sentence: "No tool's input has a field that names a scope, a tenant, a user or a namespace.",
      source: "P12",
    },
    {
      id: "MEM-TOL-02",
      level: "MUST",
      profile: "base",
      sentence: "Arguments that a tool's schema does not declare change nothing about whose memory the tool touches.",
      source: "P12",
    },
    {
      id: "MEM-TOL-03",
      level: "MUST",
      profile: "strict",
      sentence: "A tool refuses arguments that its schema does not declare.",
      source: "P12",
    },
    {
      id: "MEM-TOL-04",
      level: "MUST",
      profile: "base",
      sentence:
        "Input that lacks what a tool needs, or has it empty or of the wrong kind, is refused by the schema or by the tool, and stores nothing.",
      source: "P12, E7.11, E9.5",
    },
  ],
  checks: [noScopeField, extraArguments, unknownArguments, badInput],
  mutants: [
    {
      id: "tools/user-id-field",
      flaw: "The save tool has a userId, which wins over the scope.",
      kills: { "tools/no-scope-field": "scope-field" },
      spares: ["tools/bad-input", "isolation/matrix"],
      provider: (provider) =>
        pointedBy(provider, {
          name: "save_memory",
          argument: "userId",
          inputSchema: z.strictObject({ text: z.string().min(1), userId: z.string().optional() }),
        }),
    },
    {
      id: "tools/saves-where-it-is-told",
      flaw: "The save tool follows a scopeKey that its schema does not declare.",
      kills: { "tools/extra-arguments": "wrote-elsewhere", "tools/unknown-arguments": "accepted" },
      spares: ["tools/no-scope-field", "tools/bad-input"],
      provider: (provider) =>
        pointedBy(provider, { name: "save_memory", argument: "scopeKey", inputSchema: open("text") }),
    },
    {
      id: "tools/searches-where-it-is-told",
      flaw: "The search tool follows a namespace that its schema does not declare.",
      kills: { "tools/extra-arguments": "read-elsewhere" },
      spares: ["tools/no-scope-field", "tools/bad-input"],
      provider: (provider) =>
        pointedBy(provider, { name: "search_memories", argument: "namespace", inputSchema: open("query") }),
    },
    {
      id: "tools/forgets-where-it-is-told",
      flaw: "The forget tool follows an owner that its schema does not declare.",
      kills: { "tools/extra-arguments": "removed-elsewhere" },
      spares: ["tools/no-scope-field", "tools/bad-input"],
      provider: (provider) =>
        pointedBy(provider, { name: "forget_memory", argument: "owner", inputSchema: open("id") }),
    },
    {
      id: "tools/takes-anything",
      flaw: "Answers that it saved when there was nothing to save.",
      kills: { "tools/bad-input": "accepted" },
      spares: ["tools/no-scope-field", "tools/extra-arguments"],
      provider: (provider) =>
        withTool(provider, "save_memory", (tool) => ({
          inputSchema: anyText,
          execute: async ({ text }: { readonly text?: unknown }, context) =>
            typeof text === "string" && text !== "" ? tool.execute({ text } as never, context) : { saved: true },
        })),
    },
    {
      id: "tools/writes-out-objects",
      flaw: "Makes whatever it is given into text.",
      kills: { "tools/bad-input": "stored" },
      spares: ["tools/no-scope-field", "tools/extra-arguments"],
      provider: (provider) =>
        withTool(provider, "save_memory", (tool) => ({
          inputSchema: anyText,
          execute: async ({ text }: { readonly text?: unknown }, context) =>
            tool.execute({ text: typeof text === "string" ? text : JSON.stringify(text) } as never, context),
        })),
    },
    {
      id: "tools/poisoned-queue",
      flaw: "Runs saves one after another, and after one that failed none.",
      kills: { "tools/bad-input": "broken" },
      spares: ["tools/no-scope-field"],
      provider: (provider) => {
        let last: Promise<unknown> = Promise.resolve();
        return withTool(provider, "save_memory", (tool) => ({
          inputSchema: { type: "object", properties: { text: { type: "string" } } },
          execute: (input, context) => {
            last = last.then(() => tool.execute(input, context));
            return last;
          },
        }));
      },
    },
  ],
});

/** Calls a tool with all the arguments that could point to somebody else, but for those that it declares itself. */
async function callPointing(person: Person, name: string, input: unknown, pointing: string): Promise<unknown> {
  const declared = declaredNames(jsonSchemaOf((await person.toolset())[name]?.inputSchema));
  const added = argumentNames.filter((each) => !declared.includes(each)).map((each) => [each, pointing]);
  return person.call(name, { ...Object.fromEntries(added), ...Object(input) });
}

async function isRefused(
  bench: Bench,
  person: Person,
  { tool, name, input }: { readonly tool: MemoryTool; readonly name: string; readonly input: unknown },
): Promise<boolean> {
  if (await schemaRefuses(tool, input)) return true;
  const outcome = await bench.outcome(() => person.call(name, input));
  return outcome.state === "rejected" || (outcome.state === "fulfilled" && saysNo(outcome.value));
}

/** Some tools answer a refusal instead of throwing it. */
function saysNo(answer: unknown): boolean {
  if (typeof answer === "string") return /error|invalid|require|empty|missing|refuse|cannot|fail/i.test(answer);
  const said = (name: string): unknown => Reflect.get(Object(answer), name);
  return said("error") !== undefined || [said("saved"), said("ok"), said("success"), said("stored")].includes(false);
}

async function isFound(person: Person, { query, word }: Canary): Promise<boolean> {
  return pathShowing(await person.readings(query), word) !== undefined;
}

const anyText = z.looseObject({ text: z.union([z.string(), z.looseObject({})]).optional() });

function open(field: string): z.ZodType {
  return z.looseObject({ [field]: z.string().min(1) });
}
