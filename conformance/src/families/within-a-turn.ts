/**
 * What changes between the start of a turn and a compaction in it. A provider that keeps what a turn was told, so as to
 * say the same after a compaction, says what was forgotten meanwhile once more; one that then says nothing leaves it
 * standing, because a host keeps the earlier message.
 */
import type { MemoryRecallMessage, ModelMessage } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Turn } from "../drive/contexts.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person, Recalled } from "../drive/person.ts";
import { recordsOf } from "../drive/recalled-after.ts";
import { defineFamily, type Family } from "../family.ts";
import { withinATurnMutants } from "./within-a-turn-mutants.ts";

const reasons = {
  "still-recalled": "What the turn began with is kept, by turn, session or scope, and answered again.",
  "left-standing":
    "After a compaction it says nothing, or something under another id, and the message of the turn's start stands.",
  "loses-others": "After a compaction it takes back more than was forgotten.",
} as const;

type Reason = keyof typeof reasons;

const forgotten = defineCheck({
  id: "within-a-turn/forgotten",
  clause: "MEM-TRN-01",
  title: "A compaction comes after a memory was forgotten by the tool in the same turn",
  needs: ["forget-tool", "current"],
  reasons,
  async run(bench, fail) {
    if (bench.facts.forgetHow === undefined) bench.notApplicable("Its forget tool was not understood (tools.forget).");
    const handle = await bench.open();
    for (const compaction of await spokenAt(bench, handle)) {
      for (const others of [1, 0]) {
        const ann = bench.someone(handle);
        const told = await tellAnd(bench, ann, { others, way: (memory, saved) => byTool(ann, memory, saved) });
        await removedInATurn(ann, told, { compaction, fail });
      }
    }
  },
});

const removedElsewhere = defineCheck({
  id: "within-a-turn/removed-elsewhere",
  clause: "MEM-TRN-02",
  title: "A compaction comes after another instance forgot a memory of the turn, or an operator erased all",
  needs: ["current"],
  reasons,
  async run(bench, fail) {
    const { forgetHow, capabilities, maintenance } = bench.facts;
    const handle = await bench.open();
    const other = capabilities.durable === true ? await bench.open() : undefined;
    const ways: { readonly at: Handle; readonly others: number; readonly way: WayOf }[] = [];
    if (other !== undefined && forgetHow !== undefined) ways.push({ at: other, others: 1, way: byTool });
    if (maintenance && capabilities.erase === "immediate") {
      for (const at of other === undefined ? [handle] : [handle, other]) ways.push({ at, others: 0, way: byErase });
    }
    if (ways.length === 0) bench.notApplicable("Nothing is forgotten but by a tool of the one instance there is.");
    for (const compaction of await spokenAt(bench, handle)) {
      for (const { at, others, way } of ways) {
        const ann = bench.someone(handle);
        const elsewhere = ann.again(at);
        const told = await tellAnd(bench, ann, { others, way: (memory, saved) => way(elsewhere, memory, saved) });
        await removedInATurn(ann, told, { compaction, fail });
      }
    }
  },
});

const saved = defineCheck({
  id: "within-a-turn/saved",
  clause: "MEM-TRN-03",
  title: "A compaction comes after a memory was saved by the tool in the same turn",
  needs: ["save-tool", "current"],
  reasons: { stale: "What the turn began with is kept and answered again, although more is remembered by now." },
  async run(bench, fail) {
    const handle = await bench.open();
    const modes = await spokenAt(bench, handle);
    if (!modes.includes("in the turn")) bench.notApplicable("It recalls nothing at a compaction within a turn.");
    const [ann, memory, fresh] = [bench.someone(handle), bench.canary(), bench.canary()];
    await ann.write(memory.text);
    const query = `${memory.query} ${fresh.query}`;
    const turn = ann.begin(query);
    const first = await ann.recall(turn);
    const result = await ann.save(fresh.text, { turn });
    const after = await compacted(ann, { turn, first, result, compaction: "in the turn" });
    if (after.text.includes(fresh.word)) return;
    if (!(await ann.recalls(query)).includes(fresh.word))
      bench.notApplicable("What is saved by its tool is not recalled at once.");
    fail("stale", "After a compaction it did not recall what had been saved in the turn, as a new turn did.");
  },
});

export const withinATurn: Family = defineFamily({
  name: "within-a-turn",
  clauses: [
    {
      id: "MEM-TRN-01",
      level: "MUST",
      profile: "base",
      sentence:
        "What is recalled after a compaction does not hold what was forgotten since the turn began, and takes the place of what did.",
      source: "P8, P10, P4, E8.5, E8.7",
    },
    {
      id: "MEM-TRN-02",
      level: "MUST",
      profile: "base",
      sentence:
        "Nor does it hold what another instance forgot since the turn began, or what an erase took, and it takes the place of what did.",
      source: "P8, P10, P4, E8.5",
    },
    {
      id: "MEM-TRN-03",
      level: "MUST",
      profile: "strict",
      sentence:
        "What is recalled after a compaction holds what was saved since the turn began, as the next turn would.",
      source: "P4, E8.7",
    },
  ],
  checks: [forgotten, removedElsewhere, saved],
  mutants: withinATurnMutants,
});

/** Where a compaction happens. */
type Compaction = "in the turn" | "between turns";

/** Does what was made ready before the turn; answers what the tool did. */
type Removal = (turn: Turn) => Promise<unknown>;
type WayOf = (person: Person, memory: Canary, saved: unknown) => Promise<Removal>;

interface Told {
  readonly memory: Canary;
  readonly kept: Canary | undefined;
  readonly remove: Removal;
}

/** Compactions at which it recalls at all: where it says nothing, its messages stand until the next turn. */
async function spokenAt(bench: Bench, handle: Handle): Promise<readonly Compaction[]> {
  if (handle.provider.recall["compaction.completed"] === undefined)
    bench.notApplicable("It is not asked after a compaction.");
  const spoken: Compaction[] = [];
  for (const compaction of ["in the turn", "between turns"] as const) {
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text);
    const turn = person.begin(memory.query);
    const first = await person.recall(turn);
    if ((await compacted(person, { turn, first, compaction })).text.includes(memory.word)) spoken.push(compaction);
  }
  return spoken.length > 0 ? spoken : bench.notApplicable("It recalls nothing at a compaction.");
}

async function tellAnd(
  bench: Bench,
  person: Person,
  { others, way }: { readonly others: number; readonly way: (memory: Canary, saved: unknown) => Promise<Removal> },
): Promise<Told> {
  const memory = bench.canary();
  const kept = others > 0 ? bench.canary() : undefined;
  if (kept !== undefined) await person.write(kept.text);
  const { result } = await person.write(memory.text);
  return { memory, kept, remove: await way(memory, result) };
}

async function byTool(person: Person, memory: Canary, saved: unknown): Promise<Removal> {
  const [target] = await person.again().forgetInputs(memory, saved);
  return (turn) => person.call(person.handle.facts?.forgetTool ?? "", target?.input, { turn });
}

async function byErase(person: Person): Promise<Removal> {
  return () => person.erase();
}

/** The turn begins, the memory goes, and a compaction comes. */
async function removedInATurn(
  person: Person,
  { memory, kept, remove }: Told,
  { compaction, fail }: { readonly compaction: Compaction; readonly fail: Fail<Reason> },
): Promise<void> {
  const turn = person.begin(memory.query);
  const first = await person.recall(turn);
  if (!first.text.includes(memory.word)) fail("loses-others", "What was written was not recalled.");
  const result = await remove(turn);
  const after = await compacted(person, { turn, first, result, compaction });
  if (after.text.includes(memory.word))
    fail(
      "still-recalled",
      `After a compaction ${compaction} it recalled what had been forgotten since the turn began.`,
    );
  const standing = afterwards(first, after);
  if (standing.includes(memory.word))
    fail("left-standing", `After a compaction ${compaction} nothing took the place of what had been forgotten.`);
  if (kept !== undefined && first.text.includes(kept.word) && !standing.includes(kept.word))
    fail("loses-others", `After a compaction ${compaction}, what had not been forgotten was taken back too.`);
}

interface Compacted {
  readonly turn: Turn;
  readonly first: Recalled;
  /** What a tool of the turn answered. */
  readonly result?: unknown;
  readonly compaction: Compaction;
}

/** What is recalled after a compaction, which leaves the records first, then a summary, then the turn so far. */
async function compacted(person: Person, { turn, first, result, compaction }: Compacted): Promise<Recalled> {
  const history = [...recordsOf(first), ...summary];
  const inTurn = compaction === "in the turn";
  return person.recall(turn, {
    phase: "compaction.completed",
    messages: inTurn ? [...history, ...turn.input, ...toolMessages(result)] : history,
    standalone: !inTurn,
  });
}

/** What a host shows once the later message of an id has taken the place of the earlier one. */
function afterwards(first: Recalled, after: Recalled): string {
  const standing: MemoryRecallMessage[] = [...(first.messages ?? [])];
  for (const message of after.messages ?? []) {
    const place = standing.findIndex(({ id }) => id !== undefined && id === message.id);
    if (place >= 0) standing[place] = message;
    else standing.push(message);
  }
  return standing.map(({ content }) => content).join("\n");
}

const summary: readonly ModelMessage[] = [
  Object.assign(
    { role: "user" as const, content: "Summary of our conversation so far:" },
    { kind: "context.compaction" },
  ),
  { role: "assistant", content: "They talked." },
];

function toolMessages(result: unknown): readonly ModelMessage[] {
  const call = { toolCallId: "call-of-the-turn", toolName: "memory__tool" };
  const value = result === undefined ? null : JSON.parse(JSON.stringify(result));
  return [
    { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "json", value } }] },
  ];
}
