/**
 * How a provider is made. Wrong options that are accepted fail at the first turn of a customer, stores at module level
 * are shared by whoever imports them, and a clock that is asked behind the back of the injected one cannot be tested.
 */
import type { Backend } from "../backend.ts";
import { defineCheck } from "../check.ts";
import { defineFamily, type Family } from "../family.ts";
import { correctParts } from "../reference/parts.ts";
import { ignoring, processRecordStore } from "../reference/process-store.ts";

const yearsMs = 40 * 365 * 24 * 3_600_000;
const ttlMs = 60_000;

const invalidOptions = defineCheck({
  id: "construction/invalid-options",
  clause: "MEM-OPT-01",
  title: "Options that cannot work are refused when the provider is made",
  needs: ["invalid-options"],
  reasons: {
    accepted: "Wrong options are taken, and fail later, or never. Check them where the provider is made.",
    "says-nothing": "What is thrown is no Error, or says nothing. Name the option and what is expected of it.",
  },
  async run(bench, fail) {
    for (const [index, attempt] of (bench.subject.invalidOptions ?? []).entries()) {
      const making = (async () => attempt())();
      const made = await bench.time.drive(making, { limitMs: 10_000, busy: bench.busy });
      if (made.state !== "rejected") return fail("accepted", `Attempt ${index + 1} of invalidOptions was accepted.`);
      const { error } = made;
      if (!(error instanceof Error) || error.message.trim() === "") {
        fail("says-nothing", `Attempt ${index + 1} of invalidOptions threw no Error with a message.`);
      }
    }
  },
});

const quiet = defineCheck({
  id: "construction/quiet",
  clause: "MEM-OPT-02",
  title: "Making a provider asks nothing of its backend and changes nothing in it",
  needs: ["backend"],
  reasons: {
    writes: "Something is written when the provider is made. Write with the first memory.",
    sends: "The backend is asked when the provider is made, before anybody needs it, and fails the start with it.",
    forgotten: "What was written afterwards is not recalled.",
  },
  async run(bench, fail) {
    const { backend } = bench;
    const [contents, asked] = [await textOf(backend), backend.observed().length];
    const handle = await bench.open();
    await bench.atOnce(new Promise(() => {})); // whatever it does without being asked, it does now
    if ((await textOf(backend)) !== contents) fail("writes", "The backend held something else than before.");
    if (backend.observed().length > asked) fail("sends", "The backend was asked something.");
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text);
    if (!(await person.knows(memory))) fail("forgotten", "What was written afterwards was not recalled.");
  },
});

const twoInstances = defineCheck({
  id: "construction/two-instances",
  clause: "MEM-OPT-03",
  title: "Two providers over two backends share nothing",
  needs: ["backend"],
  reasons: {
    shared: "A store, cache or client stands at the level of the module, and every instance in the process uses it.",
    forgotten: "Two instances in one process keep each other from remembering.",
  },
  async run(bench, fail) {
    const scope = "somebody with two memories";
    const here = (await bench.open()).person({ scope });
    const there = (await bench.openElsewhere()).person({ scope });
    const [tea, bees] = [bench.canary(), bench.canary()];
    await here.write(tea.text);
    await there.write(bees.text);
    const leaks = [await here.knows(bees), await there.knows(tea)];
    if (leaks.includes(true)) fail("shared", "One provider recalled what another one over another backend was told.");
    const known = [await here.knows(tea), await there.knows(bees)];
    if (known.includes(false)) fail("forgotten", "One of two providers did not recall what it was told.");
  },
});

const injectedTime = defineCheck({
  id: "construction/injected-time",
  clause: "MEM-OPT-04",
  title: "The injected clock is the only one: memory works, and expires, forty years from now",
  reasons: {
    "system-clock":
      "Something compares with the time of the system instead of that of its clock; or the moment of expiry is rounded, as up to whole seconds, and what lives for a minute lives a little longer.",
    forgotten: "With its clock years away from the system's, it does not recall what it was just told.",
  },
  async run(bench, fail) {
    if (bench.facts.time !== "injected") bench.notApplicable("Its clock is not injected.");
    const expires = !["none", undefined].includes(bench.facts.capabilities.ttl);
    await bench.time.advance(yearsMs);
    const [person, memory] = [bench.someone(await bench.open()), bench.canary()];
    await person.write(memory.text);
    if (!(await person.knows(memory))) fail("forgotten", "What was written was not recalled.");
    if (!expires) return;
    const [mortal, soon] = [bench.someone(await bench.open({ ttlMs })), bench.canary()];
    await mortal.write(soon.text);
    if (!(await mortal.knows(soon))) fail("system-clock", "What lives for a minute was not recalled at once.");
    await bench.time.advance(ttlMs + 1);
    if (await mortal.knows(soon)) fail("system-clock", "What lives for a minute was recalled when that was over.");
  },
});

export const construction: Family = defineFamily({
  name: "construction",
  clauses: [
    {
      id: "MEM-OPT-01",
      level: "MUST",
      profile: "base",
      sentence: "Options that cannot work make the construction throw an Error that says what is wrong.",
      source: "P18, C9",
    },
    {
      id: "MEM-OPT-02",
      level: "SHOULD",
      profile: "strict",
      sentence: "Making a provider sends nothing and writes nothing.",
      source: "C11",
    },
    {
      id: "MEM-OPT-03",
      level: "MUST",
      profile: "base",
      sentence: "Instances share nothing but their backend.",
      source: "C11, P1",
    },
    {
      id: "MEM-OPT-04",
      level: "MUST",
      profile: "base",
      sentence: "A provider whose clock is injected goes by no other.",
      source: "C9, C11",
    },
  ],
  checks: [invalidOptions, quiet, twoInstances, injectedTime],
  mutants: [
    {
      id: "construction/takes-any-option",
      flaw: "Takes any option, and makes the best of it.",
      kills: { "construction/invalid-options": "accepted" },
      spares: ["construction/two-instances"],
      subject: ({ invalidOptions: attempts = [] }) => ({
        invalidOptions: attempts.map((attempt) => () => {
          try {
            return attempt();
          } catch {
            return { recall: { "turn.started": () => null } };
          }
        }),
      }),
    },
    {
      id: "construction/refuses-without-a-word",
      flaw: "Refuses wrong options with an error that says nothing.",
      kills: { "construction/invalid-options": "says-nothing" },
      spares: ["construction/two-instances"],
      subject: ({ invalidOptions: attempts = [] }) => ({
        invalidOptions: attempts.map((attempt) => () => {
          try {
            return attempt();
          } catch {
            throw new Error();
          }
        }),
      }),
    },
    {
      id: "construction/reads-at-once",
      flaw: "Looks whether its backend is there when it is made.",
      kills: { "construction/quiet": "sends" },
      spares: ["construction/two-instances", "construction/invalid-options"],
      provider: (provider, { store }) => {
        store.scopes(new AbortController().signal).catch(() => {}); // a first call will tell
        return provider;
      },
    },
    {
      id: "construction/writes-at-once",
      flaw: "Writes a first record when it is made, to see whether it may.",
      kills: { "construction/quiet": "writes" },
      spares: ["construction/two-instances", "construction/invalid-options"],
      provider: (provider, { store }) => {
        const record = { id: "probe", text: "It works.", createdAt: 0 };
        store.put("probe", record, new AbortController().signal).catch(() => {}); // a first call will tell
        return provider;
      },
    },
    {
      id: "construction/module-store",
      flaw: "Keeps a cache at the level of the module, for every instance in the process.",
      kills: { "construction/two-instances": "shared" },
      spares: ["construction/invalid-options"],
      store: (store) => ignoring(store, moduleStore),
    },
    {
      id: "construction/first-backend-wins",
      flaw: "Keeps what was written first in the process, and refuses another instance's writing in the same scope.",
      kills: { "construction/two-instances": "forgotten" },
      spares: ["construction/invalid-options"],
      store: (store, connection) => ({
        ...store,
        put: async (scope, record, signal) => {
          const owner = owners.get(scope) ?? JSON.stringify(connection);
          owners.set(scope, owner);
          return owner === JSON.stringify(connection) ? store.put(scope, record, signal) : "known";
        },
      }),
    },
    {
      id: "construction/system-clock",
      flaw: "Reckons when a memory expires from the time of the system.",
      kills: { "construction/injected-time": "system-clock" },
      spares: ["construction/invalid-options", "construction/two-instances"],
      parts: () => ({ expiresAt: (_now, ttl) => Date.now() + ttl }),
    },
    {
      id: "construction/not-yet",
      flaw: "Takes what was written in the future of the system for an error, and leaves it out.",
      kills: { "construction/injected-time": "forgotten" },
      spares: ["construction/invalid-options"],
      parts: () => ({
        isLive: (record, now) => record.createdAt < Date.now() + yearsMs / 2 && correctParts.isLive(record, now),
      }),
    },
  ],
});

const moduleStore = processRecordStore({ now: () => 0 });
const owners = new Map<string, string>();

async function textOf(backend: Backend): Promise<string> {
  return [...(await backend.contents())].sort().join("\n");
}
