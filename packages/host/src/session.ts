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
import { captureAll } from "./capture.ts";
import { collectTools } from "./collect-tools.ts";
import { frozenCopy } from "./frozen-copy.ts";
import { appendRecalled, type History, project, toModelMessages } from "./history.ts";
import { lockAll } from "./lock.ts";
import { checkPrincipal } from "./principal.ts";
import { recallAll } from "./recall.ts";
import { isContent, isMessage, readConversation } from "./schemas.ts";
import type { SessionState } from "./session-state.ts";
import type { SlotLock } from "./slots.ts";
import type { TurnTools } from "./tools.ts";
import { elapsedMs, emit, type Turn, type TurnHost } from "./turn.ts";

export interface StartTurnOptions {
  /** The verified caller of this turn; `null` and `undefined` are nobody. Left out: the session's caller. */
  readonly auth?: Principal | null | undefined;
  /** Ends the turn, its recalls and its tools. */
  readonly abortSignal?: AbortSignal;
  readonly conversation?: MemoryScopeContext["conversation"];
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
  /** What the model loop added: the assistant's and the tools' messages, as the AI SDK gives them. */
  readonly responseMessages: readonly ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

export interface SessionInput {
  /** The caller of turns that name none. */
  readonly caller: Principal | null;
  readonly channel: MemoryChannel;
  readonly state: SessionState;
}

interface OpenTurn extends Turn {
  readonly abort: AbortController;
  /** Stops listening to the caller's signal. */
  readonly unlink: () => void;
  /** Present once everything was recalled and committed. */
  ready?: { readonly locks: readonly SlotLock[]; readonly history: History };
}

const isSignal = optionIs.having("addEventListener", "throwIfAborted");

export class MemorySession {
  readonly #host: TurnHost;
  readonly #caller: Principal | null;
  readonly #channel: MemoryChannel;
  #state: SessionState;
  #turn: OpenTurn | null = null;

  /** Made by `host.session()`. */
  constructor(host: TurnHost, input: SessionInput) {
    this.#host = host;
    this.#caller = input.caller;
    this.#channel = input.channel;
    this.#state = input.state;
  }

  get id(): string {
    return this.#state.sessionId;
  }

  /** The session as of its last finished turn. A turn that is open is not part of it: resumed, it starts again. */
  get state(): SessionState {
    return this.#state;
  }

  /**
   * Locks every slot's scope, recalls from all, and makes the turn ready for the model: all of it or nothing.
   * @throws MemoryError `recall_failed`, `invalid_recall`, `scope_failed`, `invalid_scope`, `partition_shared`; the turn
   * has then not happened. `invalid_state` while another turn is open. The signal's reason when the turn is aborted.
   */
  async startTurn(input: string | UserContent, options: StartTurnOptions = {}): Promise<MemoryTurnHandle> {
    if (this.#turn !== null) {
      throw new MemoryError("invalid_state", "A turn is open. Complete or cancel it before the next.");
    }
    if (!isContent(input) || input.length === 0) {
      throw new MemoryError("invalid_input", "A turn needs an input: text that is not empty, or parts.");
    }
    checkOptions("startTurn()", options, {
      auth: () => true, // checked as a caller
      abortSignal: isSignal,
      conversation: (value) => readConversation(value) !== undefined,
    });
    options.abortSignal?.throwIfAborted();
    const startedAt = this.#host.clock.now();
    const turn = this.#open(input, options);
    emit(turn, { code: "turn_started", counts: { sequence: turn.sequence } });
    let handle: MemoryTurnHandle;
    try {
      handle = await this.#prepare(turn);
    } catch (error) {
      if (turn.signal.aborted) {
        this.#close(turn, this.#withInput(turn, this.#state.history));
        emit(turn, { code: "turn_cancelled", durationMs: elapsedMs(turn, startedAt) });
        throw turn.signal.reason;
      }
      this.#close(turn, this.#state.history);
      emit(turn, { code: "turn_failed", durationMs: elapsedMs(turn, startedAt), error: describeError(error) });
      throw error;
    }
    turn.signal.throwIfAborted(); // given up in the very moment it became ready, and closed then
    return handle;
  }

  /**
   * Adds the model's answer to the history and lets every slot capture the turn. A capture that fails is reported by an
   * event; the turn stays completed.
   * @throws MemoryError `invalid_state` without an open turn; `invalid_input` for a completion without messages, after
   * which the turn is still open.
   */
  async completeTurn(completion: CompleteTurnInput): Promise<void> {
    const turn = this.#turn;
    if (turn?.ready === undefined) throw new MemoryError("invalid_state", "There is no turn to complete.");
    const { responseMessages, abortSignal, ...unknown } = completion ?? {};
    checkOptions("completeTurn()", { abortSignal, ...unknown }, { abortSignal: isSignal });
    if (!Array.isArray(responseMessages) || responseMessages.length === 0) {
      throw new MemoryError(
        "invalid_input",
        "A turn is completed with the messages of the model's answer. There are none.",
      );
    }
    const isAnswer = (message: unknown): boolean =>
      isMessage(message) && Reflect.get(Object(message), "role") !== "user";
    if (!responseMessages.every(isAnswer)) {
      throw new MemoryError(
        "invalid_input",
        "A model's answer holds assistant and tool messages only, each with text or a list of parts as its content.",
      );
    }
    const { locks } = turn.ready;
    const history = [...turn.ready.history, ...responseMessages.map((message) => frozenCopy({ message }))];
    delete turn.ready; // completed: only the captures are left to wait for
    try {
      await captureAll(turn, locks, project(history, locks), abortSignal);
    } finally {
      this.#close(turn, history);
    }
    emit(turn, { code: "turn_completed", counts: { messages: responseMessages.length } });
  }

  /** Gives the turn up, starting, started or capturing. What was said stays in the history; nothing more is captured. */
  cancelTurn(): void {
    const turn = this.#turn;
    if (turn === null) throw new MemoryError("invalid_state", "There is no turn to cancel.");
    this.#abort(turn, undefined);
  }

  /** A turn that waits for a provider sees the abort and closes itself; one that waits for the model is closed here. */
  #abort(turn: OpenTurn, reason: unknown): void {
    turn.abort.abort(reason);
    if (turn.ready === undefined) return;
    this.#close(turn, turn.ready.history);
    emit(turn, { code: "turn_cancelled" });
  }

  #open(input: string | UserContent, options: StartTurnOptions): OpenTurn {
    const { abortSignal, conversation } = options;
    const sequence = this.#state.nextSequence;
    const current = "auth" in options ? checkPrincipal(options.auth ?? null) : this.#caller;
    const abort = new AbortController();
    const onAbort = (): void => this.#abort(turn, abortSignal?.reason);
    const turn: OpenTurn = {
      host: this.#host,
      sessionId: this.id,
      id: `turn_${sequence}`,
      sequence,
      channel: this.#channel,
      conversation: readConversation(conversation),
      auth: Object.freeze({ current, initiator: this.#state.initiator }),
      input: frozenCopy([{ role: "user" as const, kind: "user" as const, content: input }]),
      signal: abort.signal,
      abort,
      unlink: () => abortSignal?.removeEventListener("abort", onAbort),
    };
    abortSignal?.addEventListener("abort", onAbort, { once: true });
    this.#turn = turn;
    return turn;
  }

  #close(turn: OpenTurn, history: History): void {
    turn.unlink();
    this.#state = Object.freeze({ ...this.#state, nextSequence: turn.sequence + 1, history: Object.freeze(history) });
    this.#turn = null;
  }

  async #prepare(turn: OpenTurn): Promise<MemoryTurnHandle> {
    const locks = await lockAll(turn);
    const recalled = await recallAll(turn, locks, project(this.#state.history, locks));
    turn.signal.throwIfAborted();
    const grown = locks.reduce(
      (history, lock, index) => appendRecalled(history, lock, recalled[index] ?? []),
      this.#state.history,
    );
    const history = this.#withInput(turn, grown);
    const messages = project(history, locks);
    const tools = await collectTools(turn, locks, messages);
    turn.signal.throwIfAborted();
    turn.ready = { locks, history };
    return { id: turn.id, sequence: turn.sequence, messages: toModelMessages(messages), tools };
  }

  #withInput({ input }: OpenTurn, history: History): History {
    return [...history, ...input.map((message) => Object.freeze({ message }))];
  }
}
