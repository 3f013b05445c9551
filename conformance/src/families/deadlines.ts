/**
 * Deadlines: a backend that never answers, or begins to and never ends, must not hold a turn for ever. The host applies no
 * limit of its own; a timeout on the headers alone lets a slow body through; a timeout that throws AbortError is taken for
 * the user's cancellation, and ends the session.
 */
import { type Clock, type MemoryProvider, withDeadline } from "@keepsake/core";
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck, type Fail } from "../check.ts";
import { asMethod, between } from "../drive/between.ts";
import { endlessFaults, recoverFromAbandoned } from "../drive/faulting.ts";
import { type OperationName, operationsOf, ready } from "../drive/operations.ts";
import { defineFamily, type Family } from "../family.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { Hung } from "../time/wait.ts";
import { withTool } from "./fault-mutants.ts";

const reasons = {
  "no-deadline":
    "Nothing ends the wait but the caller's abort. Give every call a deadline that covers the body too, on the clock that `create` is given (or declare the time global).",
  swallowed: "The deadline is caught and answered as if there were nothing, or as if it had worked.",
  "named-abort":
    "The deadline aborts a signal, and what that throws is passed on. Throw an error of its own: hosts take AbortError for a cancellation.",
} as const;

type Reason = keyof typeof reasons;

const recalls = defineCheck({
  id: "deadlines/recall",
  clause: "MEM-DLN-01",
  title: "Recall gives up by itself when no answer comes",
  needs: ["backend", "provider-time"],
  reasons,
  run: (bench, fail) => allEnd(bench, ["recall"], fail),
});

const captures = defineCheck({
  id: "deadlines/capture",
  clause: "MEM-DLN-02",
  title: "Capture gives up by itself when no answer comes",
  needs: ["backend", "capture", "provider-time"],
  reasons,
  run: (bench, fail) => allEnd(bench, ["capture"], fail),
});

const tools = defineCheck({
  id: "deadlines/tools",
  clause: "MEM-DLN-03",
  title: "Each tool gives up by itself when no answer comes",
  needs: ["backend", "tools", "provider-time"],
  reasons,
  // One way never to answer: each takes a moment of real time, and a tool reads through the same client as recall does.
  run: (bench, fail) => allEnd(bench, ["save", "search", "forget"], fail, endlessFaults(bench).slice(0, 1)),
});

const code = defineCheck({
  id: "deadlines/code",
  clause: "MEM-DLN-04",
  title: 'A deadline that was reached has the code "timeout"',
  needs: ["backend", "provider-time"],
  reasons: { "no-code": "The error that a deadline throws has no `code`, or another one." },
  async run(bench, fail) {
    const names: readonly OperationName[] = ["recall", ...operationsOf(bench, ["capture"])];
    const waits = (await ends(bench, names, endlessFaults(bench).slice(0, 1))).filter(({ hasWaited }) => hasWaited);
    if (waits.length === 0) bench.notApplicable("It never waits for its backend: each answer comes at once, or fails.");
    for (const { name, fault, outcome } of waits) {
      if (outcome.state === "rejected" && Object(outcome.error).code !== "timeout")
        fail("no-code", `The ${name} ended under "${fault.name}" with another code than timeout, or with none.`);
    }
  },
});

export const deadlines: Family = defineFamily({
  name: "deadlines",
  clauses: [
    must(
      "01",
      "Recall rejects by a deadline of its own, within two minutes, when its backend never answers or never ends its answer, and not with an AbortError.",
    ),
    must(
      "02",
      "Capture rejects by a deadline of its own, within two minutes, when its backend never answers or never ends its answer, and not with an AbortError.",
    ),
    must(
      "03",
      "Each tool rejects or says so by a deadline of its own, within two minutes, when its backend never answers or never ends its answer, and not with an AbortError.",
    ),
    {
      id: "MEM-DLN-04",
      level: "SHOULD",
      profile: "base",
      sentence: "What a deadline throws has the code `timeout`.",
      source: "P5, C7",
    },
  ],
  checks: [recalls, captures, tools, code],
  mutants: [
    {
      id: "deadlines/none",
      flaw: "Waits for its backend for as long as it takes.",
      kills: {
        "deadlines/recall": "no-deadline",
        "deadlines/capture": "no-deadline",
        "deadlines/tools": "no-deadline",
      },
      spares: ["faults/recall", "aborting/during-hang"],
      parts: () => ({ timeoutMs: Number.POSITIVE_INFINITY }),
    },
    {
      id: "deadlines/none-over-tcp",
      flaw: "Has a deadline for connecting, and none for the reply.",
      kills: { "deadlines/recall": "no-deadline" },
      spares: ["faults/recall", "aborting/during-hang"],
      backend: "tcp",
      parts: () => ({ timeoutMs: Number.POSITIVE_INFINITY }),
    },
    {
      id: "deadlines/none-on-disk",
      flaw: "Takes it that a disk always answers.",
      kills: { "deadlines/recall": "no-deadline" },
      spares: ["faults/recall"],
      backend: "directory",
      parts: () => ({ timeoutMs: Number.POSITIVE_INFINITY }),
    },
    {
      id: "deadlines/recall-only",
      flaw: "Has a deadline for recall, and calls its tools and capture with none.",
      kills: { "deadlines/capture": "no-deadline", "deadlines/tools": "no-deadline" },
      spares: ["deadlines/recall"],
      parts: () => ({ timeoutMs: Number.POSITIVE_INFINITY }),
      provider: (provider, { clock }) =>
        between(provider, (call) =>
          call.name.startsWith("recall") ? endedAfter(clock, Promise.resolve(asMethod(call))) : asMethod(call),
        ),
    },
    {
      id: "deadlines/abort-error",
      flaw: "Ends its wait by aborting its own signal, and passes on what that throws.",
      kills: {
        "deadlines/recall": "named-abort",
        "deadlines/capture": "named-abort",
        "deadlines/tools": "named-abort",
        "deadlines/code": "no-code",
      },
      spares: ["faults/recall", "aborting/during-hang"],
      parts: ({ asError }) => ({
        asError: (error) =>
          Object(error).code === "timeout"
            ? new DOMException("This operation was aborted", "AbortError")
            : asError(error),
      }),
    },
    {
      id: "deadlines/untyped",
      flaw: "Throws a plain error when time is up.",
      kills: { "deadlines/code": "no-code" },
      spares: ["deadlines/recall", "deadlines/capture"],
      parts: ({ asError }) => ({
        asError: (error) => (Object(error).code === "timeout" ? new Error("Timed out.") : asError(error)),
      }),
    },
    {
      id: "deadlines/nothing-in-time",
      flaw: "Recalls nothing when its backend is too slow.",
      kills: { "deadlines/recall": "swallowed" },
      spares: ["faults/stale", "deadlines/capture"],
      provider: (provider) => silentInTime(provider, "recall"),
    },
    {
      id: "deadlines/captured-in-time",
      flaw: "Gives up a capture when its backend is too slow, and says nothing.",
      kills: { "deadlines/capture": "swallowed" },
      spares: ["faults/recall", "deadlines/recall"],
      provider: (provider) => silentInTime(provider, "capture"),
    },
    {
      id: "deadlines/saved-in-time",
      flaw: "Tells the model that it saved when its backend is too slow to say so.",
      kills: { "deadlines/tools": "swallowed" },
      spares: ["faults/capture", "deadlines/recall"],
      provider: (provider) =>
        withTool(provider, "save_memory", async (tool, input, context) => {
          try {
            return await tool.execute(input, context);
          } catch (error) {
            if (Object(error).code === "timeout") return { saved: true };
            throw error;
          }
        }),
    },
  ],
});

function must(number: string, sentence: string) {
  return { id: `MEM-DLN-${number}`, level: "MUST", profile: "base", sentence, source: "P5, K7, E7.2, E7.4" } as const;
}

interface End {
  readonly name: OperationName;
  readonly fault: Fault;
  /** `pending`: two minutes were not enough. */
  readonly outcome: Outcome<unknown>;
  /** Whether time passed until it ended. */
  readonly hasWaited: boolean;
  /** Whether what it answered turned out to be so. */
  readonly isTrue: boolean;
}

async function allEnd(
  bench: Bench,
  names: readonly OperationName[],
  fail: Fail<Reason>,
  met?: readonly Fault[],
): Promise<void> {
  const present = operationsOf(bench, names);
  if (present.length === 0) bench.notApplicable("It has no such operation whose effect could be seen.");
  for (const { name, fault, outcome, isTrue } of await ends(bench, present, met)) {
    const where = `The ${name}, under "${fault.name}",`;
    if (outcome.state === "pending") fail("no-deadline", `${where} had not ended after two minutes.`);
    if (outcome.state === "fulfilled" && !isTrue) fail("swallowed", `${where} answered what was not so.`);
    if (outcome.state === "rejected" && Object(outcome.error).name === "AbortError")
      fail("named-abort", `${where} rejected with an AbortError, although nobody had aborted it.`);
  }
}

/** How each operation ends under each fault that nothing else ends. */
async function ends(
  bench: Bench,
  names: readonly OperationName[],
  met: readonly Fault[] = endlessFaults(bench),
): Promise<readonly End[]> {
  const handle = await bench.open();
  const seen: End[] = [];
  for (const name of names) {
    for (const fault of met) {
      const operation = await ready(bench, handle, name);
      if (operation === undefined) continue;
      bench.backend.inject(fault);
      const beganMs = bench.time.now();
      const outcome = await endOf(bench, () => operation.run());
      const hasWaited = bench.time.now() > beganMs;
      await recoverFromAbandoned(bench);
      const isTrue = outcome.state === "fulfilled" && (await operation.isTrue(outcome.value));
      seen.push({ name, fault, outcome, hasWaited, isTrue });
      if (outcome.state === "pending") return seen; // others would only wait too
    }
  }
  return seen;
}

async function endOf(bench: Bench, call: () => Promise<unknown>): Promise<Outcome<unknown>> {
  try {
    return await bench.outcome(call);
  } catch (error) {
    if (error instanceof Hung) return { state: "pending" };
    throw error;
  }
}

/** Of a mutant: answers nothing where its deadline was reached. */
function silentInTime(provider: MemoryProvider, operation: "recall" | "capture"): MemoryProvider {
  return between(provider, async (call) => {
    try {
      return await asMethod(call);
    } catch (error) {
      if (call.name.startsWith(operation) && Object(error).code === "timeout") return null;
      throw error;
    }
  });
}

/** Of a mutant: ends one call, and forgets the rest. */
function endedAfter<T>(clock: Clock, call: Promise<T>): Promise<T> {
  return withDeadline({ signal: never, timeoutMs: 10_000, clock }, () => call);
}

const never = new AbortController().signal;
