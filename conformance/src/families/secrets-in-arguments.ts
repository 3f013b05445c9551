/**
 * Secrets in what tools are called with. A model that was told "forget my key", and the key, puts it where the id belongs,
 * or among the tags; a ledger of what was asked for, found or not, then keeps what no write would have.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person } from "../drive/person.ts";
import { withOtherTexts, withTextsReplaced } from "../drive/secret-arguments.ts";
import { type Found, type GivenSecret, leftovers } from "../drive/secret-leftovers.ts";
import { type SecretSample, secretSamples, someSecret } from "../drive/secret-samples.ts";
import { keepsHarmless } from "../drive/secret-traces.ts";
import { fieldHolding, schemaRefuses } from "../drive/tool-input.ts";
import { defineFamily, type Family } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { argumentMutants } from "./secret-argument-mutants.ts";

const forgetting = defineCheck({
  id: "secrets/forget-argument",
  clause: "MEM-SEC-12",
  title: "The forget tool is asked for a secret instead of an id, by somebody with memories and by somebody without",
  needs: ["forget-tool"],
  reasons: {
    held: "What was to be forgotten is kept as it was asked for, such as in a ledger of calls: keep a digest, or nothing.",
    shown: "What was to be forgotten is kept, and shown by a later read.",
    "in-event": "An event names what was to be forgotten.",
    "in-error": "The tool fails with what it was asked for in its error.",
    "not-forgotten": "After it was asked for a secret, the tool does not forget what is there.",
  },
  async run(bench, fail) {
    const { ann, memory, input, tool, found } = await askedToForget(bench);
    for (const { given, left, where } of found)
      if (left !== "sent") fail(left, `The forget tool was asked for ${given.what}, and ${where}.`);
    await bench.outcome(() => ann.call(tool, input));
    if (await ann.knows(memory)) fail("not-forgotten", "Afterwards a memory was not forgotten by its own name.");
  },
});

const forgettingSent = defineCheck({
  id: "secrets/forget-argument-sent",
  clause: "MEM-SEC-13",
  title: "A secret that the forget tool is asked for does not go to the backend",
  needs: ["forget-tool", "backend"],
  reasons: {
    sent: "What the tool is asked for goes to the backend unseen, such as in the path of a DELETE, where logs keep it. No memory has a secret for an id: answer that it is not there.",
  },
  async run(bench, fail) {
    const { found } = await askedToForget(bench);
    const sent = found.find(({ left }) => left === "sent");
    if (sent !== undefined) fail("sent", `The forget tool was asked for ${sent.given.what}, and ${sent.where}.`);
  },
});

const others = defineCheck({
  id: "secrets/other-arguments",
  clause: "MEM-SEC-14",
  title: "What is saved or searched for is harmless, and another argument of the tool is a secret",
  needs: ["tools"],
  reasons: {
    held: "Only the text of a memory, or of a question, is looked at, and another argument is kept as it came.",
    sent: "An argument beside the text or the question goes to the backend unseen.",
    shown: "An argument beside the text is kept as it came, and shown by a later read.",
    "in-event": "An event names an argument of a tool.",
    "in-error": "A tool fails with an argument in its error.",
    "neighbour-lost": "After a call with a secret, a harmless text is not kept.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    await ann.write(memory.text);
    const given: Argument[] = [];
    for (const place of await placesBeside(ann, memory)) given.push(...(await takenBy(ann, place)));
    if (given.length === 0)
      bench.notApplicable("Its tools take no other text than what they save, search for, or forget.");
    const outcomes = await calledWith(bench, ann, given);
    const readers = [{ person: ann, query: memory.query }];
    const [found] = await leftovers(bench, { handle, given, outcomes, readers });
    if (found !== undefined) fail(found.left, `The tool was called with ${found.given.what}, and ${found.where}.`);
    const path = bench.facts.saveTool === undefined ? (bench.writePaths[0] ?? "capture") : "tool";
    if (!(await keepsHarmless(bench, handle, path))) fail("neighbour-lost", "Afterwards a harmless text was not kept.");
  },
});

export const secretsInArguments: Family = defineFamily({
  name: "secrets in arguments",
  clauses: [
    {
      id: "MEM-SEC-12",
      level: "MUST",
      profile: "strict",
      sentence: "No secret that a forget tool is asked for is kept, shown later, or told in an event or an error.",
      source: "C10, C7, C8",
    },
    {
      id: "MEM-SEC-13",
      level: "SHOULD",
      profile: "strict",
      sentence:
        "A secret that a forget tool is asked for is not sent. (C10 names writes and queries; an id that is only handed on is arguably neither.)",
      source: "C10",
    },
    {
      id: "MEM-SEC-14",
      level: "MUST",
      profile: "strict",
      sentence:
        "A secret in any argument of a tool that saves or searches is not stored, sent, shown later, or told in an event or an error.",
      source: "C10, C7, C8",
    },
  ],
  checks: [forgetting, forgettingSent, others],
  mutants: argumentMutants,
});

interface Argument extends GivenSecret {
  readonly tool: string;
  readonly input: unknown;
}

interface Place {
  readonly tool: string;
  /** The input with this text in it, once for each argument that takes one. */
  readonly inputs: (text: string) => readonly unknown[];
  readonly secrets: readonly SecretSample[];
}

/** Secrets as they are, and one within something that looks like an id. */
function asIds(secrets: readonly SecretSample[], numbered: number): readonly SecretSample[] {
  const { text, core } = someSecret(numbered);
  return [...secrets, { kind: "an id that holds a GitHub token", text: `notes/${text}/7`, core }];
}

interface AskedToForget {
  readonly ann: Person;
  readonly memory: Canary;
  readonly tool: string;
  /** What makes it forget the memory. */
  readonly input: unknown;
  readonly found: readonly Found<Argument>[];
}

async function askedToForget(bench: Bench): Promise<AskedToForget> {
  if (bench.facts.forgetHow === undefined) bench.notApplicable("It could not be made to forget.");
  const tool = bench.facts.forgetTool ?? "";
  const handle: Handle = await bench.open();
  const [ann, nobody, memory] = [bench.someone(handle), bench.someone(handle), bench.canary()];
  const { result } = await ann.write(memory.text);
  const [target] = await ann.forgetInputs(memory, result);
  const input = target?.input;
  if (withTextsReplaced(input, "").length === 0) bench.notApplicable("Its forget tool takes no text.");
  const inputs = (text: string): readonly unknown[] => withTextsReplaced(input, text);
  const byAnn = await takenBy(ann, { tool, inputs, secrets: asIds(secretSamples, 100) });
  const byNobody = await takenBy(nobody, { tool, inputs, secrets: asIds([someSecret(101)], 102) });
  if (byAnn.length === 0) bench.notApplicable("The schema of its forget tool lets no such text through.");
  const outcomes = [...(await calledWith(bench, ann, byAnn)), ...(await calledWith(bench, nobody, byNobody))];
  const readers = [ann, nobody].map((person) => ({ person, query: memory.query }));
  const found = await leftovers(bench, { handle, given: [...byAnn, ...byNobody], outcomes, readers });
  return { ann, memory, tool, input, found };
}

/** Arguments beside the text that a tool saves, and beside the question of one that searches. */
async function placesBeside(person: Person, { text, query }: Canary): Promise<readonly Place[]> {
  const tools = await person.toolset();
  const { save, search } = person.handle.guess(tools);
  const uses = [
    { use: save, value: `${text} Tea.`, numbered: 110 },
    { use: search, value: query, numbered: 120 },
  ];
  return uses.flatMap(({ use, value, numbered }) => {
    if (use === undefined) return [];
    const input = use.input(value);
    const except = fieldHolding(input, value);
    const schema = tools[use.name]?.inputSchema;
    const inputs = (secret: string): readonly unknown[] => withOtherTexts(schema, input, { text: secret, except });
    return [{ tool: use.name, inputs, secrets: asIds([someSecret(numbered)], numbered + 1) }];
  });
}

/** Those that a host lets through to the tool: none that its own schema turns down. */
async function takenBy(person: Person, { tool, inputs, secrets }: Place): Promise<readonly Argument[]> {
  const offered = (await person.toolset())[tool];
  const taken: Argument[] = [];
  for (const { kind, text, core } of secrets) {
    for (const input of inputs(text)) {
      if (offered !== undefined && (await schemaRefuses(offered, input))) continue;
      taken.push({ what: kind, core, tool, input });
    }
  }
  return taken;
}

async function calledWith(
  bench: Bench,
  person: Person,
  calls: readonly Argument[],
): Promise<readonly Outcome<unknown>[]> {
  const outcomes: Outcome<unknown>[] = [];
  for (const { tool, input } of calls) outcomes.push(await bench.outcome(() => person.call(tool, input)));
  return outcomes;
}
