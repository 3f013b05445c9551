/**
 * Anything, in any order: what no list of cases thinks of. Random operations run on the provider and on a model of it, a
 * set of words for each person, and afterwards both have to know the same. Real providers kept only the newest few, undid
 * a removal with the next write, or wrote where somebody else had been served last.
 */
import fc from "fast-check";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Handle } from "../drive/handle.ts";
import type { Written } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { modelMutants } from "./model-mutants.ts";

const runs = 9;
const mostOperations = 12;
/** So that no provider has to leave out any. */
const mostMemories = 8;

const randomOperations = defineCheck({
  id: "model/random-operations",
  clause: "MEM-MOD-01",
  title: "Random writes, repeats, recalls and forgets of two people, over several instances",
  reasons: {
    lost: "What was written is gone, though nobody forgot it: one of the listed operations undoes another.",
    back: "What was forgotten is there again: one of the listed operations undoes another.",
    "other-memory": "What one wrote is shown to the other: one of the listed operations remembers whom it served last.",
  },
  async run(bench, fail) {
    const paths = await recalledPaths(bench);
    if (paths.length === 0) bench.notApplicable("What is written is not recalled as it was said.");
    const property = fc.asyncProperty(sequences, (steps) => play(bench, paths, steps));
    const settings = { seed: bench.seed, numRuns: runs, examples: always.map((steps): [typeof steps] => [steps]) };
    const { failed, seed, errorInstance } = await fc.check(property, settings);
    if (!failed) return;
    if (!(errorInstance instanceof Mismatch)) throw errorInstance;
    fail(errorInstance.reason, `${errorInstance.message} Seed ${seed}: ${errorInstance.operations.join(", ")}.`);
  },
});

export const model: Family = defineFamily({
  name: "model",
  clauses: [
    {
      id: "MEM-MOD-01",
      level: "MUST",
      profile: "base",
      sentence:
        "After any sequence of operations, a person is recalled what they wrote and did not have forgotten, and nothing else.",
      source: "K13, P1, P2, P4, P10",
    },
  ],
  checks: [randomOperations],
  mutants: modelMutants,
});

/** What is done next, as far as it can be done then. */
interface Step {
  readonly who: 0 | 1;
  readonly kind: "write" | "repeat" | "recall" | "forget" | "reopen";
  readonly which: number;
}

/** One of the two is busier than the other, and shrinking leaves steps out. */
const step = fc.oneof(
  { withCrossShrink: true },
  { weight: 3, arbitrary: fc.constant(undefined) },
  {
    weight: 9,
    arbitrary: fc.record<Step>({
      who: fc.constantFrom(0, 0, 1),
      kind: fc.constantFrom("write", "write", "write", "forget", "forget", "repeat", "recall", "reopen"),
      which: fc.nat(20),
    }),
  },
);
const sequences = fc.noBias(fc.array(step, { minLength: mostOperations, maxLength: mostOperations }));

const write: Step = { who: 0, kind: "write", which: 0 };
const forgetFirst: Step = { who: 0, kind: "forget", which: 0 };
const forgetSecond: Step = { who: 0, kind: "forget", which: 1 };

/** Sequences that are tried whatever the seed: what is numbered by how many there are meets itself again. */
const always: readonly (readonly (Step | undefined)[])[] = [
  [write, write, write, forgetFirst, write, write],
  [write, write, write, forgetSecond, forgetSecond, write],
].map((steps) => Array.from({ length: mostOperations }, (_, index) => steps[index]));

class Mismatch extends Error {
  readonly reason: "lost" | "back" | "other-memory";
  readonly operations: readonly string[];

  constructor(reason: Mismatch["reason"], saw: string, operations: readonly string[]) {
    super(saw);
    this.name = "Mismatch";
    this.reason = reason;
    this.operations = operations;
  }
}

/** What somebody said, by which instance, and how it comes again. */
interface Memory {
  readonly canary: Canary;
  readonly written: Written;
  readonly by: Handle;
}

/** Somebody as they should be remembered. */
interface Expected {
  readonly name: string;
  readonly scope: string;
  readonly live: Set<Memory>;
  readonly forgotten: Set<Memory>;
}

interface Play {
  readonly bench: Bench;
  readonly paths: readonly WritePath[];
  readonly people: readonly [Expected, Expected];
  readonly operations: string[];
  handle: Handle;
}

async function play(bench: Bench, paths: readonly WritePath[], steps: readonly (Step | undefined)[]): Promise<void> {
  const newcomer = (name: string): Expected => {
    return { name, scope: bench.canary().word, live: new Set(), forgotten: new Set() };
  };
  const people = [newcomer("Ann"), newcomer("Ben")] as const;
  const current: Play = { bench, paths, people, operations: [], handle: await bench.open() };
  for (const each of steps) if (each !== undefined) await take(current, each);
  for (const someone of people) await compare(current, someone);
}

/** One step, or a write where there is nothing yet to repeat or to forget. */
async function take(current: Play, { who, kind, which }: Step): Promise<void> {
  const { bench, operations, people } = current;
  const someone = people[who];
  const person = current.handle.person({ scope: someone.scope });
  const memory = choose(current, someone, kind, which);
  if (kind === "recall") {
    operations.push(`${someone.name} recalls`);
    await compare(current, someone);
  } else if (kind === "reopen" && bench.facts.capabilities.durable === true) {
    operations.push("another instance");
    current.handle = await bench.open();
  } else if (kind === "repeat" && memory !== undefined) {
    operations.push(`${someone.name} repeats a ${someone.live.has(memory) ? "" : "forgotten "}write`);
    await person.repeat(memory.written);
  } else if (kind === "forget" && memory !== undefined) {
    const inputs = await person.forgetInputs(memory.canary, memory.written.result);
    const target = inputs.find(({ how }) => how === bench.facts.forgetHow);
    if (target === undefined) return; // the kit cannot name it
    operations.push(`${someone.name} forgets`);
    await person.call(bench.facts.forgetTool ?? "", target.input);
    someone.live.delete(memory);
    someone.forgotten.add(memory);
  } else if (someone.live.size < mostMemories) {
    const path = current.paths[which % current.paths.length] ?? "tool";
    operations.push(`${someone.name} writes by ${path}`);
    const canary = bench.canary();
    someone.live.add({ canary, written: await person.write(canary.text, { path }), by: current.handle });
  }
}

/** A memory that can be repeated or forgotten, and of which this clause says what comes of it. */
function choose(current: Play, someone: Expected, kind: Step["kind"], which: number): Memory | undefined {
  const { facts } = current.bench;
  const { live, forgotten } = someone;
  const candidates = [
    // Of what is written in other ways, it is not known whether the kit can name it.
    ...(kind === "forget" && facts.forgetHow !== undefined
      ? [...live].filter(({ written }) => written.path === facts.writePaths[0])
      : []),
    // An import has no operation. After a restart, or by a tool after a forget, other clauses ask.
    ...(kind === "repeat"
      ? [
          ...[...live].filter(({ written }) => written.path !== "import"),
          ...[...forgotten].filter(({ written }) => written.path === "capture"),
        ].filter(({ by }) => by === current.handle)
      : []),
  ];
  return candidates[which % candidates.length];
}

/** @throws Mismatch where more is remembered than should be, or less. */
async function compare({ handle, people, operations }: Play, someone: Expected): Promise<void> {
  const person = handle.person({ scope: someone.scope });
  const others = people.filter((each) => each !== someone).flatMap(({ live }) => [...live]);
  const about = [...someone.live, ...someone.forgotten, ...others].map(({ canary }) => canary.query).join(" ");
  const recalled = (await person.recalls(about)).toLowerCase();
  const isKnown = async ({ canary }: Memory): Promise<boolean> =>
    recalled.includes(canary.word) || (await person.knows(canary));
  for (const memory of someone.live) {
    if (!(await isKnown(memory)))
      throw new Mismatch("lost", "What had been written and not forgotten was not recalled.", operations);
  }
  for (const memory of someone.forgotten)
    if (recalled.includes(memory.canary.word))
      throw new Mismatch("back", "What had been forgotten was recalled.", operations);
  if (others.some(({ canary }) => recalled.includes(canary.word)))
    throw new Mismatch("other-memory", "What one had written was recalled to the other.", operations);
}

/** Ways to write whose memories are recalled as they were said. */
async function recalledPaths(bench: Bench): Promise<readonly WritePath[]> {
  const handle = await bench.open();
  const recalled: WritePath[] = [];
  for (const path of bench.writePaths) {
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text, { path });
    if (await person.knows(memory)) recalled.push(path);
  }
  return recalled;
}
