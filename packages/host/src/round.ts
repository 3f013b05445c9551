/** Rounds of calls: the same handler of every slot, at once, each told what it may know. */
import type { MemoryPhase, MemoryTurnContext, ModelMessage } from "@keepsake/core";
import { operationId } from "./operation-id.ts";
import type { SlotLock } from "./slots.ts";
import type { TracedCall, TracedResult } from "./tracer.ts";
import { type Turn, unlessAborted } from "./turn.ts";

/** One of these: who is called in which phase, and what all of them are told. */
export interface Round {
  readonly turn: Turn;
  readonly phase: MemoryPhase;
  readonly messages: readonly ModelMessage[];
  /** May end the round, beside the turn's own signal. */
  readonly callerSignal?: AbortSignal | undefined;
  readonly compaction?: {
    /** How many came before it, in or since the turn. */
    readonly ordinal: number;
    /** The turn's number, or between turns the next one's. */
    readonly sequence: number;
    readonly told: { readonly modelId: string; readonly usageInputTokens?: number | null };
  };
}

/** What is done for each slot of a round. */
export interface SlotCall<T, R> {
  readonly call: (lock: SlotLock) => T | Promise<T>;
  /** What comes of an answer, in the moment of it. What it throws is a failure. */
  readonly answered: (lock: SlotLock, answer: T) => R;
  readonly failed: (lock: SlotLock, error: unknown) => R;
}

/**
 * Calls all slots at once. Settles when all have answered or failed, and right away when the turn is given up: whoever has
 * not answered then has failed with the signal's reason, and a late answer is dropped. Results are in the order of slots.
 * Rejects with what `failed` throws.
 */
export function callAll<T, R>(
  turn: Turn,
  locks: readonly SlotLock[],
  { call, answered, failed }: SlotCall<T, R>,
): Promise<readonly R[]> {
  if (locks.length === 0) return Promise.resolve([]);
  const { signal, waiting } = turn;
  return new Promise((resolve, reject) => {
    const results: R[] = [];
    const settled = locks.map(() => false);
    let left = locks.length;
    const settle = (index: number, result: R): void => {
      results[index] = result;
      settled[index] = true;
      left -= 1;
      if (left > 0) return;
      waiting.delete(giveUp);
      resolve(results);
    };
    const fail = (lock: SlotLock, index: number, error: unknown): void => {
      if (settled[index] === true) return;
      try {
        settle(index, failed(lock, error));
      } catch (problem) {
        waiting.delete(giveUp);
        reject(problem);
      }
    };
    const answer = (lock: SlotLock, index: number, value: T): void => {
      if (settled[index] === true) return;
      let result: R;
      try {
        result = answered(lock, value);
      } catch (error) {
        fail(lock, index, error);
        return;
      }
      settle(index, result);
    };
    const giveUp = (reason: unknown): void => {
      for (const [index, lock] of locks.entries()) fail(lock, index, reason);
    };
    waiting.add(giveUp);
    if (signal.aborted) giveUp(signal.reason);
    locks.forEach((lock, index) => {
      if (settled[index] === true) return; // given up, by an earlier slot even
      try {
        Promise.resolve(call(lock)).then(
          (value) => answer(lock, index, value),
          (error: unknown) => fail(lock, index, error),
        );
      } catch (error) {
        fail(lock, index, error);
      }
    });
  });
}

/** A kind of handler that providers have. */
export interface Handler {
  readonly kind: TracedCall["kind"];
  readonly invoke: (lock: SlotLock, phase: MemoryPhase, context: MemoryTurnContext) => unknown;
  /** What a watcher may be told of a call, and of its answer. */
  readonly input: (round: Round) => unknown;
  readonly result: (lock: SlotLock, answer: unknown) => TracedResult;
}

/** Calls a slot's handler: directly, or watched where somebody watches. Not held up by it when the caller gives up. */
export function callHandler(round: Round, lock: SlotLock, { kind, invoke, input, result }: Handler): unknown {
  const { turn, phase, callerSignal } = round;
  if (turn.host.tracer === undefined && callerSignal === undefined) {
    return invoke(lock, phase, handlerContext(round, lock, turn.signal)); // the turn's end is seen to by callAll
  }
  const call = (abortSignal: AbortSignal): unknown => invoke(lock, phase, handlerContext(round, lock, abortSignal));
  const run = async (): Promise<unknown> => {
    const answer = await unlessAborted(turn, call, callerSignal);
    result(lock, answer); // an answer that is none fails the call, for whoever watches
    return answer;
  };
  return traced(turn, lock, run, () => ({
    call: { kind, phase, operationId: operationOf(round, lock.slot.name), input: () => input(round) },
    result: (answer) => result(lock, answer),
    wasGivenUp: () => isGivenUp(round),
  }));
}

function operationOf({ turn, phase, compaction }: Round, slot: string): string {
  const { sessionId, id } = turn;
  const { ordinal, sequence = turn.sequence } = compaction ?? {};
  return operationId({ sessionId, sequence, turnId: id, phase, slot, compaction: ordinal });
}

/** What a slot's handler is called with in this round. */
function handlerContext(round: Round, lock: SlotLock, abortSignal: AbortSignal): MemoryTurnContext {
  const { turn, messages, compaction } = round;
  const slot = lock.slot.name;
  return {
    abortSignal,
    getSandbox: turn.host.capabilities.getSandbox,
    memory: { scope: lock.scope, slot },
    messages: [...messages],
    operationId: operationOf(round, slot),
    session: turn.told.session,
    turn: turn.told.turn,
    ...(compaction === undefined ? {} : { compaction: { ...compaction.told } }),
  };
}

/** Runs a call of a slot's provider, watched where somebody watches. */
export function traced<T>(
  { host, sessionId, id }: Turn,
  { slot, scope }: SlotLock,
  run: () => Promise<T>,
  describe: () => {
    readonly call: Pick<TracedCall, "kind" | "input"> & Partial<TracedCall>;
    readonly result: (value: T) => TracedResult;
    readonly wasGivenUp: () => boolean;
  },
): Promise<T> {
  if (host.tracer === undefined) return run();
  const { call, ...told } = describe();
  return host.tracer.trace({ ...call, slot: slot.name, scopeKey: scope.key, sessionId, turnId: id }, run, told);
}

/** Whether a round ended because somebody gave it up, and not by itself. */
export function isGivenUp({ turn, callerSignal }: Round): boolean {
  return turn.signal.aborted || callerSignal?.aborted === true;
}
