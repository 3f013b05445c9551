/** Gets to know a provider before it is judged: what it declares, how it is written to, and how it forgets. */
import type { MemoryCapabilities } from "@keepsake/core";
import type { Bench } from "./bench.ts";
import { holds } from "./drive/canary.ts";
import type { Facts, WritePath } from "./drive/facts.ts";
import { Handle } from "./drive/handle.ts";
import type { Subject } from "./subject/define.ts";
import type { TimeMode } from "./time/kit-clock.ts";

/** What can be known of a subject without asking its provider. */
export function unknownFacts({ time, backend, invalidOptions = [] }: Subject): Facts {
  return {
    time: time satisfies TimeMode,
    backend: backend === "none" ? "none" : backend.kind,
    capabilities: {},
    declared: {},
    captures: false,
    tools: [],
    unknownTools: [],
    unusedTools: [],
    maintenance: false,
    scopes: false,
    writePaths: [],
    guesses: [],
    invalidOptions: invalidOptions.length,
  };
}

/** Never fails on account of the provider: what cannot be found out stays unknown, and the first check says why. */
export async function survey(bench: Bench): Promise<Facts> {
  const facts = await declaredFacts(bench).catch(() => bench.facts);
  return tried(bench, facts).catch(() => facts);
}

async function declaredFacts(bench: Bench): Promise<Facts> {
  const { subject } = bench;
  const handle = await bench.open();
  const declaration = handle.declaration;
  const declared: MemoryCapabilities = {
    ...subject.capabilities,
    ...declaration?.capabilities,
    ...(await declaredExpiry(bench)),
  };
  const captures = Object.values(handle.provider.capture ?? {}).some((handler) => typeof handler === "function");
  const tools = await bench
    .someone(handle)
    .toolset()
    .catch(() => ({}));
  const { save, search, forget, guesses, unknown, unused } = handle.guess(tools);
  const writePaths: WritePath[] = [
    ...(captures && declared.capture !== "none" ? (["capture"] as const) : []),
    ...(save === undefined ? [] : (["tool"] as const)),
    ...(declaration?.maintenance === undefined ? [] : (["import"] as const)),
  ];
  const preferred = subject.writePath;
  if (preferred !== undefined) writePaths.sort((a, b) => Number(b === preferred) - Number(a === preferred));
  const guessed = {
    partition: "scope",
    capture: captures ? "user" : "none",
    freshness: "current",
  } as const;
  return {
    ...bench.facts,
    capabilities: { ...guessed, ...declared },
    declared,
    captures,
    tools: Object.keys(tools),
    unknownTools: unknown,
    unusedTools: unused,
    settledTools: Object.entries(subject.tools ?? {})
      .filter(([, use]) => use === "none")
      .map(([role]) => `${role}-tool`),
    ...(save === undefined ? {} : { saveTool: save.name }),
    ...(search === undefined ? {} : { searchTool: search.name }),
    ...(forget === undefined ? {} : { forgetTool: forget.name }),
    maintenance: declaration?.maintenance !== undefined,
    scopes: declaration?.maintenance?.scopes !== undefined,
    writePaths,
    guesses: [
      ...guesses,
      ...(preferred === undefined && writePaths.length > 0
        ? [`Memory is written by ${writePaths[0]} (writePath).`]
        : []),
      ...(declared.capture === undefined ? [`It is taken to capture ${guessed.capture} (capabilities.capture).`] : []),
    ],
  };
}

/** Whether memories expire is only declared by an instance that was told to let them. */
async function declaredExpiry(bench: Bench): Promise<Pick<MemoryCapabilities, "ttl">> {
  const handle = await bench.open({ ttlMs: 86_400_000 }).catch(() => undefined);
  const ttl = handle?.declaration?.capabilities.ttl ?? bench.subject.capabilities?.ttl;
  return ttl === undefined ? {} : { ttl };
}

/** Finds out by trying: which way to write works, where memory is kept, what the forget tool understands. */
async function tried(bench: Bench, facts: Facts): Promise<Facts> {
  let known = facts;
  const { subject, time, credential, busy, namespace } = bench;
  const connection = subject.backend === "none" ? undefined : bench.backend.connection;
  const open = (): Promise<Handle> => Handle.open({ subject, connection, time, credential, busy, namespace }, known);

  for (const path of facts.writePaths) {
    const memory = bench.canary();
    const person = bench.someone(await open());
    const works = await person
      .write(memory.text, { path })
      .then(() => person.knows(memory))
      .catch(() => false);
    if (!works) continue;
    if (path !== facts.writePaths[0] && subject.writePath === undefined) {
      const rest = facts.writePaths.filter((each) => each !== path);
      const guess = `What is written by ${rest[0]} is not recalled; ${path} is used instead (writePath).`;
      known = { ...known, writePaths: [path, ...rest], guesses: [...known.guesses, guess] };
    }
    if (known.declared.durable === undefined) {
      const durable = subject.backend !== "none" && holds(await bench.backend.contents(), memory.word);
      const guess = durable
        ? "Its backend holds what it was told"
        : "Nothing outside its process holds what it was told";
      known = {
        ...known,
        capabilities: { ...known.capabilities, durable },
        guesses: [
          ...known.guesses,
          `${guess}, so it is taken ${durable ? "" : "not "}to outlive its process (capabilities.durable).`,
        ],
      };
    }
    break;
  }
  if (known.forgetTool === undefined) return known;
  const memory = bench.canary();
  const person = bench.someone(await open());
  const { result } = await person.write(memory.text);
  if (!(await person.knows(memory))) return known;
  for (const { how, input } of await person.forgetInputs(memory, result)) {
    await person.call(known.forgetTool, input).catch(() => {});
    if (await person.knows(memory)) continue;
    return { ...known, forgetHow: how, guesses: [...known.guesses, `The tool "${known.forgetTool}" is given ${how}.`] };
  }
  return known;
}
