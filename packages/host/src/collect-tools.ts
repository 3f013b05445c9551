/** The tools of all slots for one turn. */
import { describeError, type ModelMessage } from "@keepsake/core";
import type { SlotLock } from "./slots.ts";
import { qualifyTools, type TurnTools } from "./tools.ts";
import { emit, type Turn, traced, unlessAborted } from "./turn.ts";

/** A slot whose tools cannot be had goes without for this turn. So does one whose names an earlier slot has taken. */
export async function collectTools(
  turn: Turn,
  locks: readonly SlotLock[],
  messages: readonly ModelMessage[],
): Promise<TurnTools> {
  const collected = await Promise.all(
    locks.map(async (lock) => ({ slot: lock.slot.name, tools: await slotTools(turn, lock, messages) })),
  );
  const offered: Record<string, TurnTools[string]> = {};
  for (const { slot, tools } of collected) {
    if (Object.keys(tools).some((name) => Object.hasOwn(offered, name))) {
      emit(turn, { code: "tools_failed", slot, error: { name: "MemoryError", code: "invalid_tools" } });
      continue;
    }
    Object.assign(offered, tools);
  }
  return offered;
}

async function slotTools(turn: Turn, lock: SlotLock, messages: readonly ModelMessage[]): Promise<TurnTools> {
  const { name, definition } = lock.slot;
  const { provider, description } = definition;
  if (provider.tools === undefined) return {};
  const { channel, auth, sessionId, signal, host, modelId } = turn;
  try {
    const tools = await unlessAborted(turn, () =>
      provider.tools?.({
        channel,
        memory: { scope: lock.scope, slot: name },
        messages: [...messages],
        model: modelId === undefined ? null : { id: modelId },
        session: Object.freeze({ id: sessionId, auth }),
        turn: turn.told.turn,
      }),
    );
    return qualifyTools({ name, description }, tools, {
      host: { ...host.capabilities, messages, newCallId: host.randomId, session: turn.told.session },
      run: (call, operation, callerSignal) =>
        traced(
          turn,
          lock,
          () => unlessAborted(turn, operation, callerSignal),
          () => ({
            call: { kind: "tool", ...call },
            result: (answer) => ({ characters: JSON.stringify(answer).length, output: () => answer }),
            wasGivenUp: () => signal.aborted || callerSignal?.aborted === true,
          }),
        ),
      turnSignal: signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    emit(turn, { code: "tools_failed", slot: name, error: describeError(error) });
    return {};
  }
}
