/** One conversation: turns that recall before the model runs and capture after it has answered. */
import {
  checkOptions,
  describeError,
  type MemoryChannel,
  MemoryError,
  type MemoryScopeContext,
  type ModelMessage,
  optionIs,
  type Principal,
  type UserContent,
} from "@keepsake/core";
import { answerState, readAnswer, restOfAnswer, withoutWaitingCalls } from "./answer.ts";
import { canonicalJson } from "./canonical-json.ts";
import { captureAll } from "./capture.ts";
import { collectTools } from "./collect-tools.ts";
import { type CompactedHistory, type CompactOptions, compactHistory } from "./compaction.ts";
import { type History, project, type RecalledBatch, takeRecalled, toModelMessages } from "./history.ts";
import { lockAll, slotLock } from "./lock.ts";
import { type OpenTurn, openTurn, type Spoken } from "./open-turn.ts";
import { checkPrincipal, isSameCaller } from "./principal.ts";
import { recallAll } from "./recall.ts";
import { recallDigests, refuseDivergence } from "./recall-digest.ts";
import { readContent, readConversation } from "./schemas.ts";
import {
  type SessionState,
  type TurnState,
  withCompaction,
  withOpenTurn,
  withoutHistory,
  withTurnBegun,
  withTurnEnded,
} from "./session-state.ts";
import type { SlotLock } from "./slots.ts";
import type { TurnTools } from "./tools.ts";
import { emit, emitTimed, type Turn, type TurnHost } from "./turn.ts";
import { historyBefore, inputEntries, turnInput } from "./turn-input.ts";

export interface StartTurnOptions {
  /** The verified caller of this turn; `null` and `undefined` are nobody. Left out: the session's caller. */
  readonly auth?: Principal | null | undefined;
  /** Ends the turn, its recalls and its tools. */
  readonly abortSignal?: AbortSignal;
  readonly conversation?: MemoryScopeContext["conversation"];
  /**
   * What the application adds for the model, such as what is on the person's screen. It comes right before the input, as
   * messages of kind `context.instruction`, which providers do not take for the person's words.
   */
  readonly context?: readonly string[];
}

export interface ResumeTurnOptions {
  /** The verified caller, who must be the one of the turn. Left out: the session's caller. */
  readonly auth?: Principal | null | undefined;
  /** Ends the turn and its tools. */
  readonly abortSignal?: AbortSignal;
}

/** A turn that is ready for the model. */
export interface MemoryTurnHandle {
  readonly id: string;
  readonly sequence: number;
  /** History, what was recalled, and the input, in the AI SDK's shape. */
  readonly messages: ModelMessage[];
  readonly tools: TurnTools;
}

export interface CompleteTurnInput {
  /** All that the model loop added: the assistant's and the tools' messages, as the AI SDK gives them. */
  readonly responseMessages: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

export interface SessionInput {
  /** The caller of turns that name none. */
  readonly caller: Principal | null;
  readonly channel: MemoryChannel;
  readonly modelId: string | undefined;
  readonly state: SessionState;
}

interface PreparedTurn {
  readonly locks: readonly SlotLock[];
  readonly history: History;
  /** What was recalled, where that is not part of the state yet. */
  readonly batches?: readonly RecalledBatch[];
}

const isSignal = optionIs.having("addEventListener", "throwIfAborted");

export class MemorySession {
  readonly #host: TurnHost;
  readonly #input: Omit<SessionInput, "state">;
  #state: SessionState;
  #turn: OpenTurn | null = null;
  /** Whether a call is under way that will change the session. */
  #busy = false;

  /** Made by `host.session()`. */
  constructor(host: TurnHost, { state, ...input }: SessionInput) {
    this.#host = host;
    this.#input = input;
    this.#state = state;
    if (state.turn?.open !== undefined) this.#turn = this.#openTurn(state.turn, { interrupted: true });
  }

  get id(): string {
    return this.#state.sessionId;
  }

  /**
   * The session as plain JSON, for this process or another to go on with. A turn is part of it from the moment it is ready
   * for the model; until then it has not happened.
   */
  get state(): SessionState {
    const turn = this.#turn;
    if (turn?.undigested !== undefined) {
      this.#state = withOpenTurn(this.#state, { recalled: recallDigests(turn.undigested) });
      delete turn.undigested;
    }
    return this.#state;
  }

  /**
   * Locks every slot's scope, recalls from all, and makes the turn ready for the model: all of it or nothing.
   *
   * A turn that was left open in a state can be started again, by the same caller and with the same input. It recalls
   * under the operation ids of the first time, and must recall the same; nothing is added twice.
   * @throws MemoryError `recall_failed`, `invalid_recall`, `scope_failed`, `invalid_scope`, `partition_shared`; the turn
   * has then not happened. `invalid_state` while another turn is open or another call is under way; `replay_diverged`. The
   * signal's reason when the turn is aborted.
   */
  async startTurn(input: string | UserContent, options: StartTurnOptions = {}): Promise<MemoryTurnHandle> {
    this.#refuseWhileBusy();
    if (this.#turn?.interrupted === false) {
      throw new MemoryError("invalid_state", "A turn is open. Complete or cancel it before the next.");
    }
    const content = readContent(input);
    if (content === undefined || content.length === 0) {
      throw new MemoryError("invalid_input", "A turn needs an input: text that is not empty, or parts.");
    }
    checkOptions("startTurn()", options, {
      auth: () => true, // checked as a caller
      abortSignal: isSignal,
      conversation: (value) => readConversation(value) !== undefined,
      context: (value) => Array.isArray(value) && value.every(optionIs.text),
    });
    const { abortSignal, context = [] } = options;
    abortSignal?.throwIfAborted();
    const said: Spoken = {
      caller: this.#callerIn(options),
      input: turnInput(context, content),
    };
    const first = this.#turn === null ? undefined : this.#state.turn?.open?.recalled;
    if (first !== undefined) this.#refuseUnlessSame(said);
    const sequence = this.#turn?.sequence ?? this.#state.nextSequence;
    const startedAt = this.#host.clock.now();
    const turn = this.#openTurn({ sequence, ...said }, options);
    return this.#makeReady(turn, "turn_started", startedAt, async () => {
      const locks = await lockAll(turn);
      turn.settled = locks;
      const messages = project(
        first === undefined ? this.#state.history : historyBefore(this.#state.history, turn.input),
        locks,
      );
      const batches = await recallAll({ turn, phase: "turn.started", messages }, locks);
      if (first !== undefined) {
        refuseDivergence(first, recallDigests(batches));
        return { locks, history: this.#state.history };
      }
      const { kept, added } = takeRecalled(this.#state.history, batches);
      return { locks, history: [...kept, ...added, ...inputEntries(turn.input)], batches };
    });
  }

  /**
   * Goes on with a turn that was left open in a state: in the scopes that it was locked to, with what it recalled then.
   * Nothing is recalled again; the tools are made anew.
   * @throws MemoryError `invalid_state` where no turn was left open, or by another caller. The signal's reason when the turn
   * is aborted.
   */
  async resumeTurn(options: ResumeTurnOptions = {}): Promise<MemoryTurnHandle> {
    this.#refuseWhileBusy();
    checkOptions("resumeTurn()", options, {
      auth: () => true, // checked as a caller
      abortSignal: isSignal,
    });
    const { turn: state, history } = this.#state;
    if (this.#turn?.interrupted !== true || state === null) {
      throw new MemoryError("invalid_state", "There is no interrupted turn to resume.");
    }
    this.#refuseUnlessSame({ caller: this.#callerIn(options), input: state.input });
    options.abortSignal?.throwIfAborted();
    const startedAt = this.#host.clock.now();
    const turn = this.#openTurn(state, options);
    return this.#makeReady(turn, "turn_resumed", startedAt, async () => ({ locks: this.#locks(), history }));
  }

  /**
   * Adds the model's answer to the history and lets every slot capture the turn. A capture that fails is reported by an
   * event; the turn stays completed.
   * @throws MemoryError `invalid_state` without an open turn; `invalid_input` for a completion without messages, after
   * which the turn is still open.
   */
  async completeTurn(completion: CompleteTurnInput): Promise<void> {
    const turn = this.#turn;
    if (turn === null || this.#busy || turn.signal.aborted) {
      throw new MemoryError("invalid_state", "There is no turn to complete.");
    }
    this.#refuseInterrupted(turn);
    checkOptions("completeTurn()", completion ?? {}, {
      responseMessages: () => true, // checked as an answer
      abortSignal: isSignal,
    });
    const { responseMessages, abortSignal } = completion ?? {};
    const answer = readAnswer(responseMessages);
    if (answer.length === 0) {
      throw new MemoryError(
        "invalid_input",
        "A turn is completed with the messages of the model's answer. There are none.",
      );
    }
    const history = [...this.#state.history, ...restOfAnswer(answer, this.#state.turn?.open?.answered)];
    const locks = this.#locks();
    this.#busy = true; // completed: only the captures are left to wait for
    try {
      const messages = project(history, locks);
      await captureAll({ turn, phase: "turn.completed", messages, callerSignal: abortSignal }, locks);
    } finally {
      this.#busy = false;
      this.#close(turn, history);
    }
    emit(turn, { code: "turn_completed", counts: { messages: answer.length } });
  }

  /**
   * Gives the turn up, starting, started or capturing. What was said stays in the history; nothing more is captured. Does
   * nothing where no turn is open, so that whoever cleans up after an error need not know whether an abort was faster.
   */
  cancelTurn(): void {
    if (this.#turn !== null) this.#abort(this.#turn, undefined);
  }

  /**
   * Replaces the older part of the history by a summary. Every slot may capture before and recall after; what was recalled
   * before stays, and comes first. Between turns it concerns the next turn; within one, the messages that it answers take
   * the place of those that the model was shown.
   * @throws MemoryError `compaction_failed`, `invalid_recall`; `invalid_state` while another call is under way; whatever
   * `summarize` throws; a signal's reason. The history is then as it was, and a turn that is open stays open.
   */
  async compact(options: CompactOptions): Promise<CompactedHistory> {
    this.#refuseWhileBusy();
    checkOptions("compact()", options, {
      summarize: optionIs.callable,
      keepMessages: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
      responseMessages: () => true, // checked as an answer
      usageInputTokens: (value) => typeof value === "number" && value >= 0,
      abortSignal: isSignal,
    });
    if (options.summarize === undefined) throw new MemoryError("invalid_options", "compact() needs summarize.");
    if (options.responseMessages !== undefined && this.#turn === null) {
      throw new MemoryError("invalid_options", "responseMessages belong to an open turn, and none is open.");
    }
    options.abortSignal?.throwIfAborted();
    const open = this.#turn;
    if (open !== null) this.#refuseInterrupted(open);
    const turn = open ?? this.#latestTurn();
    const { compactions: ordinal = 0 } = this.#state.turn ?? {};
    const answer = readAnswer(options.responseMessages ?? []);
    const answered = answer.length === 0 ? {} : { answered: answerState(answer) };
    const taken = this.#state.turn?.open?.answered;
    const history = [...this.#state.history, ...(answer.length === 0 ? [] : restOfAnswer(answer, taken))];
    const locks = this.#locks();
    const sequence = open?.sequence ?? this.#state.nextSequence;
    const startedAt = this.#host.clock.now();
    this.#busy = true;
    try {
      const compacted = await compactHistory({
        turn,
        isOpen: open !== null,
        locks,
        history,
        ordinal,
        sequence,
        options,
      });
      for (const signal of [turn.signal, options.abortSignal]) signal?.throwIfAborted();
      if (compacted === null) return { compacted: false, messages: this.#shown(history, locks) };
      this.#state = withOpenTurn(withCompaction(this.#state, compacted.history), answered);
      const counts = { messages: compacted.summedUp };
      emitTimed(turn, startedAt, { code: "compaction_completed", counts });
      return { compacted: true, messages: this.#shown(compacted.history, locks) };
    } catch (error) {
      if (turn.signal.aborted || options.abortSignal?.aborted === true) {
        emitTimed(turn, startedAt, { code: "compaction_cancelled" });
      } else {
        emitTimed(turn, startedAt, { code: "compaction_failed", error: describeError(error) });
      }
      if (open?.signal.aborted === true) this.#cancel(open, this.#state.history);
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  /**
   * Empties the history. What providers keep is not touched, and the next turn recalls it again.
   * @throws MemoryError `invalid_state` while a turn is open.
   */
  clear(): void {
    this.#refuseWhileBusy();
    if (this.#turn !== null) throw new MemoryError("invalid_state", "A turn is open. Complete or cancel it first.");
    this.#state = withoutHistory(this.#state);
    emit(this.#latestTurn(), { code: "history_cleared" });
  }

  async #makeReady(
    turn: OpenTurn,
    code: "turn_started" | "turn_resumed",
    startedAt: number,
    prepare: () => Promise<PreparedTurn>,
  ): Promise<MemoryTurnHandle> {
    const { id, sequence, signal } = turn;
    const interrupted = this.#turn;
    this.#turn = turn;
    this.#busy = true;
    emit(turn, { code, counts: { sequence } });
    try {
      const { locks, history, batches } = await prepare();
      signal.throwIfAborted();
      const messages = project(history, locks);
      const tools = await collectTools(turn, locks, messages);
      signal.throwIfAborted(); // given up in the very moment it became ready
      turn.locks = locks;
      if (batches !== undefined) {
        turn.undigested = batches;
        this.#begin(turn, locks, history);
      }
      return { id, sequence, messages: toModelMessages(messages), tools };
    } catch (error) {
      if (signal.aborted) {
        if (interrupted === null) this.#keepWhatWasSaid(turn);
        this.#cancel(turn, this.#state.history, startedAt);
        throw signal.reason;
      }
      if (interrupted === null) this.#close(turn, this.#state.history);
      else this.#turn = interrupted;
      turn.unlink();
      emitTimed(turn, startedAt, { code: "turn_failed", error: describeError(error) });
      throw error;
    } finally {
      this.#busy = false;
    }
  }

  /** Of a turn that is given up before it is ready. Its scopes hold, or where none was settled, its caller's latest ones. */
  #keepWhatWasSaid(turn: OpenTurn): void {
    const before = this.#state;
    const history = [...before.history, ...inputEntries(turn.input)];
    this.#begin(turn, turn.settled ?? [], history);
    const isTheirs = before.turn !== null && isSameCaller(before.turn.caller, turn.auth.current);
    if (turn.settled === undefined && isTheirs) this.#state = Object.freeze({ ...this.#state, turn: before.turn });
  }

  #begin({ sequence, auth, input }: OpenTurn, locks: readonly SlotLock[], history: History): void {
    this.#state = withTurnBegun(this.#state, { sequence, caller: auth.current, input, locks }, history);
  }

  /** A turn that waits for a provider sees the abort and closes itself; one that waits for the model is closed here. */
  #abort(turn: OpenTurn, reason: unknown): void {
    if (this.#turn !== turn) return; // it has ended already
    turn.abort.abort(reason);
    for (const giveUp of turn.waiting) giveUp(turn.signal.reason);
    if (!this.#busy && this.#turn === turn) this.#cancel(turn, this.#state.history);
  }

  #cancel(turn: OpenTurn, history: History, startedAt?: number): void {
    const hasAnswer = this.#state.turn?.open?.answered !== undefined;
    this.#close(turn, hasAnswer ? withoutWaitingCalls(history) : history);
    if (startedAt === undefined) emit(turn, { code: "turn_cancelled" });
    else emitTimed(turn, startedAt, { code: "turn_cancelled" });
  }

  #close(turn: OpenTurn, history: History): void {
    turn.unlink();
    this.#state = withTurnEnded(this.#state, turn.sequence, history);
    this.#turn = null;
  }

  #openTurn(
    spoken: Spoken & Pick<TurnState, "sequence">,
    options: Pick<StartTurnOptions, "abortSignal" | "conversation"> & { readonly interrupted?: boolean } = {},
  ): OpenTurn {
    const { sessionId, initiator } = this.#state;
    const { channel, modelId } = this.#input;
    const setting = { host: this.#host, sessionId, initiator, channel, modelId };
    return openTurn(setting, spoken, { ...options, onAbort: (turn, reason) => this.#abort(turn, reason) });
  }

  /** Between turns, whoever did not speak last is shown nothing that was recalled for who did. */
  #shown(history: History, locks: readonly SlotLock[]): ModelMessage[] {
    const isTheirs = this.#turn !== null || isSameCaller(this.#input.caller, this.#state.turn?.caller ?? null);
    return toModelMessages(project(history, isTheirs ? locks : []));
  }

  #callerIn(options: Pick<StartTurnOptions, "auth">): Principal | null {
    return "auth" in options ? checkPrincipal(options.auth ?? null) : this.#input.caller;
  }

  /** What a call between turns belongs to. */
  #latestTurn(): Turn {
    return this.#openTurn(this.#state.turn ?? { sequence: 0, caller: this.#input.caller, input: [] });
  }

  /** The scopes of the open turn, or between turns of the latest. A slot that the host has no longer is left out. */
  #locks(): readonly SlotLock[] {
    if (this.#turn?.locks !== undefined) return this.#turn.locks;
    return (this.#state.turn?.locks ?? []).flatMap(({ slot: name, namespace, scope }) => {
      const slot = this.#host.slots.find((each) => each.name === name);
      return slot === undefined ? [] : [slotLock(slot, namespace, scope)];
    });
  }

  #refuseInterrupted({ interrupted }: OpenTurn): void {
    if (!interrupted) return;
    throw new MemoryError("invalid_state", "The turn was interrupted. Resume it first, start it again, or cancel it.");
  }

  #refuseUnlessSame({ caller, input }: Spoken): void {
    const { turn } = this.#state;
    const isSame = isSameCaller(caller, turn?.caller ?? null) && canonicalJson(input) === canonicalJson(turn?.input);
    if (isSame) return;
    throw new MemoryError(
      "invalid_state",
      "An interrupted turn is open. Its own caller may resume it, or start it again with the same input; or cancel it.",
    );
  }

  #refuseWhileBusy(): void {
    if (this.#busy) throw new MemoryError("invalid_state", "Another call of this session is under way. Wait for it.");
  }
}
