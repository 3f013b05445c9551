/**
 * Recovery: how a provider fails, and what it is like afterwards. Backends are brought down by retries that multiply (the
 * SDK's, times the client's, times the provider's) and by those that come before a Retry-After is over; users by a
 * provider that one failure breaks for good.
 */
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { attempt, endingFaults, meetFaults, passingFault, recover, recovered } from "../drive/faulting.ts";
import { type OperationName, operationsOf, ready } from "../drive/operations.ts";
import { defineFamily, type Family } from "../family.ts";
import { recoveryMutants } from "./recovery-mutants.ts";

const usable = defineCheck({
  id: "recovery/usable-after",
  clause: "MEM-RCV-01",
  title: "After each fault the same instance recalls and writes again",
  needs: ["backend"],
  reasons: {
    unusable: "A failure is kept: a promise that rejected is cached, or a connection that broke is never made again.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [person, memory] = [bench.someone(handle), bench.canary()];
    await person.write(memory.text);
    for (const fault of endingFaults(bench)) {
      const caller = person.again(handle, { hurried: true });
      bench.backend.inject(fault);
      await attempt(bench, () => caller.recalls(memory.query));
      await attempt(bench, () => caller.write(bench.canary().text));
      await recover(bench);
      const later = bench.canary();
      const recalls = await attempt(bench, () => recovered(bench, () => person.knows(memory)));
      const writes = await attempt(bench, () => recovered(bench, () => bench.someone(handle).write(later.text)));
      if (recalls.state !== "fulfilled" || !recalls.value || writes.state !== "fulfilled")
        fail("unusable", `The instance did not work any more after "${fault.name}" had been healed.`);
    }
  },
});

const throwsErrors = defineCheck({
  id: "recovery/throws-errors",
  clause: "MEM-RCV-02",
  title: "What is thrown under a fault is an Error",
  needs: ["backend"],
  reasons: { "no-error": "Something other than an Error is thrown: a string, an object, undefined." },
  async run(bench, fail) {
    for (const { name, error } of await thrown(bench))
      if (!isError(error))
        fail("no-error", `The ${name} rejected with ${error === null ? "null" : `a ${typeof error}`}.`);
  },
});

const typed = defineCheck({
  id: "recovery/typed-errors",
  clause: "MEM-RCV-03",
  title: "What is thrown under a fault has a code, and says whether to try again",
  needs: ["backend"],
  reasons: {
    untyped:
      "The error of the client is passed on as it is, or wrapped without `code` (text) and `retryable` (boolean).",
  },
  async run(bench, fail) {
    for (const { name, error } of await thrown(bench)) {
      const { code, retryable } = Object(error);
      if (typeof code !== "string" || typeof retryable !== "boolean")
        fail(
          "untyped",
          `The ${name} rejected with an error that lacks ${typeof code === "string" ? "retryable" : "code"}.`,
        );
    }
  },
});

const boundedRetries = defineCheck({
  id: "recovery/bounded-retries",
  clause: "MEM-RCV-04",
  title: "An operation that fails sends a handful of requests",
  needs: ["backend"],
  reasons: {
    unbounded:
      "Retries have no limit, or those of the SDK, the client and the provider multiply. Count them in one place.",
  },
  async run(bench, fail) {
    for (const name of operationsOf(bench, ["recall", bench.writePaths[0] === "capture" ? "capture" : "save"])) {
      const usual = await requestsWhenWell(bench, name);
      await meetFaults(
        bench,
        name,
        async ({ fault, sent }) => {
          const most = Math.max(mostRequests(bench, fault.name), 4 * usual);
          if (sent > most)
            fail("unbounded", `One ${name} sent ${sent} requests under "${fault.name}"; ${most} are bearable.`);
        },
        endingFaults(bench).filter(({ name: fault }) => !/40[134]|500|200|truncated|type/.test(fault)),
      );
    }
  },
});

const retryAfter = defineCheck({
  id: "recovery/retry-after",
  clause: "MEM-RCV-05",
  title: "After a 429 or a 503 with Retry-After nothing is sent before that time is over",
  needs: ["backend", "provider-time"],
  reasons: {
    "too-early":
      "Retry-After is not read, or is taken for milliseconds, or only where it is a number, or only with a 429.",
  },
  async run(bench, fail) {
    const fault = endingFaults(bench).find((each) => "retryAfterSeconds" in each);
    if (fault?.kind !== "status") return bench.notApplicable("This kind of backend has no Retry-After.");
    const handle = await bench.open();
    const waitMs = (fault.retryAfterSeconds ?? 0) * 1_000;
    for (const name of operationsOf(bench, ["recall", "capture", "save"])) {
      const healthy = await ready(bench, handle, name);
      const usual = counted(await sentBy(bench, async () => healthy?.run()));
      for (const asked of [
        { ...fault, retryAfterAs: "seconds" },
        { ...fault, retryAfterAs: "date" },
        { ...fault, retryAfterAs: "seconds", name: "HTTP 503", status: 503 },
      ] as const) {
        const { retryAfterAs, status } = asked;
        const operation = await ready(bench, handle, name);
        bench.backend.inject(asked);
        const sent = await sentBy(bench, () => attempt(bench, async () => operation?.run()));
        await recover(bench);
        const startMs = sent[0]?.atMs ?? 0;
        // A date has no milliseconds.
        const dueMs = retryAfterAs === "date" ? Math.floor((startMs + waitMs) / 1_000) * 1_000 : startMs + waitMs;
        const early = sent.filter(({ atMs }) => atMs < dueMs);
        // What is sent in the same instant may have been sent together; more than usual of a kind is one tried again.
        const again = [...counted(early)].some(([summary, count]) => count > (usual.get(summary) ?? 1));
        if (again || early.some(({ atMs }) => atMs > startMs))
          fail(
            "too-early",
            `The ${name} was tried again before the ${waitMs / 1_000} s, told as ${retryAfterAs} with a ${status}, were over.`,
          );
      }
    }
  },
});

export const recovery: Family = defineFamily({
  name: "recovery",
  clauses: [
    {
      id: "MEM-RCV-01",
      level: "MUST",
      profile: "base",
      sentence: "Once its backend has recovered, the same instance recalls and writes as before.",
      source: "P4, P5",
    },
    {
      id: "MEM-RCV-02",
      level: "MUST",
      profile: "base",
      sentence: "What a provider throws or rejects with is an Error.",
      source: "P4, C7, E7.1",
    },
    {
      id: "MEM-RCV-03",
      level: "SHOULD",
      profile: "base",
      sentence: "An error of the backend's reaches the host with a stable `code` and with `retryable`.",
      source: "P4, C7",
    },
    {
      id: "MEM-RCV-04",
      level: "MUST",
      profile: "base",
      sentence:
        "Retries are bounded and counted once: an operation that fails sends at most ten requests, or four times those it sends when all is well.",
      source: "P4",
    },
    {
      id: "MEM-RCV-05",
      level: "MUST",
      profile: "base",
      sentence: "After an answer with Retry-After the operation asks again only when that time is over.",
      source: "P4",
    },
  ],
  checks: [usable, throwsErrors, typed, boundedRetries, retryAfter],
  mutants: recoveryMutants,
});

async function thrown(bench: Bench): Promise<readonly { name: OperationName; error: unknown }[]> {
  const errors: { name: OperationName; error: unknown }[] = [];
  for (const name of operationsOf(bench)) {
    const met = name === "recall" ? oneOfEachKind(endingFaults(bench)) : [passingFault(bench)];
    const see = async ({ outcome }: { outcome: { state: string; error?: unknown } }): Promise<void> => {
      if (outcome.state === "rejected") errors.push({ name, error: outcome.error });
    };
    await meetFaults(bench, name, see, met);
  }
  if (errors.length === 0) bench.notApplicable("Nothing that was tried failed.");
  return errors;
}

function oneOfEachKind(faults: readonly Fault[]): readonly Fault[] {
  return faults.filter(({ kind }, index) => faults.findIndex((fault) => fault.kind === kind) === index);
}

/** Also of another realm, and also a DOMException. */
function isError(error: unknown): boolean {
  return error instanceof Error || /^\[object (Error|DOMException)\]$/.test(Object.prototype.toString.call(error));
}

/** Over TCP and on a disk a request is many small ones, and a conflict is worth more patience than a failure. */
function mostRequests({ facts }: Bench, fault: string): number {
  return facts.backend !== "http" || fault === "HTTP 409" ? 40 : 10;
}

async function requestsWhenWell(bench: Bench, name: OperationName): Promise<number> {
  const operation = await ready(bench, await bench.open(), name);
  return (await sentBy(bench, async () => operation?.run())).length;
}

async function sentBy(bench: Bench, call: () => Promise<unknown>): Promise<ReturnType<Bench["backend"]["observed"]>> {
  const before = bench.backend.observed().length;
  await call();
  return bench.backend.observed().slice(before);
}

function counted(exchanges: readonly { readonly summary: string }[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { summary } of exchanges) counts.set(summary, (counts.get(summary) ?? 0) + 1);
  return counts;
}
