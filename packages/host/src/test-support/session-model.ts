/**
 * The rules of a session, written a second time: from the clauses of eve's behaviour (the numbers beside them) and from what
 * the host promises, in the plainest data there is. A test holds the real session against it.
 *
 * A step tells what must come of a call and which providers must be called for it, and moves the model on.
 */
import type { MemoryPhase, MemoryVisibility, MessageKind, ModelMessage } from "@keepsake/core";

/** In the order of slots, which is not that of bytes (6.2). */
export const slotNames = ["a_b", "Beta", "zeta"] as const;
export type SlotName = (typeof slotNames)[number];
export const callerNames = ["ann", "ben", "nobody"] as const;
export type CallerName = (typeof callerNames)[number];
type ScopeValue = string | readonly string[];

/** What each slot takes part in, beside resolving a scope, recalling for a turn and offering a tool. */
export const handlers: Readonly<Record<SlotName, readonly MemoryPhase[]>> = {
  a_b: ["turn.started", "turn.completed", "compaction.requested", "compaction.completed"],
  Beta: ["turn.started", "turn.completed", "compaction.requested"],
  zeta: ["turn.started", "compaction.completed"],
};

export interface Partition {
  readonly slot: SlotName;
  readonly namespace: string;
  readonly scope: ScopeValue;
}

export interface Recalled {
  readonly id?: string;
  readonly content: string;
}

/** What surrounds a session: the slots as they are configured, and what they have stored. The test changes it. */
export class Environment {
  readonly scopeIsOn: Record<SlotName, boolean> = { a_b: true, Beta: true, zeta: true };
  readonly namespace: Record<SlotName, string | null> = { a_b: "app", Beta: "app", zeta: "app" };
  /** Takes effect with the next host. */
  readonly visibility: Record<SlotName, MemoryVisibility> = { a_b: "scope", Beta: "session", zeta: "scope" };
  readonly #stored = new Map<string, readonly Recalled[]>();

  /** The first two slots are by principal (4.2), the third is everybody's. */
  scopeOf(slot: SlotName, caller: CallerName): ScopeValue | null {
    if (!this.scopeIsOn[slot]) return null;
    if (slot === "zeta") return ["team", "7"];
    return caller === "nobody" ? null : JSON.stringify(["user", "test", null, caller]);
  }

  stored({ slot, namespace, scope }: Partition): readonly Recalled[] {
    return this.#stored.get(JSON.stringify([slot, namespace, scope])) ?? [];
  }

  store({ slot, namespace, scope }: Partition, messages: readonly Recalled[]): void {
    this.#stored.set(JSON.stringify([slot, namespace, scope]), messages);
  }
}

export type Step = MemoryPhase | "scope" | "namespace" | "tools" | "summarize";

/** What goes wrong in a call, where the call gets that far. */
export interface Plan {
  readonly failing: readonly {
    readonly slot: SlotName;
    readonly step: Step;
    readonly how: "throws" | "answers badly";
  }[];
  readonly abort: {
    readonly slot: SlotName;
    readonly step: Step;
    readonly by: "signal" | "cancelTurn";
    readonly afterwards: "goes on" | "throws" | "hangs";
  } | null;
  /** The first provider that is called tries to use the session meanwhile. */
  readonly meddling: boolean;
}

export const smoothly: Plan = { failing: [], abort: null, meddling: false };

type Message = ModelMessage & { readonly kind?: MessageKind };

export interface Said {
  readonly content: string | readonly { readonly type: "text"; readonly text: string }[];
  readonly context: readonly string[];
}

/** A call of a provider, with all of what it is told that the rules speak of. */
export interface Call {
  readonly step: Step;
  readonly partition: Partition;
  /** Tools have none (5.8). */
  readonly operationId: string | undefined;
  readonly caller: CallerName;
  readonly turn: { readonly id: string; readonly sequence: number; readonly input: readonly Message[] };
  readonly messages: readonly Message[];
}

type Outcome =
  | { readonly kind: "done" }
  | {
      readonly kind: "ready";
      readonly sequence: number;
      readonly messages: readonly ModelMessage[];
      readonly tools: readonly string[];
    }
  | { readonly kind: "compacted"; readonly compacted: boolean; readonly messages: readonly ModelMessage[] }
  /** With one of the codes and, where slots are named, one of these. */
  | { readonly kind: "refused"; readonly codes: readonly string[]; readonly slots: readonly string[] }
  /** With what `summarize` threw. */
  | { readonly kind: "passed on" }
  | { readonly kind: "aborted"; readonly by: "signal" | "cancelTurn" };

export interface Expected {
  readonly outcome: Outcome;
  /** In this order. Of one that is aborted meanwhile, those that came first. */
  readonly calls: readonly Call[];
  /** What was summed up, where that was asked for. */
  readonly cut: readonly ModelMessage[] | null;
  /** Recalled texts of a turn that is started again: its recalls may be told of them or not. */
  readonly mayBeLeftOut?: ReadonlySet<unknown>;
}

interface Entry {
  readonly message: Message;
  readonly record?: Partition & { readonly id: string | undefined };
}

interface Turn {
  readonly sequence: number;
  readonly caller: CallerName;
  readonly input: readonly Entry[];
  readonly locks: readonly Partition[];
  /** What was recalled when it began, by slot. */
  readonly recalled: Readonly<Record<string, string>>;
  /** What it has added to the history by recalling. */
  readonly added: Set<unknown>;
  /** How many compactions there were in it or since. */
  compactions: number;
  /** What a compaction has taken of the answer. */
  taken: readonly ModelMessage[];
}

export class SessionModel {
  readonly environment = new Environment();
  nextSequence = 0;
  /** The latest turn that became ready. */
  latest: Turn | null = null;
  open = false;
  /** Open, and left so by another process. */
  interrupted = false;
  /** What the model loop of the open turn has added so far. */
  answer: readonly ModelMessage[] = [];
  /** Operations whose effect is in the history. No later call may bear such an id. */
  readonly committed = new Set<string>();
  /** As in eve nothing is ever taken out of it; what is superseded is hidden (6.6), and no part of a state. */
  #history: Entry[] = [];
  readonly #sessionId: string;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** What a state may hold: all but superseded records. */
  get live(): readonly Entry[] {
    return this.#history.filter((entry) => !this.#isSuperseded(entry, this.#history));
  }

  /** What a model would be shown if nothing were recalled: of the open turn, or of one that says this. */
  shownTo(caller: CallerName, said: Said): readonly ModelMessage[] {
    if (this.open) return toModel(this.#shown(this.#history, this.latest?.locks ?? []));
    return toModel(this.#shown([...this.#history, ...entriesOf(said)], this.#locks(caller)));
  }

  start(caller: CallerName, said: Said, plan: Plan): Expected {
    const mayBeLeftOut = this.interrupted ? this.latest?.added : undefined;
    const expected = this.#start(caller, said, plan);
    return mayBeLeftOut === undefined ? expected : { ...expected, mayBeLeftOut };
  }

  #start(caller: CallerName, said: Said, plan: Plan): Expected {
    const again = this.interrupted ? this.latest : null;
    if (this.open && again === null) return refused(["invalid_state"]);
    if (again !== null && !isSame(again, caller, said)) return refused(["invalid_state"]);
    const sequence = again?.sequence ?? this.nextSequence;
    const input = again?.input ?? entriesOf(said);
    const round = { sequence, turnSequence: sequence, caller, input };
    const cancelled = (calls: readonly Call[], settled?: readonly Partition[]): Expected => {
      // The input stays; of a recall nothing is kept (7.3). One that is started again has its input in the history.
      if (again === null) {
        this.#history.push(...input);
        const nothing = { recalled: {}, added: new Set<unknown>(), compactions: 0, taken: [] };
        // Its scopes hold (6.4), or where none was settled, those of its caller's latest turn.
        if (settled !== undefined || this.latest?.caller !== caller) {
          this.latest = { sequence, caller, input, locks: settled ?? [], ...nothing };
        }
      }
      this.#close(sequence);
      return { outcome: { kind: "aborted", by: plan.abort?.by ?? "signal" }, calls, cut: null };
    };
    const failed = (codes: readonly string[], slots: readonly string[], calls: readonly Call[] = []): Expected => {
      if (again === null) this.#close(sequence); // the number is used up
      return { ...refused(codes, slots), calls };
    };

    const scoped = slotNames.filter((slot) => this.environment.scopeOf(slot, caller) !== null);
    const { abort } = plan;
    if (abort?.step === "scope" || (abort?.step === "namespace" && scoped.includes(abort.slot))) return cancelled([]);
    const reachesNamespace = (slot: SlotName): boolean =>
      scoped.includes(slot) || plan.failing.some((each) => each.slot === slot && each.step === "scope");
    const unresolved = plan.failing.filter(({ slot, step, how }) => {
      if (step === "namespace") return reachesNamespace(slot);
      // A slot without a namespace is off before its scope is looked at (2.6).
      return step === "scope" && (how === "throws" || this.environment.namespace[slot] !== null);
    });
    // No provider is called unless every slot has its scope (2.7).
    if (unresolved.length > 0) {
      const codes = unresolved.map(({ how }) => (how === "throws" ? "scope_failed" : "invalid_scope"));
      return failed(
        codes,
        unresolved.map(({ slot }) => slot),
      );
    }

    const locks = this.#locks(caller);
    const inputAt = again === null ? this.#history.length : this.#history.findIndex((entry) => input.includes(entry));
    const before = this.#shown(this.#history, locks, { end: inputAt });
    const calls = this.#calls("turn.started", round, locks, before);
    if (reaches(abort, "turn.started", locks)) return cancelled(calls, locks);
    const broken = firstFailing(plan, "turn.started", locks);
    if (broken !== undefined) {
      return failed([broken.how === "throws" ? "recall_failed" : "invalid_recall"], [broken.slot], calls);
    }
    const recalled = Object.fromEntries(
      locks.map((lock) => [lock.slot, JSON.stringify([lock, this.environment.stored(lock)])]),
    );
    if (again !== null) {
      const slot = slotNames.find((name) => recalled[name] !== again.recalled[name]);
      if (slot !== undefined) return failed(["replay_diverged"], [], calls);
    }
    const after = again === null ? [...this.#withRecalled(this.#history, locks), ...input] : this.#history;
    const messages = this.#shown(after, locks);
    const withTools = [...calls, ...this.#calls("tools", round, locks, messages)];
    if (reaches(abort, "tools", locks)) return cancelled(withTools, locks);

    this.#history = after;
    if (again === null) {
      const added = new Set<unknown>(after.slice(inputAt, -input.length).map(({ message }) => message.content));
      this.latest = { sequence, caller, input, locks, recalled, added, compactions: 0, taken: [] };
      this.answer = [];
    }
    this.nextSequence = sequence + 1;
    this.open = true;
    this.interrupted = false;
    this.#commit(calls);
    return {
      outcome: { kind: "ready", sequence, messages: toModel(messages), tools: toolsOf(locks, plan) },
      calls: withTools,
      cut: null,
    };
  }

  /** Scopes and what was recalled are those of the first time; only tools are made again. */
  resume(plan: Plan): Expected {
    const turn = this.latest;
    if (!this.interrupted || turn === null) return refused(["invalid_state"]);
    const { sequence, locks } = turn;
    const messages = this.#shown(this.#history, locks);
    const calls = this.#calls("tools", { ...turn, turnSequence: sequence }, locks, messages);
    if (reaches(plan.abort, "tools", locks)) {
      this.#close(sequence);
      return { outcome: { kind: "aborted", by: plan.abort?.by ?? "signal" }, calls, cut: null };
    }
    this.interrupted = false;
    const tools = toolsOf(locks, plan);
    return { outcome: { kind: "ready", sequence, messages: toModel(messages), tools }, calls, cut: null };
  }

  complete(answer: readonly ModelMessage[]): Expected {
    const turn = this.latest;
    if (!this.open || this.interrupted || turn === null) return refused(["invalid_state"]);
    if (answer.length === 0 || !beginsWith(answer, turn.taken)) return refused(["invalid_input"]);
    this.#history.push(...rest(answer, turn));
    // A capture may fail or be given up; the turn stays completed (7.6).
    const messages = this.#shown(this.#history, turn.locks);
    const calls = this.#calls("turn.completed", { ...turn, turnSequence: turn.sequence }, turn.locks, messages);
    this.#close(turn.sequence);
    this.#commit(calls);
    return { ...done, calls };
  }

  cancel(): Expected {
    if (!this.open || this.latest === null) return refused(["invalid_state"]);
    this.#close(this.latest.sequence);
    return done;
  }

  /** 8.10 */
  clear(): Expected {
    if (this.open) return refused(["invalid_state"]);
    this.#history = [];
    this.latest = null;
    return done;
  }

  compact(
    options: {
      readonly keepMessages: number;
      readonly answer: readonly ModelMessage[];
      readonly summary: string;
      readonly summarizeThrows: boolean;
    },
    plan: Plan,
  ): Expected {
    const { keepMessages, answer, summary, summarizeThrows } = options;
    if (this.interrupted) return refused(["invalid_state"]);
    const turn = this.latest;
    const locks = turn?.locks ?? []; // the scopes are not resolved again (8.6)
    // Sessions here are nobody's: between turns they are not shown what was recalled for somebody.
    const answered = this.open || turn?.caller === "nobody" ? locks : [];
    if (answer.length > 0 && turn !== null && !beginsWith(answer, turn.taken)) return refused(["invalid_input"]);
    const history = [...this.#history, ...(answer.length > 0 && turn !== null ? rest(answer, turn) : [])];
    const { cut, kept } = this.#split(history, keepMessages);
    if (cut.length === 0) {
      const messages = toModel(this.#shown(history, answered));
      return { outcome: { kind: "compacted", compacted: false, messages }, calls: [], cut: null };
    }
    const round = {
      sequence: this.open ? (turn?.sequence ?? 0) : this.nextSequence,
      turnSequence: turn?.sequence ?? 0,
      caller: turn?.caller ?? "nobody",
      input: turn?.input ?? [],
      ordinal: turn?.compactions ?? 0,
    };
    const { abort } = plan;
    const cancelled = (calls: readonly Call[]): Expected => {
      if (abort?.by === "cancelTurn" && turn !== null) this.#close(turn.sequence);
      return { outcome: { kind: "aborted", by: abort?.by ?? "signal" }, calls, cut: null };
    };

    const requested = this.#calls("compaction.requested", round, locks, this.#shown(history, locks));
    if (reaches(abort, "compaction.requested", locks)) return cancelled(requested);
    const uncaptured = firstFailing(plan, "compaction.requested", locks);
    if (uncaptured !== undefined) return { ...refused(["compaction_failed"], [uncaptured.slot]), calls: requested };
    const summed = { calls: requested, cut: toModel(cut.map(({ message }) => message)) };
    if (abort?.step === "summarize") return { ...cancelled(requested), ...summed };
    if (summarizeThrows) return { outcome: { kind: "passed on" }, ...summed };
    if (summary.trim() === "") return { ...refused(["compaction_failed"]), ...summed };

    // Records first (8.2), superseded ones dropped, then the summary, then what is kept.
    const records = history.filter((entry) => entry.record !== undefined && !this.#isSuperseded(entry, history));
    const shorter = [...records, ...checkpoint(summary), ...kept];
    const completed = this.#calls("compaction.completed", round, locks, this.#shown(shorter, locks));
    const calls = [...requested, ...completed];
    if (reaches(abort, "compaction.completed", locks)) return { ...cancelled(calls), cut: summed.cut };
    const broken = firstFailing(plan, "compaction.completed", locks);
    if (broken !== undefined) {
      const code = broken.how === "throws" ? "compaction_failed" : "invalid_recall";
      return { ...refused([code], [broken.slot]), calls, cut: summed.cut };
    }
    const recalling = locks.filter(({ slot }) => handlers[slot].includes("compaction.completed"));
    const added = this.#withRecalled(shorter, recalling).slice(shorter.length);
    // Within a turn before the last of the user's messages, between turns at the end (8.4).
    const asked = this.open ? shorter.findLastIndex(({ message }) => message.kind === "user") : shorter.length;
    this.#history = [...shorter.slice(0, asked), ...added, ...shorter.slice(asked)];
    if (turn !== null) {
      turn.compactions += 1;
      if (answer.length > 0) turn.taken = answer;
      for (const { message } of added) turn.added.add(message.content);
    }
    this.#commit(calls);
    const messages = toModel(this.#shown(this.#history, answered));
    return { outcome: { kind: "compacted", compacted: true, messages }, calls, cut: summed.cut };
  }

  /** Another process goes on from the state. */
  restart(): void {
    this.interrupted = this.open;
  }

  /** Nothing of a partition is left, and no way to it: a turn that is open goes on without the slot. */
  purge({ namespace, scope }: Omit<Partition, "slot">): void {
    const isOfIt = (partition: Omit<Partition, "slot">): boolean =>
      partition.namespace === namespace && JSON.stringify(partition.scope) === JSON.stringify(scope);
    this.#history = this.#history.filter(({ record }) => record === undefined || !isOfIt(record));
    if (this.latest === null) return;
    const locks = this.latest.locks.filter((lock) => !isOfIt(lock));
    const recalled = Object.entries(this.latest.recalled).filter(([slot]) => locks.some((lock) => lock.slot === slot));
    this.latest = { ...this.latest, locks, recalled: Object.fromEntries(recalled) };
  }

  #close(sequence: number): void {
    this.nextSequence = sequence + 1;
    this.open = false;
    this.interrupted = false;
    this.answer = [];
  }

  #commit(calls: readonly Call[]): void {
    for (const { operationId } of calls) if (operationId !== undefined) this.committed.add(operationId);
  }

  /** The slots that are on: those with a scope and a namespace (2.6). */
  #locks(caller: CallerName): readonly Partition[] {
    return slotNames.flatMap((slot) => {
      const scope = this.environment.scopeOf(slot, caller);
      const namespace = this.environment.namespace[slot];
      return scope === null || namespace === null ? [] : [{ slot, namespace, scope }];
    });
  }

  /** 6.14, with the visibility of now (6.15). */
  #shown(
    history: readonly Entry[],
    locks: readonly Partition[],
    { end = history.length }: { readonly end?: number } = {},
  ): readonly Message[] {
    const isShown = (entry: Entry): boolean => {
      const { record } = entry;
      if (record === undefined) return true;
      const lock = locks.find(({ slot }) => slot === record.slot);
      if (lock === undefined || lock.namespace !== record.namespace) return false;
      const isOfScope = JSON.stringify(lock.scope) === JSON.stringify(record.scope);
      if (!isOfScope && this.environment.visibility[record.slot] === "scope") return false;
      return !this.#isSuperseded(entry, history);
    };
    return history
      .slice(0, end)
      .filter(isShown)
      .map(({ message }) => message);
  }

  #isSuperseded(entry: Entry, history: readonly Entry[]): boolean {
    const { record } = entry;
    return record?.id !== undefined && entry !== history.findLast((other) => isSameRecord(other.record, record));
  }

  /** 6.6: slots in their order, messages in the order of the answer. */
  #withRecalled(history: readonly Entry[], locks: readonly Partition[]): Entry[] {
    const after = [...history];
    for (const lock of locks) {
      for (const { id, content } of this.environment.stored(lock)) {
        const record = { ...lock, id };
        const latest = id === undefined ? undefined : after.findLast((entry) => isSameRecord(entry.record, record));
        if (latest?.message.content === content) continue;
        after.push({ message: { role: "user", kind: "memory.load", content } as Message, record });
      }
    }
    return after;
  }

  /**
   * The last `keepMessages` of what was said stay, but for answers of tools at their beginning, whose calls are cut, and for
   * a summary whose heading is. What the open turn was asked stays always. A summary is not cut alone.
   */
  #split(history: readonly Entry[], keepMessages: number): { cut: readonly Entry[]; kept: readonly Entry[] } {
    const said = history.filter(({ record }) => record === undefined);
    const asked = this.open ? (this.latest?.input ?? []) : [];
    const isHeading = (entry: Entry | undefined): boolean => entry?.message.kind === "context.compaction";
    let keptFrom = Math.max(0, said.length - keepMessages);
    if (isHeading(said[keptFrom - 1])) keptFrom += 1;
    while (said[keptFrom]?.message.role === "tool") keptFrom += 1;
    const isKept = (entry: Entry, index: number): boolean => index >= keptFrom || asked.includes(entry);
    const cut = said.filter((entry, index) => !isKept(entry, index));
    if (cut.length === 2 && isHeading(cut[0])) return { cut: [], kept: said };
    return { cut, kept: said.filter(isKept) };
  }

  #calls(
    step: MemoryPhase | "tools",
    round: {
      readonly sequence: number;
      readonly turnSequence: number;
      readonly caller: CallerName;
      readonly input: readonly Entry[];
      readonly ordinal?: number;
    },
    locks: readonly Partition[],
    messages: readonly Message[],
  ): readonly Call[] {
    const { sequence, turnSequence, caller, input, ordinal } = round;
    const id = `turn_${turnSequence}`;
    const compaction = ordinal === undefined ? "" : `${ordinal}:`;
    return locks
      .filter(({ slot }) => step === "tools" || handlers[slot].includes(step))
      .map((partition) => ({
        step,
        partition,
        operationId:
          step === "tools" // 5.10, 5.11
            ? undefined
            : `eve-memory-operation-v1:${this.#sessionId}:${sequence}:${id}:${compaction}${step}:${partition.slot}`,
        caller,
        turn: { id, sequence: turnSequence, input: input.map(({ message }) => message) },
        messages,
      }));
  }
}

const done: Expected = { outcome: { kind: "done" }, calls: [], cut: null };

function refused(codes: readonly string[], slots: readonly string[] = []): Expected {
  return { outcome: { kind: "refused", codes, slots }, calls: [], cut: null };
}

function reaches(abort: Plan["abort"], step: MemoryPhase | "tools", locks: readonly Partition[]): boolean {
  return (
    abort?.step === step &&
    locks.some(({ slot }) => slot === abort.slot) &&
    (step === "tools" || handlers[abort.slot].includes(step))
  );
}

/** Of several failures the first in the order of slots counts (6.3). */
function firstFailing(plan: Plan, step: MemoryPhase, locks: readonly Partition[]): Plan["failing"][number] | undefined {
  const slot = slotNames.find(
    (name) =>
      locks.some((lock) => lock.slot === name) &&
      handlers[name].includes(step) &&
      plan.failing.some((failing) => failing.slot === name && failing.step === step),
  );
  return plan.failing.find((failing) => failing.slot === slot && failing.step === step);
}

function toolsOf(locks: readonly Partition[], plan: Plan): readonly string[] {
  return locks
    .filter(({ slot }) => !plan.failing.some((failing) => failing.slot === slot && failing.step === "tools"))
    .map(({ slot }) => `${slot}__ping`);
}

function entriesOf({ content, context }: Said): readonly Entry[] {
  return [
    ...context.map((text) => ({ message: { role: "user", kind: "context.instruction", content: text } as Message })),
    { message: { role: "user", kind: "user", content } as Message },
  ];
}

function checkpoint(summary: string): readonly Entry[] {
  const heading = "Summary of the conversation so far:";
  return [
    { message: { role: "user", kind: "context.compaction", content: heading } as Message },
    { message: { role: "assistant", content: summary } },
  ];
}

function isSame(turn: Turn, caller: CallerName, said: Said): boolean {
  const before = turn.input.map(({ message }) => message);
  const now = entriesOf(said).map(({ message }) => message);
  return turn.caller === caller && JSON.stringify(before) === JSON.stringify(now);
}

function isSameRecord(one: Entry["record"], other: NonNullable<Entry["record"]>): boolean {
  const key = ({ slot, namespace, scope, id }: NonNullable<Entry["record"]>): string =>
    JSON.stringify([slot, namespace, scope, id]);
  return one?.id !== undefined && key(one) === key(other);
}

function beginsWith(answer: readonly ModelMessage[], taken: readonly ModelMessage[]): boolean {
  return JSON.stringify(answer.slice(0, taken.length)) === JSON.stringify(taken);
}

function rest(answer: readonly ModelMessage[], turn: Turn): readonly Entry[] {
  return answer.slice(turn.taken.length).map((message) => ({ message }));
}

/** A model is told no kinds. */
function toModel(messages: readonly Message[]): readonly ModelMessage[] {
  return messages.map(({ kind: _, ...message }) => message as ModelMessage);
}
