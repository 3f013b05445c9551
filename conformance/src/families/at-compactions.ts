/**
 * A host calls a provider around a compaction too, by handlers of their own. Who writes them later, or elsewhere, forgets
 * in them what the others take care of: whose memory it is, what a secret is, that a backend can fail, and that a caller leaves.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { abortReason, isAbort } from "../drive/abort.ts";
import type { Canary } from "../drive/canary.ts";
import { attempt, plainFaults, recover } from "../drive/faulting.ts";
import type { Handle } from "../drive/handle.ts";
import type { Person, Recalled } from "../drive/person.ts";
import { someSecret } from "../drive/secret-samples.ts";
import { traceOf } from "../drive/secret-traces.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { compactionMutants } from "./compaction-mutants.ts";

const isolated = defineCheck({
  id: "at-compactions/isolated",
  clause: "MEM-CPT-01",
  title: "What two people say before a compaction, and are recalled after it, is their own",
  reasons: {
    "other-memory": "The handlers of compactions have another idea of the scope than the others.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const told = [bench.someone(handle), bench.someone(handle)].map((person) => ({ person, memory: bench.canary() }));
    for (const { person, memory } of told)
      await (captures(handle) ? captureBefore(person, memory.text) : person.write(memory.text));
    for (const { person } of told) {
      const [other] = told.filter((each) => each.person !== person);
      if (other === undefined) continue;
      const after = await recallAfter(person, other.memory);
      const readings = [...(await person.readings(other.memory.query)), { path: "recall", text: after.text }];
      const path = pathShowing(readings, other.memory.word);
      if (path !== undefined) fail("other-memory", `Its ${path} showed, around a compaction, what another had said.`);
    }
  },
});

const secrets = defineCheck({
  id: "at-compactions/secrets",
  clause: "MEM-CPT-02",
  title: "A secret that is said before a compaction is not stored or sent, nor one that is asked about after it",
  reasons: {
    stored: "What is captured before a compaction is not looked at.",
    sent: "What is recalled by after a compaction is not looked at.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const [said, asked] = [someSecret(30), someSecret(31)];
    if (captures(handle)) {
      await bench.outcome(() => captureBefore(ann, `${memory.text} The key is ${said.text}`));
      const where = await traceOf(bench, ann, said.core, memory.query);
      if (where !== undefined) fail("stored", `A secret said before a compaction was found in ${where}.`);
    }
    await recallAfter(ann, { ...memory, query: `${memory.query} My key is ${asked.text}.` });
    if (bench.facts.backend !== "none" && bench.wasSent(asked.core))
      fail("sent", "After a compaction the backend was sent a secret.");
  },
});

const faulty = defineCheck({
  id: "at-compactions/faults",
  clause: "MEM-CPT-03",
  title: "Under each fault, capture before a compaction and recall after it reject, or have worked",
  needs: ["backend", "current"],
  reasons: {
    swallowed: "A failure is caught around a compaction, as if there were nothing to take or to show.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const keeps = captures(handle) && (await isKept(bench, handle));
    const speaks = await isRecalled(bench, handle);
    if (!keeps && !speaks) bench.notApplicable("It neither captures before a compaction nor recalls after it.");
    for (const fault of plainFaults(bench)) {
      const [ann, kept, memory] = [bench.someone(handle), bench.canary(), bench.canary()];
      await ann.write(kept.text);
      bench.backend.inject(fault);
      const recalling = speaks ? await attempt(bench, () => recallAfter(ann, kept)) : undefined;
      const capturing = keeps ? await attempt(bench, () => captureBefore(ann, memory.text)) : undefined;
      await recover(bench);
      if (recalling?.state === "fulfilled" && !recalling.value.text.includes(kept.word))
        fail("swallowed", `Under "${fault.name}", recall after a compaction did not fail and showed nothing.`);
      if (capturing?.state === "fulfilled" && !(await ann.knows(memory)))
        fail("swallowed", `Under "${fault.name}", capture before a compaction did not fail and kept nothing.`);
    }
  },
});

const aborted = defineCheck({
  id: "at-compactions/aborted",
  clause: "MEM-CPT-04",
  title: "Aborted beforehand, capture before a compaction and recall after it reject, and send nothing",
  needs: ["backend", "current"],
  reasons: {
    ran: "The handlers of compactions do not look at the signal.",
    "other-error": "The abort is turned into an error of the provider's, which a host takes for a failure.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    const signal = AbortSignal.abort(abortReason);
    const calls = {
      recall: (await isRecalled(bench, handle)) ? () => recallAfter(ann, memory, signal) : undefined,
      capture:
        captures(handle) && (await isKept(bench, handle)) ? () => captureBefore(ann, memory.text, signal) : undefined,
    };
    for (const [name, call] of Object.entries(calls)) {
      if (call === undefined) continue;
      const seen = bench.backend.observed().length;
      const outcome = await bench.outcome<unknown>(call);
      if (outcome.state !== "rejected" || bench.backend.observed().length > seen)
        return fail("ran", `The ${name} at a compaction went on, although it was aborted before.`);
      if (!isAbort(outcome.error))
        fail("other-error", `The ${name} at a compaction rejected with neither the reason nor an AbortError.`);
    }
  },
});

const must = { level: "MUST", profile: "base" } as const;

export const atCompactions: Family = defineFamily({
  name: "at compactions",
  clauses: [
    {
      ...must,
      id: "MEM-CPT-01",
      sentence: "Around a compaction, too, each scope is captured and recalled by itself.",
      source: "P1",
    },
    {
      ...must,
      profile: "strict",
      id: "MEM-CPT-02",
      sentence: "Around a compaction, too, no secret is stored or sent.",
      source: "C10",
    },
    {
      ...must,
      id: "MEM-CPT-03",
      sentence: "Around a compaction, too, an operation that its backend failed rejects.",
      source: "P4, K7",
    },
    {
      ...must,
      id: "MEM-CPT-04",
      sentence: "Around a compaction, too, an operation that was aborted beforehand rejects and sends nothing.",
      source: "P5",
    },
  ],
  checks: [isolated, secrets, faulty, aborted],
  mutants: compactionMutants,
});

function captures({ provider }: Handle): boolean {
  return typeof provider.capture?.["compaction.requested"] === "function";
}

async function captureBefore(person: Person, text: string, signal?: AbortSignal): Promise<void> {
  const turn = person.begin(text);
  await person.capture(turn, {
    phase: "compaction.requested",
    messages: turn.input,
    ...(signal === undefined ? {} : { signal }),
  });
}

/** With nothing of what was shown before: a compaction took that away. */
function recallAfter(person: Person, { query }: Canary, signal?: AbortSignal): Promise<Recalled> {
  const turn = person.begin(query);
  return person.recall(turn, {
    phase: "compaction.completed",
    messages: turn.input,
    ...(signal === undefined ? {} : { signal }),
  });
}

async function isKept(bench: Bench, handle: Handle): Promise<boolean> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await captureBefore(person, memory.text);
  return person.knows(memory);
}

async function isRecalled(bench: Bench, handle: Handle): Promise<boolean> {
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.write(memory.text);
  return (await recallAfter(person, memory)).text.includes(memory.word);
}
