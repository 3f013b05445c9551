/**
 * The loop that one would write without a host: it calls the four providers and joins what they answer. No checks, no scope
 * per turn, no isolation between slots; the user's keys are made once a session.
 */
import type { MemoryTool, MemoryTurnContext, ModelMessage } from "@keepsake/core";
import { slots } from "./slots.ts";
import type { System } from "./system.ts";

export const openSession: System = (user) => {
  const sessionId = crypto.randomUUID();
  const auth = { current: user, initiator: user };
  const memories = Object.entries(slots).map(([slot, { provider, description }]) => {
    const namespace = `bench-${slot}`;
    const scope = { key: `${namespace}:${user.principalId}`, namespace, value: user.principalId };
    return { slot, provider, description, scope };
  });
  const history: ModelMessage[] = [];
  let sequence = 0;
  let input: readonly ModelMessage[] = [];
  let abortSignal = new AbortController().signal;

  const contextOf = ({ slot, scope }: (typeof memories)[number], phase: string): MemoryTurnContext => ({
    abortSignal,
    getSandbox,
    memory: { slot, scope },
    messages: history,
    operationId: `${sessionId}:${sequence}:${phase}:${slot}`,
    session: { id: sessionId, auth, turn: { id: `turn_${sequence}`, sequence } },
    turn: { id: `turn_${sequence}`, input, sequence },
  });

  return {
    async startTurn(text) {
      abortSignal = new AbortController().signal;
      input = [{ role: "user", content: text }];
      const recalled = await Promise.all(
        memories.map((memory) => memory.provider.recall["turn.started"](contextOf(memory, "recall"))),
      );
      for (const result of recalled) {
        for (const { content } of result?.messages ?? []) history.push({ role: "user", content });
      }
      history.push(...input);
      const toolSets = await Promise.all(
        memories.map((memory) => memory.provider.tools?.({ ...contextOf(memory, "tools"), channel: {}, model: null })),
      );
      const tools: Record<string, MemoryTool> = {};
      for (const [index, { slot, description }] of memories.entries()) {
        for (const [key, tool] of Object.entries(toolSets[index] ?? {})) {
          tools[`${slot}__${key}`] = { ...tool, description: `${description}\n\n${tool.description}` };
        }
      }
      return { messages: [...history], tools };
    },
    async completeTurn(answer) {
      history.push(answer);
      await Promise.all(
        memories.map((memory) => memory.provider.capture?.["turn.completed"]?.(contextOf(memory, "capture"))),
      );
      sequence += 1;
    },
  };
};

async function getSandbox(): Promise<never> {
  throw new Error("There is no sandbox.");
}
