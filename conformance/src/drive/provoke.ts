/** Everything that can go wrong in a provider, made to go wrong with canaries wherever something of somebody's can stand. */
import type { MemoryEvent } from "@keepsake/core";
import { faults, isEndless } from "../backend.ts";
import type { Bench } from "../bench.ts";
import type { Subject } from "../subject/define.ts";
import { Hung } from "../time/wait.ts";
import type { Canary } from "./canary.ts";
import { ProviderThrew } from "./handle.ts";
import type { Person } from "./person.ts";

export interface Provoked {
  readonly errors: readonly { readonly operation: string; readonly error: unknown }[];
  readonly events: readonly MemoryEvent[];
  /** What it wrote to the process's output. */
  readonly logged: readonly string[];
  /** What it recalled, and its tools answered. */
  readonly answers: readonly string[];
  readonly credential: {
    readonly word: string;
    /** Whether the backend was sent it, and whether it holds it. */
    readonly isSent: boolean;
    readonly isStored: boolean;
  };
  /** What must not stand in any of these but the answers, by what it is. */
  readonly secrets: readonly { readonly what: string; readonly word: string }[];
}

type Operation = () => Promise<unknown>;

const longText = " and so on".repeat(20_000);
const ofSecret = ["ghp", "4fQ9zKtW2mXcV7bNs8LrJ3hYpD6aGe1TuRoE"].join("_"); // in parts, so that nobody takes it for a real one

const provoked = new WeakMap<Subject, Promise<Provoked>>();

/** What came of provoking a provider of this subject: done once, for all checks that look at it. */
export function provoke(bench: Bench): Promise<Provoked> {
  const known = provoked.get(bench.subject) ?? provokeOn(bench);
  provoked.set(bench.subject, known);
  return known;
}

/** Makes a provider of its own, writes, and provokes. Whatever fails meanwhile is an answer, not a failure. */
async function provokeOn(bench: Bench): Promise<Provoked> {
  const output = watchOutput();
  try {
    const handle = await bench.open();
    const [owner, memory, told, asked] = [bench.canary(), bench.canary(), bench.canary(), bench.canary()];
    const person = handle.person({ scope: `owner ${owner.word}` });
    const written = await person.write(memory.text);
    const operations = await operationsOf(bench, person, { memory, told, asked, saved: written.result });
    const outcomes: { readonly operation: string; readonly error?: unknown; readonly answer?: unknown }[] = [];
    const tried = async ([operation, run]: readonly [string, Operation]): Promise<void> => {
      try {
        outcomes.push({ operation, answer: await run() });
      } catch (error) {
        if (error instanceof ProviderThrew) outcomes.push({ operation, error: error.error });
        else if (!(error instanceof Hung)) throw error; // what never ends is for other checks to say
      }
    };
    for (const fault of faultsToTry(bench)) {
      bench.backend.inject(fault);
      await together(bench, operations.usual.map(tried));
      bench.backend.heal();
    }
    for (const operation of [...operations.usual, ...operations.refused]) await tried(operation);
    return {
      errors: outcomes.filter((outcome) => "error" in outcome).map(({ operation, error }) => ({ operation, error })),
      events: handle.events,
      logged: output.written,
      answers: outcomes.filter((outcome) => "answer" in outcome).map(({ answer }) => JSON.stringify(answer) ?? ""),
      credential: {
        word: bench.credential,
        isSent: bench.facts.backend !== "none" && bench.wasSent(bench.credential),
        isStored: bench.facts.backend !== "none" && (await bench.holds(bench.credential)),
      },
      secrets: [
        ...[memory, told, asked].map(({ word }) => ({ what: "text", word })),
        { what: "value of the scope", word: owner.word },
        { what: "credential", word: bench.credential },
        { what: "refused secret", word: ofSecret },
      ],
    };
  } finally {
    output.restore();
  }
}

interface Material {
  readonly memory: Canary;
  readonly told: Canary;
  readonly asked: Canary;
  readonly saved: unknown;
}

/** What a host asks of it, and what it should refuse. */
async function operationsOf(bench: Bench, person: Person, { memory, told, asked, saved }: Material) {
  const { captures, saveTool, searchTool, forgetTool } = bench.facts;
  const query = `${memory.query} And ${asked.word}?`;
  const usual: (readonly [string, Operation])[] = [["recall", () => person.recall(query)]];
  const refused: (readonly [string, Operation])[] = [];
  if (captures) {
    usual.push(["capture", () => person.capture(person.begin(told.text))]);
    for (const text of [`${told.text}${longText}`, `${told.text} ${ofSecret}`]) {
      refused.push(["capture", () => person.capture(person.begin(text))]);
    }
  }
  if (saveTool !== undefined) {
    usual.push(["the save tool", () => person.save(told.text)]);
    for (const text of [`${told.text}${longText}`, `${told.text} ${ofSecret}`]) {
      refused.push(["the save tool", () => person.save(text)]);
    }
    for (const input of [told.text, { unexpected: told.text }]) {
      refused.push(["the save tool", () => person.call(saveTool, input)]);
    }
  }
  if (searchTool !== undefined) usual.push(["the search tool", () => person.search(query)]);
  const [forgetting] = forgetTool === undefined ? [] : await person.forgetInputs(memory, saved);
  if (forgetTool !== undefined && forgetting !== undefined) {
    usual.push(["the forget tool", () => person.call(forgetTool, forgetting.input)]);
    refused.push(["the forget tool", () => person.call(forgetTool, { id: "unknown-4711", index: 4_711 })]);
  }
  return { usual, refused };
}

function faultsToTry({ facts }: Bench) {
  if (facts.backend === "none") return [];
  // Under real time, whoever waits as long as it is told to would be waited for.
  const isTooSlow = (fault: object): boolean => facts.time === "real" && "retryAfterSeconds" in fault;
  return faults[facts.backend].filter((fault) => !isEndless(fault) && !isTooSlow(fault));
}

/** Waits for several calls at a time, moving time on sooner than each of them alone would. */
async function together({ time, busy, facts }: Bench, calls: readonly Promise<void>[]): Promise<void> {
  const all = Promise.all(calls);
  if (facts.time !== "real") await time.drive(all, { limitMs: 120_000, busy });
  await all;
}

/** Keeps what the process writes to its output, instead of showing it. */
function watchOutput() {
  const written: string[] = [];
  const streams = [process.stdout, process.stderr].map((stream) => {
    const { write } = stream;
    stream.write = (chunk: unknown, ...rest: readonly unknown[]) => {
      written.push(typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString()); // all it takes
      const done = rest.find((each) => typeof each === "function");
      if (typeof done === "function") process.nextTick(done as () => void);
      return true;
    };
    return () => {
      stream.write = write;
    };
  });
  return {
    written,
    restore() {
      for (const restore of streams) restore();
    },
  };
}
