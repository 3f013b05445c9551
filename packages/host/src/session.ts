/** One conversation: turns that recall before the model runs and capture after it has answered. */
import {
  type Clock,
  describeError,
  emitEvent,
  type MemoryChannel,
  MemoryError,
  type MemoryEvent,
  type MemoryEventListener,
  type MemoryRecallMessage,
  type MemoryScopeContext,
  type MemoryTurnContext,
  type ModelMessage,
  type Principal,
  type SessionAuth,
  type UserContent,
  withDeadline,
} from "@keepsake/core";
import { appendRecalled, type History, type HistoryEntry, project, toModelMessages } from "./history.ts";
import type { HostCapabilities } from "./host-capabilities.ts";
import { isLocked, type LockContext, lockSlot, refuseSharedPartitions, type SlotLock } from "./lock.ts";
import { operationId } from "./operation-id.ts";
import { parseRecallResult } from "./recall-result.ts";
import type { Slot } from "./slots.ts";
import { qualifyTools, type TurnTools } from "./tools.ts";

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

/** What a session needs of its host. */
export interface SessionHost {
  readonly slots: readonly Slot[];
  readonly allowSharedPartitions: boolean;
  readonly clock: Clock;
  readonly randomId: () => string;
  readonly onEvent: MemoryEventListener | undefined;
  readonly capabilities: HostCapabilities;
  readonly lockContext: Omit<LockContext, "scope">;
}

export interface SessionInput {
  readonly auth: Principal | null;
  readonly channel: MemoryChannel;
  readonly state: SessionState;
}

interface OpenTurn {
  readonly id: string;
  readonly sequence: number;
  readonly auth: SessionAuth;
  readonly input: readonly HistoryEntry["message"][];
  readonly abort: AbortController;
  /** Stops listening to the caller's signal. */
  readonly unlink: () => void;
  /** Present once everything was recalled and committed. */
  ready?: { readonly locks: readonly SlotLock[]; readonly history: History };
}

export class MemorySession {
  readonly #host: SessionHost;
  readonly #initiator: Principal | null;
  readonly #channel: MemoryChannel;
  #state: SessionState;
  #turn: OpenTurn | null = null;

  /** Made by `host.session()`. */
  constructor(host: SessionHost, input: SessionInput) {
    this.#host = host;
    this.#initiator = input.auth;
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
      return await this.#prepare(turn, options);
    } catch (error) {
      const durationMs = this.#host.clock.now() - startedAt;
      if (turn.abort.signal.aborted) {
        this.#close(turn, [...this.#state.history, ...turn.input.map((message) => ({ message }))]);
        this.#emit({ code: "turn_cancelled", durationMs });
        throw turn.abort.signal.reason;
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
      await this.#capture(turn, locks, project(history, locks), abortSignal ?? turn.abort.signal);
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

  #open(input: string | UserContent, { auth, abortSignal }: StartTurnOptions): OpenTurn {
    const sequence = this.#state.nextSequence;
    const current = auth === undefined ? this.#initiator : auth;
    const abort = new AbortController();
    const onAbort = (): void => abort.abort(abortSignal?.reason);
    abortSignal?.addEventListener("abort", onAbort, { once: true });
    this.#turn = {
      id: `turn_${sequence}`,
      sequence,
      auth: Object.freeze({ current, initiator: this.#initiator }),
      input: Object.freeze([{ role: "user" as const, kind: "user" as const, content: input }]),
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

  async #prepare(turn: OpenTurn, options: StartTurnOptions): Promise<MemoryTurnHandle> {
    const locks = await this.#lock(turn, options);
    const before = project(this.#state.history, locks);
    const recalled = await this.#recall(turn, locks, before);
    turn.abort.signal.throwIfAborted();
    const history = [
      ...locks.reduce((grown, lock, index) => appendRecalled(grown, lock, recalled[index] ?? []), this.#state.history),
      ...turn.input.map((message) => ({ message })),
    ];
    const messages = toModelMessages(project(history, locks));
    const tools = await this.#tools(turn, locks, messages);
    turn.abort.signal.throwIfAborted();
    turn.ready = { locks, history };
    return { id: turn.id, sequence: turn.sequence, messages, tools };
  }

  async #lock(turn: OpenTurn, { conversation }: StartTurnOptions): Promise<readonly SlotLock[]> {
    const { slots, lockContext, allowSharedPartitions } = this.#host;
    const scope: MemoryScopeContext = {
      abortSignal: turn.abort.signal,
      session: { id: this.id, auth: turn.auth },
      channel: this.#channel,
      ...(conversation === undefined ? {} : { conversation }),
    };
    const resolved = await this.#unlessAborted(turn.abort.signal, () =>
      Promise.all(slots.map((slot) => lockSlot(slot, { ...lockContext, scope }))),
    );
    for (const lock of resolved) {
      if (!isLocked(lock)) this.#emit({ code: "slot_disabled", slot: lock.slot.name });
    }
    const locks = resolved.filter(isLocked);
    if (!allowSharedPartitions) refuseSharedPartitions(locks);
    return locks;
  }

  /** All recalls at once; of several failures the first in the order of slots is the turn's. */
  async #recall(
    turn: OpenTurn,
    locks: readonly SlotLock[],
    messages: readonly ModelMessage[],
  ): Promise<readonly (readonly MemoryRecallMessage[])[]> {
    const outcomes = await Promise.allSettled(
      locks.map(async (lock) => {
        const slot = lock.slot.name;
        const startedAt = this.#host.clock.now();
        try {
          const context = this.#context(turn, lock, "turn.started", messages, turn.abort.signal);
          const result = await this.#unlessAborted(turn.abort.signal, () =>
            lock.slot.definition.provider.recall["turn.started"](context),
          );
          const recalled = parseRecallResult(slot, result);
          const characters = recalled.reduce((sum, { content }) => sum + content.length, 0);
          const durationMs = this.#host.clock.now() - startedAt;
          this.#emit({ code: "recall_completed", slot, durationMs, counts: { messages: recalled.length, characters } });
          return recalled;
        } catch (error) {
          if (!turn.abort.signal.aborted) {
            const durationMs = this.#host.clock.now() - startedAt;
            this.#emit({ code: "recall_failed", slot, durationMs, error: describeError(error) });
          }
          throw error;
        }
      }),
    );
    turn.abort.signal.throwIfAborted();
    return outcomes.map((outcome, index) => {
      if (outcome.status === "fulfilled") return outcome.value;
      throw recallError(locks[index]?.slot.name ?? "", outcome.reason);
    });
  }

  /** A slot whose tools cannot be had goes without for this turn. So does one whose names an earlier slot has taken. */
  async #tools(turn: OpenTurn, locks: readonly SlotLock[], messages: readonly ModelMessage[]): Promise<TurnTools> {
    const perSlot = await Promise.all(
      locks.map(async (lock): Promise<TurnTools> => {
        const { provider, description } = lock.slot.definition;
        if (provider.tools === undefined) return {};
        const session = { id: this.id, auth: turn.auth };
        const info = { id: turn.id, input: turn.input, sequence: turn.sequence };
        const memory = { scope: lock.scope, slot: lock.slot.name };
        try {
          const tools = await this.#unlessAborted(turn.abort.signal, () =>
            provider.tools?.({ channel: this.#channel, memory, messages, model: null, session, turn: info }),
          );
          return qualifyTools({ name: lock.slot.name, description }, tools, {
            ...this.#host.capabilities,
            abortSignal: turn.abort.signal,
            messages,
            newCallId: this.#host.randomId,
            session: this.#sessionInfo(turn),
          });
        } catch (error) {
          turn.abort.signal.throwIfAborted();
          this.#emit({ code: "tools_failed", slot: lock.slot.name, error: describeError(error) });
          return {};
        }
      }),
    );
    const offered: Record<string, TurnTools[string]> = {};
    perSlot.forEach((tools, index) => {
      if (Object.keys(tools).some((name) => Object.hasOwn(offered, name))) {
        const error = { name: "MemoryError", code: "invalid_tools" };
        this.#emit({ code: "tools_failed", slot: locks[index]?.slot.name ?? "", error });
        return;
      }
      Object.assign(offered, tools);
    });
    return offered;
  }

  async #capture(
    turn: OpenTurn,
    locks: readonly SlotLock[],
    messages: readonly ModelMessage[],
    abortSignal: AbortSignal,
  ): Promise<void> {
    await Promise.allSettled(
      locks.map(async (lock) => {
        const capture = lock.slot.definition.provider.capture?.["turn.completed"];
        if (capture === undefined) return;
        const slot = lock.slot.name;
        const startedAt = this.#host.clock.now();
        try {
          const context = this.#context(turn, lock, "turn.completed", messages, abortSignal);
          await this.#unlessAborted(abortSignal, () => capture(context));
          this.#emit({ code: "capture_completed", slot, durationMs: this.#host.clock.now() - startedAt });
        } catch (error) {
          const durationMs = this.#host.clock.now() - startedAt;
          this.#emit({ code: "capture_failed", slot, durationMs, error: describeError(error) });
        }
      }),
    );
  }

  #context(
    turn: OpenTurn,
    lock: SlotLock,
    phase: "turn.started" | "turn.completed",
    messages: readonly ModelMessage[],
    abortSignal: AbortSignal,
  ): MemoryTurnContext {
    const slot = lock.slot.name;
    return {
      abortSignal,
      getSandbox: this.#host.capabilities.getSandbox,
      memory: { scope: lock.scope, slot },
      messages,
      operationId: operationId({ sessionId: this.id, sequence: turn.sequence, turnId: turn.id, phase, slot }),
      session: this.#sessionInfo(turn),
      turn: Object.freeze({ id: turn.id, input: turn.input, sequence: turn.sequence }),
    };
  }

  #sessionInfo(turn: OpenTurn): MemoryTurnContext["session"] {
    return { id: this.id, auth: turn.auth, turn: { id: turn.id, sequence: turn.sequence } };
  }

  /** A provider that does not listen to the signal cannot hold up the end of the turn. */
  #unlessAborted<T>(signal: AbortSignal, operation: () => T | Promise<T>): Promise<T> {
    return withDeadline({ signal, timeoutMs: Number.POSITIVE_INFINITY, clock: this.#host.clock }, operation);
  }

  #emit(event: MemoryEvent): void {
    emitEvent(this.#host.onEvent, event);
  }
}

function recallError(slot: string, reason: unknown): MemoryError {
  if (MemoryError.isInstance(reason) && reason.code === "invalid_recall") return reason;
  return new MemoryError("recall_failed", `Memory slot "${slot}" could not recall. The turn was not started.`, {
    slot,
    cause: reason,
    retryable: MemoryError.isInstance(reason) && reason.retryable,
  });
}
