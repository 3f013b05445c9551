/**
 * Random conversations, held against the rules as `test-support/session-model.ts` writes them a second time: for faults that
 * only show where many small rules meet, such as a compaction within a turn that is then started again.
 *
 * `KEEPSAKE_MODEL_SEED` repeats a run; `KEEPSAKE_MODEL_RUNS` sets how many conversations it has.
 */
import {
  defineMemory,
  defineTool,
  type MemoryDefinition,
  MemoryError,
  type MemoryTurnContext,
  type ModelMessage,
  type Principal,
  type UserContent,
} from "@keepsake/core";
import { itemKey, namespaceKey, scopeKey } from "@keepsake/core/keys";
import { byPrincipal } from "@keepsake/core/scope";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createMemoryHost, type MemorySession, purgeState, type SessionState } from "./index.ts";
import {
  type Call,
  type CallerName,
  callerNames,
  type Environment,
  type Expected,
  handlers,
  type Partition,
  type Plan,
  type Recalled,
  type Said,
  SessionModel,
  type SlotName,
  type Step,
  slotNames,
  smoothly,
} from "./test-support/session-model.ts";
import { person } from "./test-support/slots.ts";

const { KEEPSAKE_MODEL_RUNS = "300", KEEPSAKE_MODEL_SEED = String(fc.hash(crypto.randomUUID()) | 0) } = process.env;
const runs = Number(KEEPSAKE_MODEL_RUNS);
const seed = Number(KEEPSAKE_MODEL_SEED);

const sessionId = "S";
const callers: Readonly<Record<CallerName, Principal | null>> = {
  ann: person("ann"),
  ben: person("ben"),
  nobody: null,
};

// --- The real side ---

interface Attempt {
  readonly value?: unknown;
  readonly error?: unknown;
}

/** The session under test, over providers that do as the running call's plan says and write down that they were called. */
class RealSession {
  session: MemorySession;
  /** Of the latest turn. */
  turnAbort: AbortController | undefined;
  /** What was last said, and by whom. */
  lastSaid: Said = { content: "nothing", context: [] };
  lastCaller: CallerName = "nobody";
  /** Whether the state is looked at after each call, or only where it is needed: it is put together when it is asked for. */
  readonly isWatched: boolean;
  calls: Call[] = [];
  cut: ModelMessage[] | null = null;
  abort = new AbortController();
  readonly #environment: Environment;
  #plan: Plan = smoothly;
  #meddled: Promise<unknown>[] = [];
  readonly #controllers: AbortController[] = [];
  #texts = 0;

  constructor(environment: Environment, { isWatched }: { readonly isWatched: boolean }) {
    this.#environment = environment;
    this.isWatched = isWatched;
    this.session = this.#host().session();
  }

  /** New text each time. */
  text(what: string): string {
    this.#texts += 1;
    return `${what} ${this.#texts}`;
  }

  /** One call of the session, with what goes wrong in it. */
  async attempt(plan: Plan, call: () => unknown): Promise<Attempt> {
    this.#plan = plan;
    this.#meddled = [];
    this.calls = [];
    this.cut = null;
    this.abort = new AbortController();
    this.#controllers.push(this.abort);
    const attempt: Attempt = await (async () => call())().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    this.#plan = smoothly;
    const codes = await Promise.all(this.#meddled);
    expect(codes, "calls while another is under way").toEqual(codes.map(() => "invalid_state"));
    return attempt;
  }

  /** Ends what is over, by the signals of every call but the one that made the open turn ready. */
  abortEarlier(isOpen: boolean): void {
    for (const controller of this.#controllers) {
      if (!isOpen || controller !== this.turnAbort) controller.abort(reason);
    }
  }

  /** The state as another process reads it. */
  savedState(): SessionState {
    const { state } = this.session;
    const saved = JSON.parse(JSON.stringify(state));
    expect(saved, "a state is plain JSON").toEqual(state);
    return saved;
  }

  /** Another process goes on. */
  goOnFrom(state: SessionState): void {
    this.session = this.#host().session({ state });
    this.turnAbort = undefined;
  }

  /** What a session would show that goes on from here in a host whose slots recall nothing. */
  async shownTo(caller: CallerName, said: Said): Promise<unknown> {
    const session = this.#host({ recallsNothing: true }).session({ state: this.savedState() });
    const { turn } = this.session.state;
    const { messages } =
      turn?.open !== undefined
        ? await session.resumeTurn({ auth: turn.caller })
        : await session.startTurn(said.content as UserContent, { auth: callers[caller] });
    return messages;
  }

  /** What `summarize` is: a step like those of providers. */
  summarize(summary: string, thrown: Error | null): (messages: ModelMessage[]) => Promise<string> {
    return async (messages) => {
      this.cut = messages;
      return this.#step("summarize", null, () => {
        if (thrown !== null) throw thrown;
        return summary;
      });
    };
  }

  #host({ recallsNothing = false }: { readonly recallsNothing?: boolean } = {}) {
    const slots = Object.fromEntries(
      slotNames.toReversed().map((name) => [name, recallsNothing ? this.#silentSlot(name) : this.#slot(name)]),
    );
    return createMemoryHost({ slots, allowSharedPartitions: true, randomId: () => sessionId });
  }

  #silentSlot(slot: SlotName): MemoryDefinition {
    return this.#definition(slot, { recall: { "turn.started": () => null } });
  }

  #definition(slot: SlotName, provider: MemoryDefinition["provider"]): MemoryDefinition {
    const environment = this.#environment;
    return defineMemory({
      provider,
      visibility: environment.visibility[slot],
      scope: (context) =>
        this.#step("scope", slot, () => {
          if (!environment.scopeIsOn[slot]) return null;
          return slot === "zeta" ? ["team", "7"] : byPrincipal(context);
        }),
      namespace: () => this.#step("namespace", slot, () => environment.namespace[slot]),
    });
  }

  #slot(slot: SlotName): MemoryDefinition {
    const recall =
      (step: Step) =>
      (context: ProviderContext): Promise<{ messages: readonly Recalled[] } | null> =>
        this.#called(step, slot, context, (partition) => {
          const messages = this.#environment.stored(partition);
          return messages.length === 0 ? null : { messages };
        });
    const capture =
      (step: Step) =>
      (context: ProviderContext): Promise<void> =>
        this.#called(step, slot, context, () => {});
    const has = (step: Step) => handlers[slot].some((each) => each === step);
    return this.#definition(slot, {
      recall: {
        "turn.started": recall("turn.started"),
        ...(has("compaction.completed") ? { "compaction.completed": recall("compaction.completed") } : {}),
      },
      capture: {
        ...(has("turn.completed") ? { "turn.completed": capture("turn.completed") } : {}),
        ...(has("compaction.requested") ? { "compaction.requested": capture("compaction.requested") } : {}),
      },
      tools: (context) => this.#called("tools", slot, context, () => ({ ping })),
    });
  }

  async #called<T>(
    step: Step,
    slot: SlotName,
    context: ProviderContext,
    answer: (partition: Partition) => T,
  ): Promise<T> {
    const { memory, operationId, session, turn, messages } = context;
    const partition = { slot, namespace: memory.scope.namespace, scope: memory.scope.value };
    expect(memory.slot).toBe(slot);
    expect(memory.scope.key).toBe(scopeKey(partition));
    const caller = callerNames.find((name) => callers[name]?.principalId === session.auth.current?.principalId);
    expect(turn, "a provider is told the turn").not.toBeNull();
    this.calls.push({
      step,
      partition,
      operationId,
      caller: caller ?? "nobody",
      turn: { id: turn?.id ?? "", sequence: turn?.sequence ?? -1, input: turn?.input ?? [] },
      messages,
    });
    return this.#step(step, slot, () => answer(partition));
  }

  async #step<T>(step: Step, slot: SlotName | null, answer: () => T): Promise<T> {
    const { abort, failing, meddling } = this.#plan;
    if (meddling && this.#meddled.length === 0) this.#meddle();
    if (abort?.step === step && (slot === null || abort.slot === slot)) {
      if (abort.by === "signal") this.abort.abort(reason);
      else this.session.cancelTurn();
      if (abort.afterwards === "hangs") return new Promise(() => {});
      if (abort.afterwards === "throws") throw new Error("interrupted");
    }
    const failure = failing.find((each) => each.step === step && each.slot === slot);
    if (failure?.how === "answers badly" && step in badAnswers) return badAnswers[step] as T;
    if (failure !== undefined) throw new Error("broken");
    return answer();
  }

  #meddle(): void {
    const code = (error: unknown): unknown => (MemoryError.isInstance(error) ? error.code : error);
    const { session } = this;
    const answer = { responseMessages: [{ role: "assistant" as const, content: "meddled" }] };
    const meddling = [
      () => session.startTurn("meddled"),
      () => session.resumeTurn(),
      () => session.completeTurn(answer),
      () => session.compact({ summarize: () => "meddled", keepMessages: 0 }),
      () => session.clear(),
    ];
    this.#meddled = meddling.map((call) => (async () => call())().then(() => "went through", code));
  }
}

type ProviderContext = Pick<MemoryTurnContext, "memory" | "messages"> & {
  readonly session: Pick<MemoryTurnContext["session"], "auth">;
  readonly operationId?: string;
  readonly turn: MemoryTurnContext["turn"] | null;
};

/** What ends a call by a signal. */
const reason = "the caller left";

/** Not zod's, which costs more than all else that a turn does. */
const anything = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};
const ping = defineTool({ description: "Ping.", inputSchema: anything, execute: () => "pong" });

/** What no resolver, provider or summary may answer. */
const badAnswers: Readonly<Partial<Record<Step, unknown>>> = {
  scope: "",
  namespace: " ",
  "turn.started": { messages: [{ content: " " }] },
  "compaction.completed": { messages: [{ content: "text", id: "" }] },
  tools: [],
};

// --- The comparison ---

function expectSame(expected: Expected, { value, error }: Attempt, plan: Plan, real: RealSession): void {
  const { outcome, calls, cut, mayBeLeftOut } = expected;
  switch (outcome.kind) {
    case "ready": {
      const handle = value as Awaited<ReturnType<MemorySession["startTurn"]>> | undefined;
      const { id, sequence, messages, tools = {} } = handle ?? {};
      expect({ error, id, sequence, messages, tools: Object.keys(tools) }).toEqual({
        ...outcome,
        kind: undefined,
        id: `turn_${outcome.sequence}`,
      });
      break;
    }
    case "compacted":
      expect({ error, value }).toEqual({ value: { compacted: outcome.compacted, messages: outcome.messages } });
      break;
    case "done":
      expect({ error, value }).toEqual({});
      break;
    case "refused": {
      const { code, slot } = MemoryError.isInstance(error) ? error : { code: error ?? value, slot: undefined };
      expect(outcome.codes).toContain(code);
      if (outcome.slots.length > 0) expect(outcome.slots).toContain(slot);
      break;
    }
    case "passed on":
      expect(error).toBe(summarizeFailure);
      break;
    case "aborted":
      if (outcome.by === "signal") expect({ error, value }).toEqual({ error: reason });
      else expect(error).toMatchObject({ name: "AbortError" });
  }
  expect(real.cut, "what is summed up").toEqual(cut);
  const called = wasReached(plan, calls) ? calls.slice(0, real.calls.length) : calls;
  const told = (call: Call): Call => ({
    ...call,
    messages: call.messages.filter(({ content }) => call.step === "tools" || !mayBeLeftOut?.has(content)),
  });
  expect(real.calls.map(told), "calls of providers").toEqual(called.map(told));
  if (called.length < calls.length) expect(called.some(isAborting(plan))).toBe(true);
}

const isAborting =
  ({ abort }: Plan) =>
  (call: Call): boolean =>
    call.step === abort?.step && call.partition.slot === abort.slot;

/** Once a call is given up, nobody else need be called. */
function wasReached(plan: Plan, calls: readonly Call[]): boolean {
  return calls.some(isAborting(plan));
}

async function expectSameState(model: SessionModel, real: RealSession): Promise<void> {
  const state = real.savedState();
  const { history, nextSequence, turn } = state;
  expect(nextSequence).toBe(model.nextSequence);
  expect(history, "the history").toEqual(
    model.live.map(({ message, record }) => ({
      message,
      ...(record === undefined
        ? {}
        : {
            record: {
              slot: record.slot,
              namespaceKey: namespaceKey(record.namespace),
              scopeKey: scopeKey(record),
              ...(record.id === undefined ? {} : { itemKey: itemKey(record.id) }),
            },
          }),
    })),
  );
  const { latest } = model;
  const { sequence, caller, locks, open } = turn ?? {};
  expect({ sequence, caller, locks, isOpen: open !== undefined, recalled: Object.keys(open?.recalled ?? {}) }).toEqual({
    sequence: latest?.sequence,
    caller: latest === null ? undefined : callers[latest.caller],
    locks: latest?.locks,
    isOpen: model.open,
    recalled: model.open ? Object.keys(latest?.recalled ?? {}) : [],
  });
  const live = model.live.flatMap(({ message, record }) => (record === undefined ? [] : [message.content]));
  expect(canariesIn(JSON.stringify(state)), "recalled text anywhere in the state").toEqual(new Set(live));

  const said = { content: "And now?", context: [] };
  for (const name of model.open ? (["nobody"] as const) : callerNames) {
    const shown = await real.shownTo(name, said);
    expect(shown, `what is shown to ${name}`).toEqual(model.shownTo(name, said));
  }
}

/** Recalled texts say whose they are, and no two are alike. */
function canary({ slot, namespace, scope }: Partition, { id = "", variant }: Remembered): string {
  return `<${slot}/${namespace}/${String(scope).replaceAll('"', "")}/${id}/${variant}>`;
}

function canariesIn(text: string): ReadonlySet<string> {
  return new Set(text.match(/<[^>]*>/g) ?? []);
}

// --- The calls ---

class Command implements fc.AsyncCommand<SessionModel, RealSession> {
  readonly #name: string;
  readonly #fits: (model: Readonly<SessionModel>) => boolean;
  readonly #act: (model: SessionModel, real: RealSession) => unknown;

  constructor(
    name: string,
    fits: (model: Readonly<SessionModel>) => boolean,
    act: (model: SessionModel, real: RealSession) => unknown,
  ) {
    this.#name = name;
    this.#fits = fits;
    this.#act = act;
  }

  check(model: Readonly<SessionModel>): boolean {
    return this.#fits(model);
  }

  async run(model: SessionModel, real: RealSession): Promise<void> {
    await this.#act(model, real);
    if (real.isWatched) await expectSameState(model, real);
  }

  toString(): string {
    return this.#name;
  }
}

const always = (): boolean => true;
const isOpen = ({ open }: Readonly<SessionModel>): boolean => open;
const isReady = ({ open, interrupted }: Readonly<SessionModel>): boolean => open && !interrupted;
const isBetweenTurns = ({ open }: Readonly<SessionModel>): boolean => !open;
const isInterrupted = ({ interrupted }: Readonly<SessionModel>): boolean => interrupted;
const summarizeFailure = new Error("the summary's model is down");

async function start(
  model: SessionModel,
  real: RealSession,
  { caller, said, plan }: { readonly caller: CallerName; readonly said: Said; readonly plan: Plan },
): Promise<void> {
  const wasInterrupted = model.interrupted;
  const committed = new Set(model.committed);
  const expected = model.start(caller, said, plan);
  const attempt = await real.attempt(plan, () =>
    real.session.startTurn(said.content as UserContent, {
      auth: callers[caller],
      abortSignal: real.abort.signal,
      context: said.context,
    }),
  );
  expectSame(expected, attempt, plan, real);
  if (!wasInterrupted) expectNew(real.calls, committed);
  if (expected.outcome.kind !== "ready") return;
  real.turnAbort = real.abort;
  real.lastSaid = said;
  real.lastCaller = caller;
}

/** The id of an operation that has left its mark is not given to another. */
function expectNew(calls: readonly Call[], committed: ReadonlySet<string>): void {
  const ids = calls.flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId]));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => committed.has(id))).toEqual([]);
}

type AnswerStep = "text" | "tool call";

/** What a model loop adds: text, or a tool's call with its result. */
function answerOf(steps: readonly AnswerStep[], real: RealSession): readonly ModelMessage[] {
  return steps.flatMap((step): ModelMessage[] => {
    if (step === "text") return [{ role: "assistant", content: real.text("answer") }];
    const call = { toolCallId: real.text("call"), toolName: "a_b__ping" };
    return [
      { role: "assistant", content: [{ type: "tool-call", ...call, input: {} }] },
      { role: "tool", content: [{ type: "tool-result", ...call, output: { type: "text", value: "pong" } }] },
    ];
  });
}

const slot = fc.constantFrom(...slotNames);
const caller = fc.constantFrom<CallerName[]>("ann", "ann", "ben", "nobody");

function planOf(steps: readonly Step[], abortable: readonly Step[] = steps): fc.Arbitrary<Plan> {
  const failing = fc.uniqueArray(
    fc.record({
      slot,
      step: fc.constantFrom(...steps),
      how: fc.constantFrom("throws" as const, "answers badly" as const),
    }),
    { selector: (each) => `${each.step} of ${each.slot}`, minLength: 1, maxLength: 2 },
  );
  const abort = fc.record({
    slot,
    step: fc.constantFrom(...abortable),
    by: fc.constantFrom("signal" as const, "cancelTurn" as const),
    afterwards: fc.constantFrom("goes on" as const, "throws" as const, "hangs" as const),
  });
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 6, arbitrary: fc.constant(smoothly) },
    { weight: 1, arbitrary: fc.constant({ ...smoothly, meddling: true }) },
    { weight: 2, arbitrary: failing.map((each): Plan => ({ ...smoothly, failing: each })) },
    { weight: 2, arbitrary: abort.map((each): Plan => ({ ...smoothly, abort: each })) },
  );
}

function described({ failing, abort, meddling }: Plan): string {
  const parts = [
    ...failing.map((each) => `${each.step} of ${each.slot} ${each.how}`),
    ...(abort === null
      ? []
      : [`${abort.by} ends it in ${abort.step} of ${abort.slot}, which then ${abort.afterwards}`]),
    ...(meddling ? ["a provider uses the session"] : []),
  ];
  return parts.map((part) => `; ${part}`).join("");
}

interface Remembered {
  readonly id: string | undefined;
  readonly variant: string;
}

const remembered = fc.uniqueArray(
  fc.record({ id: fc.constantFrom("x", "y", undefined), variant: fc.constantFrom("A", "B", "C") }),
  { selector: ({ id }) => id ?? Symbol("each apart"), maxLength: 3 },
);

const remember = fc
  .record({ slot, namespace: fc.constantFrom("app", "app", "lab"), caller, messages: remembered })
  .map(
    ({ slot: name, namespace, caller: who, messages }) =>
      new Command(
        `${name} in ${namespace} remembers of ${who}: ${messages.map(({ id = "-", variant }) => `${id}=${variant}`).join(", ")}`,
        always,
        ({ environment }) => storeFor(environment, { slot: name, namespace, caller: who }, messages),
      ),
  );

function storeFor(
  environment: Environment,
  place: { readonly slot: SlotName; readonly namespace: string; readonly caller: CallerName },
  messages: readonly Remembered[],
): void {
  const scope = partitionValue(place.slot, place.caller);
  if (scope === null) return;
  const partition = { slot: place.slot, namespace: place.namespace, scope };
  environment.store(
    partition,
    messages.map(({ id, variant }) => ({
      content: canary(partition, { id, variant }),
      ...(id === undefined ? {} : { id }),
    })),
  );
}

/** The scope that a slot has for a caller while it is on. */
function partitionValue(name: SlotName, who: CallerName): Partition["scope"] | null {
  if (name === "zeta") return ["team", "7"];
  return byPrincipal({
    abortSignal: new AbortController().signal,
    channel: {},
    session: { id: sessionId, auth: { current: callers[who], initiator: null } },
  });
}

const configure = fc
  .record({ slot, isOn: fc.constantFrom(true, true, true, false), namespace: fc.constantFrom("app", "lab", null) })
  .map(
    ({ slot: name, isOn, namespace }) =>
      new Command(`${name} is ${isOn ? "on" : "off"} with namespace ${namespace}`, always, ({ environment }) => {
        environment.scopeIsOn[name] = isOn;
        environment.namespace[name] = namespace;
      }),
  );

const startTurn = fc
  .record({
    who: caller,
    plan: planOf(["scope", "namespace", "turn.started", "turn.started", "tools"]),
    inParts: fc.boolean(),
    withContext: fc.boolean(),
  })
  .map(
    ({ who, plan, inParts, withContext }) =>
      new Command(
        `startTurn by ${who}${inParts ? " in parts" : ""}${withContext ? " with context" : ""}${described(plan)}`,
        isBetweenTurns,
        (model, real) => {
          const text = real.text("question");
          const content = inParts ? [{ type: "text" as const, text }] : text;
          const said = { content, context: withContext ? [real.text("screen")] : [] };
          return start(model, real, { caller: who, said, plan });
        },
      ),
  );

const startAgain = fc
  .record({ plan: planOf(["scope", "turn.started", "tools"]) })
  .map(
    ({ plan }) =>
      new Command(`startTurn again${described(plan)}`, isInterrupted, (model, real) =>
        start(model, real, { caller: real.lastCaller, said: real.lastSaid, plan }),
      ),
  );

const startAgainOtherwise = fc.constantFrom("another caller", "another input", "other context").map(
  (difference) =>
    new Command(`startTurn again with ${difference}`, isInterrupted, (model, real) => {
      const { lastSaid: said, lastCaller } = real;
      const caller = difference === "another caller" ? (lastCaller === "ben" ? "ann" : "ben") : lastCaller;
      const other = {
        content: difference === "another input" ? real.text("question") : said.content,
        context: difference === "other context" ? [...said.context, "more"] : said.context,
      };
      return start(model, real, { caller, said: other, plan: smoothly });
    }),
);

const resumeTurn = planOf(["tools"]).map(
  (plan) =>
    new Command(`resumeTurn${described(plan)}`, isInterrupted, async (model, real) => {
      const expected = model.resume(plan);
      const auth = callers[model.latest?.caller ?? "nobody"];
      const attempt = await real.attempt(plan, () => real.session.resumeTurn({ auth, abortSignal: real.abort.signal }));
      expectSame(expected, attempt, plan, real);
      if (expected.outcome.kind === "ready") real.turnAbort = real.abort;
    }),
);

const steps = fc.array(fc.constantFrom<AnswerStep[]>("text", "tool call"), { maxLength: 2 });

const completeTurn = fc
  .record({ added: steps, forgets: fc.constantFrom(false, false, false, true), plan: planOf(["turn.completed"]) })
  .map(
    ({ added, forgets, plan }) =>
      new Command(
        `completeTurn after ${added.join(", ") || "no more"}${forgets ? ", without the first message" : ""}${described(plan)}`,
        isOpen,
        async (model, real) => {
          model.answer = [...model.answer, ...answerOf(added, real)];
          const responseMessages = forgets ? model.answer.slice(1) : model.answer;
          const committed = new Set(model.committed);
          const expected = model.complete(responseMessages);
          const attempt = await real.attempt(plan, () =>
            real.session.completeTurn({ responseMessages, abortSignal: real.abort.signal }),
          );
          expectSame(expected, attempt, plan, real);
          expectNew(real.calls, committed);
        },
      ),
  );

const cancelTurn = fc.constantFrom("cancelTurn", "the turn's signal").map(
  (by) =>
    new Command(`${by} ends the turn`, isOpen, async (model, real) => {
      const expected = model.cancel();
      const attempt = await real.attempt(smoothly, () => {
        if (by === "cancelTurn" || real.turnAbort === undefined) real.session.cancelTurn();
        else real.turnAbort.abort(reason);
      });
      expectSame(expected, attempt, smoothly, real);
    }),
);

const compact = fc
  .record({
    keepMessages: fc.nat({ max: 4 }),
    added: steps,
    gives: fc.constantFrom("the answer", "the answer", "the answer", "nothing", "the answer without its first message"),
    summarize: fc.constantFrom("answers", "answers", "answers", "answers", "throws", "answers blank"),
    plan: planOf(
      ["compaction.requested", "compaction.completed"],
      ["compaction.requested", "summarize", "compaction.completed"],
    ),
  })
  .map(({ keepMessages, added, gives, summarize, plan: drawn }) => {
    const name = `compact, keeping ${keepMessages}; within a turn after ${added.join(", ") || "no more"}, given ${gives}; summarize ${summarize}${described(drawn)}`;
    return new Command(name, always, async (model, real) => {
      // Between turns there is none to cancel.
      const abort = drawn.abort === null || model.open ? drawn.abort : { ...drawn.abort, by: "signal" as const };
      const plan = { ...drawn, abort };
      if (model.open) model.answer = [...model.answer, ...answerOf(added, real)];
      const answer = gives === "nothing" ? [] : gives === "the answer" ? model.answer : model.answer.slice(1);
      const summary = summarize === "answers blank" ? " \n" : real.text("summary");
      const summarizeThrows = summarize === "throws";
      const committed = new Set(model.committed);
      const expected = model.compact({ keepMessages, answer, summary, summarizeThrows }, plan);
      const attempt = await real.attempt(plan, () =>
        real.session.compact({
          keepMessages,
          abortSignal: real.abort.signal,
          summarize: real.summarize(summary, summarizeThrows ? summarizeFailure : null),
          ...(answer.length > 0 ? { responseMessages: answer } : {}),
        }),
      );
      expectSame(expected, attempt, plan, real);
      expectNew(real.calls, committed);
    });
  });

const clear = fc.constant(
  new Command("clear", isBetweenTurns, async (model, real) => {
    const expected = model.clear();
    expectSame(expected, await real.attempt(smoothly, () => real.session.clear()), smoothly, real);
  }),
);

const restart = fc.constantFrom(null, null, null, ...slotNames).map((name) => {
  const change = name === null ? "" : `, with another visibility of ${name}`;
  return new Command(`another process goes on${change}`, always, (model, real) => {
    const { visibility } = model.environment;
    if (name !== null) visibility[name] = visibility[name] === "scope" ? "session" : "scope";
    model.restart();
    real.goOnFrom(real.savedState());
    expect(real.session.id).toBe(sessionId);
  });
});

const purge = fc
  .record({
    slot,
    caller: fc.constantFrom<CallerName[]>("ann", "ben"),
    namespace: fc.constantFrom("app", "app", "lab"),
  })
  .map(
    ({ slot: name, caller: who, namespace }) =>
      new Command(
        `what ${name} recalled of ${who} in ${namespace} is purged, and another process goes on`,
        always,
        (model, real) => {
          const scope = partitionValue(name, who) ?? "";
          model.purge({ namespace, scope });
          model.restart();
          real.goOnFrom(purgeState(real.savedState(), scopeKey({ namespace, scope })));
        },
      ),
  );

/** Nobody listens to them any more. */
const abortOfWhatIsOver = fc.constant(
  new Command("the signals of all earlier calls abort", always, (model, real) => real.abortEarlier(model.open)),
);

/** Calls that do not fit the moment, and change nothing. */
const misfits: readonly Command[] = [
  misfit(
    "startTurn while a turn is open",
    ({ open, interrupted }) => open && !interrupted,
    "invalid_state",
    (session) => session.startTurn("too early"),
  ),
  misfit(
    "startTurn without words",
    ({ open, interrupted }) => !open || interrupted,
    "invalid_input",
    (session) => session.startTurn(""),
  ),
  misfit(
    "startTurn with an aborted signal",
    ({ open, interrupted }) => !open || interrupted,
    reason,
    (session) => session.startTurn("too late", { abortSignal: AbortSignal.abort(reason) }),
  ),
  misfit(
    "resumeTurn without an interrupted turn",
    ({ interrupted }) => !interrupted,
    "invalid_state",
    (session) => session.resumeTurn(),
  ),
  misfit("resumeTurn with an aborted signal", isInterrupted, reason, (session) =>
    session.resumeTurn({ auth: session.state.turn?.caller, abortSignal: AbortSignal.abort(reason) }),
  ),
  misfit("resumeTurn by another caller", isInterrupted, "invalid_state", (session) =>
    session.resumeTurn({ auth: { principalType: "user", authenticator: "app", principalId: "eve", attributes: {} } }),
  ),
  misfit("completeTurn without a turn", isBetweenTurns, "invalid_state", (session) =>
    session.completeTurn({ responseMessages: [{ role: "assistant", content: "to nobody" }] }),
  ),
  misfit("completeTurn with a user's message", isReady, "invalid_input", (session) =>
    session.completeTurn({ responseMessages: [{ role: "user", content: "me again" }] }),
  ),
  misfit("cancelTurn without a turn", isBetweenTurns, undefined, (session) => session.cancelTurn()),
  misfit("clear while a turn is open", isOpen, "invalid_state", (session) => session.clear()),
  misfit("compact with an answer between turns", isBetweenTurns, "invalid_options", (session) =>
    session.compact({ summarize: () => "never", responseMessages: [{ role: "assistant", content: "to nobody" }] }),
  ),
  misfit("compact with an aborted signal", always, reason, (session) =>
    session.compact({ summarize: () => "never", keepMessages: 0, abortSignal: AbortSignal.abort(reason) }),
  ),
];

function misfit(
  name: string,
  fits: (model: Readonly<SessionModel>) => boolean,
  ending: string | undefined,
  call: (session: MemorySession) => unknown,
): Command {
  return new Command(name, fits, async (_model, real) => {
    const { error } = await real.attempt(smoothly, () => call(real.session));
    expect(MemoryError.isInstance(error) ? error.code : error).toBe(ending);
    expect(real.calls).toEqual([]);
  });
}

it("a session keeps to its rules, whatever happens in whatever order", { timeout: 10_000 + 500 * runs }, async () => {
  console.log(`Session model: KEEPSAKE_MODEL_SEED=${seed} KEEPSAKE_MODEL_RUNS=${runs}`);
  const often = (times: number, command: fc.Arbitrary<Command>) => Array.from({ length: times }, () => command);
  const conversation = fc.commands(
    [
      ...often(5, startTurn),
      ...often(4, completeTurn),
      ...often(4, compact),
      ...often(4, remember),
      ...often(2, restart),
      ...often(3, startAgain),
      ...often(3, configure),
      resumeTurn,
      cancelTurn,
      startAgainOtherwise,
      clear,
      purge,
      abortOfWhatIsOver,
      ...often(2, fc.constantFrom(...misfits)),
    ],
    { maxCommands: 25, size: "max" },
  );
  const property = fc.asyncProperty(conversation, fc.boolean(), async (commands, isWatched) => {
    const model = new SessionModel(sessionId);
    for (const name of slotNames) {
      for (const caller of callerNames) {
        storeFor(model.environment, { slot: name, namespace: "app", caller }, [{ id: "x", variant: "A" }]);
      }
    }
    const real = new RealSession(model.environment, { isWatched });
    await fc.asyncModelRun(() => ({ model, real }), commands);
    await expectSameState(model, real);
  });
  await fc.assert(property, { seed, numRuns: runs });
});
