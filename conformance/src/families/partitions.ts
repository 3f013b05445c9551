/**
 * Keys that are not of the derived form: people use names, paths and ids of their own, and other hosts derive others. A
 * provider that cleans them up for a file name, a tag or an object's member gives two people one store, or one nobody's.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { slotInfo } from "../drive/handle.ts";
import { crossShown, leakIn, pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import type { RemoteHandle } from "../process/remote-handle.ts";
import { rescoped } from "../reference/changed.ts";

const long = "x".repeat(999);

/** In each row are keys that somebody has taken for one another, or for a pattern that means the others. */
const rows: readonly (readonly string[])[] = [
  ["t/acme", "t/acme-corp", "t/acm"],
  ["a:b", "a", "a|b", "a,b"],
  ["ann.lee", "ann_lee", "ann lee", "Ann.Lee", " ann.lee"],
  ["u1", "u10", "*", "u?", "u%"],
  ["\u00e9", "e\u0301", "e"],
  ["__proto__", "constructor", "toString"],
  ["..", "../../x", "C:\\x", "CON", "x"],
  ["@x:{y}", "@x:{*}", "' OR '1'='1"],
  ["a\0b", "a\u0001b", "ab", "a\nb"],
  [`${long}a`, `${long}b`],
  ["default", "_", "null", "undefined"],
];

const overriding = "MEMORY_SCOPE_OVERRIDE";

const opaqueKeys = defineCheck({
  id: "partitions/opaque-keys",
  clause: "MEM-PAR-01",
  title: "Keys of any form are scopes of their own: paths, patterns, names of members, long ones, look-alikes",
  reasons: {
    refused: "The key is used as a name or as part of a query before it is hashed.",
    merged: "The key is cleaned up, cut, folded or matched as a pattern or a prefix.",
    lost: "The key is written in one form and read in another.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const keys of rows) {
      const told = keys.map((key) => ({ person: handle.person({ scope: "somebody", key }), memory: bench.canary() }));
      for (const { person, memory } of told) {
        const { state } = await bench.outcome(() => person.write(memory.text));
        if (state === "rejected") fail("refused", `A key like ${nameOf(keys)} was refused.`);
      }
      const crossed = await crossShown(told);
      const leak = leakIn(crossed);
      if (leak !== undefined)
        fail("merged", `Among keys like ${nameOf(keys)}, one's ${leak.path} showed another's memory.`);
      const lost = crossed.some(({ all, memory }) => pathShowing(all, memory.word) === undefined);
      if (lost) fail("lost", `What was written under a key like ${nameOf(keys)} was not found under it.`);
    }
  },
});

const noKeys = ["", " ", "\t\n", "\u00a0", "a\ud800"];

const noKey = defineCheck({
  id: "partitions/no-key",
  clause: "MEM-PAR-02",
  title: "A blank key, or one that is not well-formed text, is refused and never stands for a default store",
  reasons: {
    accepted: "The key is not checked, or a blank one is replaced by a default.",
    deaf: "A refused key leaves the store in a state in which it remembers nothing.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const [index, key] of noKeys.entries()) {
      const { state } = await bench.outcome(() => handle.person({ scope: "x", key }).write(bench.canary().text));
      if (state !== "rejected")
        fail("accepted", `Memory was written under ${index < 4 ? "a blank key" : "a key with half a character"}.`);
    }
    const [person, memory] = [handle.person({ scope: "x", key: "a key" }), bench.canary()];
    await person.write(memory.text);
    if (!(await person.knows(memory))) fail("deaf", "Under a key that is fine, nothing was remembered after that.");
  },
});

const environment = defineCheck({
  id: "partitions/environment",
  clause: "MEM-PAR-03",
  title: "No variable of the environment that it reads makes two people share a store",
  slow: true,
  reasons: {
    widened:
      "A variable replaces or widens the scope. Whoever sets it for a test gives everybody's memory to everybody.",
  },
  async run(bench, fail) {
    const first = await bench.spawn({ recordsEnvironment: true });
    const seen = await twoPeople(bench, first);
    if (!seen.own) bench.untestable("In a process of its own it does not remember, so that nothing can be told.");
    const read = (await first.environment()).filter((name) => !harmless.test(name) && !reaching.test(name));
    const names = [...read.filter((name) => telling.test(name)), ...read.filter((name) => !telling.test(name))];
    const values = ["*", "1", "all", "global", slotInfo({ scope: "ben" }).scope.key];
    // All at once; where that keeps it from working, one by one.
    const sets = [names, ...(names.length > 1 ? names.slice(0, 8).map((name) => [name]) : [])];
    const widening = await Promise.all(
      values.map(async (value) => {
        for (const set of names.length === 0 ? [] : sets) {
          const shown = await twoPeopleUnder(bench, Object.fromEntries(set.map((name) => [name, value])));
          if (shown?.other === true) return set;
          if (shown !== undefined && set === names) return undefined;
        }
        return undefined;
      }),
    );
    const found = widening.find((set) => set !== undefined);
    if (found !== undefined)
      fail("widened", `With ${found.join(", ")} set, one person was shown what another had told.`);
  },
});

export const partitions: Family = defineFamily({
  name: "partitions",
  clauses: [
    {
      id: "MEM-PAR-01",
      level: "MUST",
      profile: "strict",
      sentence:
        "Any well-formed text that is not blank is a scope key of its own, taken as it is: not trimmed, cut, folded, normalised, or read as a pattern, a prefix or a path.",
      source: "P1, C2, C3",
    },
    {
      id: "MEM-PAR-02",
      level: "MUST",
      profile: "strict",
      sentence: "A scope key that is blank or not well-formed is refused, and stands for no store.",
      source: "P1, C2",
    },
    {
      id: "MEM-PAR-03",
      level: "MUST",
      profile: "base",
      sentence: "No variable of the environment makes scopes share memory.",
      source: "P1",
    },
  ],
  checks: [opaqueKeys, noKey, environment],
  mutants: [
    {
      id: "partitions/prefix",
      flaw: "Finds records whose key begins with the scope's.",
      kills: { "partitions/opaque-keys": "merged" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      store: (store) => ({
        ...store,
        list: async (scope, signal) => {
          const scopes = (await store.scopes(signal)).filter((each) => each.startsWith(scope));
          return (await Promise.all(scopes.map((each) => store.list(each, signal)))).flat();
        },
      }),
    },
    {
      id: "partitions/normalises",
      flaw: "Normalises the key's text.",
      kills: { "partitions/opaque-keys": "merged" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      parts: ({ partition }) => ({ partition: (key) => partition(key).normalize("NFC") }),
    },
    {
      id: "partitions/plain-object",
      flaw: "Keeps scopes as members of a plain object.",
      kills: { "partitions/opaque-keys": "refused" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      store: (store) => {
        const scopes: Record<string, string[]> = {};
        return {
          ...store,
          put: async (scope, record, signal) => {
            scopes[scope] ??= [];
            scopes[scope].push(record.id);
            return store.put(scope, record, signal);
          },
        };
      },
    },
    {
      id: "partitions/encodes-on-write",
      flaw: "Encodes the key as for a URL when it writes, and not when it reads.",
      kills: { "partitions/opaque-keys": "lost" },
      spares: ["isolation/matrix", "isolation/look-alike-keys"],
      store: (store) => ({
        ...store,
        put: (scope, record, signal) => store.put(encodeURIComponent(scope), record, signal),
      }),
    },
    {
      id: "partitions/default-store",
      flaw: "Uses a default key where the scope's is blank.",
      kills: { "partitions/no-key": "accepted" },
      spares: ["isolation/look-alike-keys", "partitions/opaque-keys"],
      provider: (provider) => rescoped(provider, ({ key }) => (key.trim() === "" ? "default store" : key)),
    },
    {
      id: "partitions/deaf-after-refusal",
      flaw: "Finds nothing any more when it has refused a key.",
      kills: { "partitions/no-key": "deaf" },
      spares: ["isolation/matrix", "partitions/opaque-keys"],
      parts: ({ recordId, isLive }) => {
        let hasRefused = false;
        return {
          recordId: (key, operation) => {
            try {
              return recordId(key, operation);
            } catch (error) {
              hasRefused = true;
              throw error;
            }
          },
          isLive: (record, now) => !hasRefused && isLive(record, now),
        };
      },
    },
    {
      id: "partitions/override",
      flaw: "Reads a scope for everybody from MEMORY_SCOPE_OVERRIDE.",
      kills: { "partitions/environment": "widened" },
      spares: ["isolation/matrix", "partitions/opaque-keys"],
      parts: ({ partition }) => ({ partition: (key) => process.env[overriding] ?? partition(key) }),
    },
  ],
});

/** What two people who tell something in this process are shown: their own, and the other's. */
async function twoPeople(
  bench: Bench,
  handle: RemoteHandle,
): Promise<{ readonly own: boolean; readonly other: boolean }> {
  const told = ["ann", "ben"].map((scope) => ({ person: handle.person({ scope }), memory: bench.canary() }));
  for (const { person, memory } of told) await person.write(memory.text);
  const query = told.map(({ memory }) => memory.query).join(" ");
  const shown = { own: true, other: false };
  for (const { person, memory } of told) {
    const readings = await person.readings(query);
    const others = told.filter((each) => each.memory !== memory);
    if (pathShowing(readings, memory.word) === undefined) shown.own = false;
    if (others.some((each) => pathShowing(readings, each.memory.word) !== undefined)) shown.other = true;
  }
  return shown;
}

/** The same in a process with these variables; `undefined` where it does not work at all under them, which says nothing. */
async function twoPeopleUnder(
  bench: Bench,
  env: Readonly<Record<string, string>>,
): Promise<Awaited<ReturnType<typeof twoPeople>> | undefined> {
  try {
    const handle = await bench.spawn({ env });
    const shown = await twoPeople(bench, handle);
    await handle.close();
    return shown;
  } catch {
    return undefined;
  }
}

/** As a failure may name it. These keys are the kit's own. */
function nameOf([key = ""]: readonly string[]): string {
  return JSON.stringify(key.slice(0, 20));
}

/** Variables of the system, of Node and of terminals. */
const harmless =
  /^(?:PATH|HOME|USER|SHELL|PWD|LANG|LC_\w+|TZ|TERM|TE?MP\w*|OSTYPE|CI|\w*DEBUG|NODE_\w+|UNDICI_\w+|JEST_\w+|VITEST\w*|NO_COLOR|FORCE_COLOR|\w*_PROXY)$/i;

/** Names that sound as if they could widen something: tried first, as only some can be tried one by one. */
const telling = /SCOPE|TENANT|USER|OWNER|ACCOUNT|NAMESPACE|PARTITION|PREFIX|SHARED|GLOBAL|OVERRIDE|MEMORY/i;

/** Where a backend is and how to get in: with another one, nothing works. */
const reaching = /URL|URI|HOST|PORT|ADDR|ENDPOINT|KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|REGION|DSN|ROOT|DIR/i;
