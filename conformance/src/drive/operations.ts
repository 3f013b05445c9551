/** The operations of a provider that can meet a fault, each made ready while all is well, so that only it meets the fault. */
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { Facts, WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";
import type { AskOptions, CallOptions, Person, Recalled } from "./person.ts";

export type OperationName = "recall" | "capture" | "save" | "search" | "forget";

export interface Operation {
  readonly name: OperationName;
  readonly person: Person;
  /** What was there before, and stays whatever happens. */
  readonly kept: Canary;
  /** Requests that `tools()` makes, which comes before each call of a tool. */
  readonly toolsRequests: number;
  run(options?: RunOptions): Promise<unknown>;
  /** To be asked when all is well again: whether what it answered was so. */
  isTrue(answer: unknown): Promise<boolean>;
}

/** `tools` that were made before, for what calls one. */
export type RunOptions = AskOptions & Pick<CallOptions, "tools">;

export interface OperationOptions {
  /** Whose operation. Default: somebody new. */
  readonly person?: Person;
  /** Whether it is going to wait for time to pass. Default: yes. */
  readonly hurried?: boolean;
  /** The instance that does it, such as one that did nothing before. Default: the one that made it ready. */
  readonly by?: Handle;
}

/** Those that this provider has, of those asked for. */
export function operationsOf({ facts }: Bench, wanted: readonly OperationName[] = all): readonly OperationName[] {
  return wanted.filter((name) => has[name](facts));
}

/**
 * A person with a memory, about to do it. `undefined` where the operation does not show its effect even while all is well:
 * a search that does not find, a capture that is not recalled.
 */
export async function ready(
  bench: Bench,
  handle: Handle,
  name: OperationName,
  { hurried = true, person = bench.someone(handle), by = handle }: OperationOptions = {},
): Promise<Operation | undefined> {
  const [kept, memory] = [bench.canary(), bench.canary()];
  await person.write(kept.text);
  const caller = person.again(by, { hurried });
  const base = { name, person, kept, toolsRequests: await requestsOfTools(bench, person, name) };
  const answersIt = (answer: unknown): boolean => admitsFailure(answer) || shows(answer, kept);
  switch (name) {
    case "recall":
      return {
        ...base,
        run: (options) => recallAsHost(caller, kept.query, options),
        isTrue: async (answer) => shows((answer as Recalled).text, kept),
      };
    case "capture":
      if (!(await works(bench, handle, "capture"))) return undefined;
      return {
        ...base,
        run: (options) => caller.write(memory.text, { ...options, path: "capture" }),
        isTrue: () => person.knows(memory),
      };
    case "save": {
      if (!(await works(bench, handle, "tool"))) return undefined;
      const { save } = handle.guess(await person.toolset());
      return {
        ...base,
        run: (options) => caller.call(save?.name ?? "", save?.input(memory.text), options),
        isTrue: async (answer) => admitsFailure(answer) || person.knows(memory),
      };
    }
    case "search": {
      if (!shows(await person.search(kept.query), kept)) return undefined;
      const { search } = handle.guess(await person.toolset());
      return {
        ...base,
        run: (options) => caller.call(search?.name ?? "", search?.input(kept.query), options),
        isTrue: async (answer) => answersIt(answer),
      };
    }
    case "forget": {
      const { result } = await person.write(memory.text);
      const [target] = await person.forgetInputs(memory, result);
      return {
        ...base,
        run: (options) => caller.call(handle.facts?.forgetTool ?? "", target?.input, options),
        isTrue: async (answer) => admitsFailure(answer) || !(await person.knows(memory)),
      };
    }
  }
}

/** Whether a tool's answer says that it did not work, which is as good as throwing: the model is told. */
export function admitsFailure(answer: unknown): boolean {
  if (typeof answer === "string")
    return /\b(error|fail(ed|ure|s)?|unavailable|unable|could ?n[o']t|try again)\b/i.test(answer);
  if (typeof answer !== "object" || answer === null) return false;
  return Object.entries(answer).some(
    ([name, value]) =>
      (/^(error|errors|failure|isError|failed)$/i.test(name) && Boolean(value)) ||
      (/^(success|succeeded|ok|saved|stored|written)$/i.test(name) && value === false) ||
      (/^(status|message|content|result|text|reason)$/i.test(name) && admitsFailure(value)),
  );
}

const all: readonly OperationName[] = ["recall", "capture", "save", "search", "forget"];

const has: Readonly<Record<OperationName, (facts: Facts) => boolean>> = {
  recall: () => true,
  capture: ({ writePaths }) => writePaths.includes("capture"),
  save: ({ writePaths }) => writePaths.includes("tool"),
  search: ({ searchTool }) => searchTool !== undefined,
  forget: ({ forgetTool, forgetHow }) => forgetTool !== undefined && forgetHow !== undefined,
};

function shows(answer: unknown, { word }: Canary): boolean {
  return (JSON.stringify(answer) ?? "").toLowerCase().includes(word);
}

/** One turn's recall; of a provider that is one turn behind, its second, which tells what became of the first. */
async function recallAsHost(person: Person, query: string, options: AskOptions = {}): Promise<Recalled> {
  const session = person.again();
  if (person.handle.facts?.capabilities.freshness === "previous-turn") await session.recall(query, options);
  return session.recall(query, options);
}

const working = new WeakMap<Bench, Map<WritePath, boolean>>();

/** Whether what is written this way is recalled. Tried once on each bench. */
async function works(bench: Bench, handle: Handle, path: WritePath): Promise<boolean> {
  const known = working.get(bench) ?? new Map<WritePath, boolean>();
  working.set(bench, known);
  const before = known.get(path);
  if (before !== undefined) return before;
  const [person, memory] = [bench.someone(handle), bench.canary()];
  await person.write(memory.text, { path });
  const works = await person.knows(memory);
  known.set(path, works);
  return works;
}

async function requestsOfTools(bench: Bench, person: Person, name: OperationName): Promise<number> {
  if (name === "recall" || name === "capture" || bench.facts.backend === "none") return 0;
  const before = bench.backend.observed().length;
  await person.toolset();
  return bench.backend.observed().length - before;
}
