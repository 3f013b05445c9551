/** One conversation: turns that recall before the model runs and capture after it has answered. */
import {
  describeError,
  emitEvent,
  type MemoryChannel,
  MemoryError,
  type MemoryEvent,
  type MemoryScopeContext,
  type ModelMessage,
  type Principal,
  type UserContent,
} from "@keepsake/core";
import { captureAll } from "./capture.ts";
import { collectTools } from "./collect-tools.ts";
import { appendRecalled, type History, project, toModelMessages } from "./history.ts";
import { lockAll } from "./lock.ts";
import { checkPrincipal } from "./principal.ts";
import { recallAll } from "./recall.ts";
import type { SlotLock } from "./slots.ts";
import type { TurnTools } from "./tools.ts";
import type { Turn, TurnHost } from "./turn.ts";

/** A session between turns, as plain JSON. Kept by the caller; another process goes on from it. */
export interface SessionState {
  readonly version: 1;
  readonly sessionId: string;
  /** The number of the next turn. */
  readonly nextSequence: number;
  readonly history: History;
}

export interface StartTurnOptions {
  /** The verified caller of this turn. Absent: the one who opened the session. */
  readonly auth?: Principal | null;
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
  readonly auth: Principal | null;
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

export class MemorySession {
  readonly #host: TurnHost;
  readonly #initiator: Principal | null;
  readonly #channel: MemoryChannel;
  #state: SessionState;
  #turn: OpenTurn | null = null;

  /** Made by `host.session()`. */
  constructor(host: TurnHost, input: SessionInput) {
    this.#host = host;
    this.#initiator = checkPrincipal(input.auth);
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
    if (input.length === 0) throw new MemoryError("invalid_input", "A turn needs an input that is not empty.");
    options.abortSignal?.throwIfAborted();
    const turn = this.#open(input, options);
    const startedAt = this.#host.clock.now();
    this.#emit({ code: "turn_started", counts: { sequence: turn.sequence } });
    try {
      return await this.#prepare(turn);
    } catch (error) {
      const durationMs = this.#host.clock.now() - startedAt;
      if (turn.signal.aborted) {
        this.#close(turn, [...this.#state.history, ...turn.input.map((message) => ({ message }))]);
        this.#emit({ code: "turn_cancelled", durationMs });
        throw turn.signal.reason;
      }
      this.#close(turn, this.#state.history);
      this.#emit({ code: "turn_failed", durationMs, error: describeError(error) });
      throw error;
    }
  }

  /**
   * Adds the model's answer to the history and lets every slot capture the turn. A capture that fails is reported by an
   * event; the turn stays completed.
   * @throws MemoryError `invalid_state` without an open turn; `invalid_input` for a completion without messages, after
   * which the turn is still open.
   */
  async completeTurn({ responseMessages, abortSignal }: CompleteTurnInput): Promise<void> {
    const turn = this.#turn;
    if (turn?.ready === undefined) throw new MemoryError("invalid_state", "There is no turn to complete.");
    if (!Array.isArray(responseMessages) || responseMessages.length === 0) {
      throw new MemoryError(
        "invalid_input",
        "A turn is completed with the messages of the model's answer. There are none.",
      );
    }
    if (responseMessages.some(({ role }) => role !== "assistant" && role !== "tool")) {
      throw new MemoryError("invalid_input", "A model's answer holds assistant and tool messages only.");
    }
    const { locks } = turn.ready;
    const history = [...turn.ready.history, ...responseMessages.map((message) => ({ message }))];
    delete turn.ready; // completed: only the captures are left to wait for
    try {
      await captureAll(turn, locks, project(history, locks), abortSignal ?? turn.signal);
    } finally {
      this.#close(turn, history);
    }
    this.#emit({ code: "turn_completed", counts: { messages: responseMessages.length } });
  }

  /** Gives the turn up, started or still starting. What was said stays in the history; nothing is captured. */
  cancelTurn(): void {
    const turn = this.#turn;
    if (turn === null) throw new MemoryError("invalid_state", "There is no turn to cancel.");
    turn.abort.abort();
    if (turn.ready === undefined) return; // startTurn sees the abort and closes the turn
    this.#close(turn, turn.ready.history);
    this.#emit({ code: "turn_cancelled" });
  }

  #open(input: string | UserContent, { auth, abortSignal, conversation }: StartTurnOptions): OpenTurn {
    const sequence = this.#state.nextSequence;
    const current = auth === undefined ? this.#initiator : checkPrincipal(auth);
    const abort = new AbortController();
    const onAbort = (): void => abort.abort(abortSignal?.reason);
    abortSignal?.addEventListener("abort", onAbort, { once: true });
    this.#turn = {
      host: this.#host,
      sessionId: this.id,
      id: `turn_${sequence}`,
      sequence,
      channel: this.#channel,
      conversation,
      auth: Object.freeze({ current, initiator: this.#initiator }),
      input: Object.freeze([{ role: "user" as const, kind: "user" as const, content: input }]),
      signal: abort.signal,
      abort,
      unlink: () => abortSignal?.removeEventListener("abort", onAbort),
    };
    return this.#turn;
  }

  #close(turn: OpenTurn, history: History): void {
    turn.unlink();
    this.#state = { ...this.#state, nextSequence: turn.sequence + 1, history };
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
    const history = [...grown, ...turn.input.map((message) => ({ message }))];
    const messages = toModelMessages(project(history, locks));
    const tools = await collectTools(turn, locks, messages);
    turn.signal.throwIfAborted();
    turn.ready = { locks, history };
    return { id: turn.id, sequence: turn.sequence, messages, tools };
  }

  #emit(event: MemoryEvent): void {
    emitEvent(this.#host.onEvent, event);
  }
}
