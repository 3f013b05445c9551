/**
 * The first check. Everything else waits for it, because an absence proves nothing about a provider that remembers
 * nothing: one that does nothing, echoes, throws, accepts everything or shares one store fails here and passes no MUST.
 */
import type { Clock } from "@keepsake/core";
import { unwatched } from "../backends/file-faults.ts";
import { type Check, defineCheck } from "../check.ts";
import { defineFamily, type Family } from "../family.ts";
import { processRecordStore } from "../reference/process-store.ts";
import { referenceProvider } from "../reference/provider.ts";
import type { RecordStore } from "../reference/record-store.ts";

let own: RecordStore | undefined;

/** One for all instances, as a backend would be. */
function ownStore(clock: Clock): RecordStore {
  own ??= processRecordStore(clock);
  return own;
}

export const remembers: Check = defineCheck({
  id: "remembering/first",
  clause: "MEM-REM-01",
  title: "Two people each find what they told, in a later session, and not what the other told",
  reasons: {
    "no-way-to-write":
      "There is neither capture nor a tool that saves, or the tool has an unusual name: see tools.save.",
    forgotten:
      "Writing does not reach the store, or recall does not read it. Where a backend finds by meaning, look at its stand-in.",
    "other-memory":
      "Everybody shares one store: memory.scope.key is not part of the query, or the scope of another call is used.",
    "unknown-tool": "The name is misspelled, or the tool is offered only sometimes.",
    "backend-unused": "What create is given as backend is not passed on: its url, root, host and port.",
    "backend-unseen":
      "Its files are written by native code of its own, past node:fs and node:sqlite: the kit can neither see nor break it.",
  },
  async run(bench, fail) {
    const handle = await bench.open(); // what making it throws is more to the point than what it lacks
    const { facts } = bench;
    if (facts.unknownTools.length > 0)
      fail(
        "unknown-tool",
        `The subject names tools in ${facts.unknownTools.join(", ")}; offered are: ${named(facts.tools)}.`,
      );
    const [path] = bench.writePaths;
    if (path === undefined)
      fail("no-way-to-write", `There was no way to write to it. Its tools are: ${named(facts.tools)}.`);
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [tea, bees] = [bench.canary(), bench.canary()];
    await ann.recalls(tea.query); // nobody has told it anything yet
    await ann.write(tea.text);
    await ben.write(bees.text);
    const [annRecalls, benRecalls] = [await ann.recalls(tea.query), await ben.recalls(bees.query)];
    const [annOfBees, benOfTea] = [await ann.recalls(bees.query), await ben.recalls(tea.query)];
    if (`${annRecalls}${annOfBees}`.includes(bees.word) || `${benRecalls}${benOfTea}`.includes(tea.word))
      fail("other-memory", "One recalled what the other wrote.");
    const way = path === "tool" ? `by the tool "${facts.saveTool}"` : `by ${path}`;
    if (!annRecalls.includes(tea.word)) fail("forgotten", `What was written ${way} was not recalled in a new session.`);
    if (!benRecalls.includes(bees.word)) fail("forgotten", `What a second person wrote ${way} was not recalled.`);
    if (facts.backend === "none" || bench.backend.observed().length > 0) return;
    if (await bench.holds(tea.word)) fail("backend-unseen", "Its backend holds what it was told, and was never asked.");
    fail("backend-unused", "It remembered, and its backend was never asked.");
  },
});

function named(tools: readonly string[]): string {
  return tools.length === 0 ? "none" : tools.join(", ");
}

export const remembering: Family = defineFamily({
  name: "remembering",
  clauses: [
    {
      id: "MEM-REM-01",
      level: "MUST",
      profile: "base",
      sentence: "What was written in a scope is recalled in a later session of that scope, and in no other scope.",
      source: "P1, P4, K5",
    },
  ],
  checks: [remembers],
  mutants: [
    {
      id: "remembering/does-nothing",
      flaw: "Recalls nothing, captures nothing, offers no tools.",
      kills: { "remembering/first": "no-way-to-write" },
      spares: [],
      provider: () => ({ recall: { "turn.started": () => null } }),
    },
    {
      id: "remembering/echoes",
      flaw: "Recalls what the turn itself says.",
      kills: { "remembering/first": "forgotten" },
      spares: [],
      provider: (provider) => ({
        recall: { "turn.started": ({ turn }) => ({ messages: [{ id: "echo", content: JSON.stringify(turn.input) }] }) },
        ...(provider.capture === undefined ? {} : { capture: { "turn.completed": () => {} } }),
      }),
    },
    {
      id: "remembering/always-throws",
      flaw: "Fails every call.",
      kills: { "remembering/first": "threw" },
      spares: [],
      provider: () => {
        const fail = (): never => {
          throw new Error("always");
        };
        return { recall: { "turn.started": fail }, capture: { "turn.completed": fail } };
      },
    },
    {
      id: "remembering/accepts-everything",
      flaw: "Says that it saved, whatever it was given, and recalls an empty frame.",
      kills: { "remembering/first": "forgotten" },
      spares: [],
      provider: (provider) => ({
        ...provider,
        recall: { "turn.started": () => ({ messages: [{ id: "frame", content: "Stored data: nothing yet." }] }) },
        capture: { "turn.completed": () => {} },
      }),
    },
    {
      id: "remembering/shares-one-store",
      flaw: "Keeps everybody's memory in one partition.",
      kills: { "remembering/first": "other-memory" },
      spares: [],
      parts: () => ({ partition: () => "everybody" }),
    },
    {
      id: "remembering/reads-the-last-written",
      flaw: "Keeps the scope of the last write in a field, and reads that one, whoever asks.",
      kills: { "remembering/first": "other-memory" },
      spares: [],
      store: (store) => {
        let last: string | undefined;
        return {
          ...store,
          put: (scope, record, signal) => {
            last = scope;
            return store.put(scope, record, signal);
          },
          list: (scope, signal) => store.list(last ?? scope, signal),
        };
      },
    },
    {
      id: "remembering/misnamed-tool",
      flaw: "Its subject names a tool that it does not offer.",
      kills: { "remembering/first": "unknown-tool" },
      spares: [],
      subject: () => ({ tools: { forget: "forget_memories" } }),
    },
    {
      id: "remembering/never-asks-its-backend",
      flaw: "Keeps everything in the process, whatever backend it is given.",
      kills: { "remembering/first": "backend-unused" },
      spares: [],
      provider: (_, options) => referenceProvider({ ...options, store: ownStore(options.clock) }),
    },
    {
      id: "remembering/past-node",
      flaw: "Writes its files by a program of its own.",
      kills: { "remembering/first": "backend-unseen" },
      spares: [],
      backend: "directory",
      store: (store) => unseen(store),
    },
  ],
});

/** As native code does: past all that is watched. */
function unseen(store: RecordStore): RecordStore {
  return {
    ...store,
    put: (scope, record, signal) => unwatched(() => store.put(scope, record, signal)),
    list: (scope, signal) => unwatched(() => store.list(scope, signal)),
    pin: (scope, operation, ids, signal) => unwatched(() => store.pin(scope, operation, ids, signal)),
  };
}
