/** The tools of all slots for one turn. */
import { describeError, type MemoryToolSet, type ModelMessage } from "@keepsake/core";
import { callAll, traced } from "./round.ts";
import type { SlotLock } from "./slots.ts";
import { qualifyTools, type ToolUse, type TurnTools } from "./tools.ts";
import { emit, type Turn, unlessAborted } from "./turn.ts";

/** A slot whose tools cannot be had goes without for this turn. So does one whose names an earlier slot has taken. */
export async function collectTools(
  turn: Turn,
  locks: readonly SlotLock[],
  messages: readonly ModelMessage[],
): Promise<TurnTools> {
  const offering = locks.filter(({ slot }) => slot.definition.provider.tools !== undefined);
  const sets = await callAll<MemoryToolSet | null | undefined, TurnTools>(turn, offering, {
    call: (lock) => callTools(turn, lock, messages),
    answered: (lock, tools) => qualifyTools(lock.slot, tools, toolUse(turn, lock, messages)),
    failed: ({ slot }, error) => {
      if (!turn.signal.aborted) emit(turn, { code: "tools_failed", slot: slot.name, error: describeError(error) });
      return {};
    },
  });
  turn.signal.throwIfAborted();
  const offered: Record<string, TurnTools[string]> = {};
  sets.forEach((tools, index) => {
    if (Object.keys(tools).some((name) => Object.hasOwn(offered, name))) {
      const slot = offering[index]?.slot.name ?? "";
      emit(turn, { code: "tools_failed", slot, error: { name: "MemoryError", code: "invalid_tools" } });
    } else {
      Object.assign(offered, tools);
    }
  });
  return offered;
}

function callTools(
  { channel, modelId, told }: Turn,
  { slot, scope }: SlotLock,
  messages: readonly ModelMessage[],
): Promise<MemoryToolSet | null> | undefined {
  return slot.definition.provider.tools?.({
    channel,
    memory: { scope, slot: slot.name },
    messages: [...messages],
    model: modelId === undefined ? null : { id: modelId },
    session: told.sessionOfTools,
    turn: told.turn,
  });
}

function toolUse(turn: Turn, lock: SlotLock, messages: readonly ModelMessage[]): ToolUse {
  const { host, signal, told } = turn;
  return {
    session: told.session,
    messages,
    capabilities: host.capabilities,
    newCallId: host.randomId,
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
  };
}
