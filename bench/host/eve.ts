/**
 * eve's memory lifecycle: the calls that its tool loop makes for memory, on eve's own code and without the rest of that loop.
 * Counted are the `turn.started` and `turn.completed` events of its memory and of its dynamic tools. Not counted, though
 * eve's loop does them each turn: checks of the history, the stream of events, a step's rebuilding of tools for the model.
 */
import type { ModelMessage } from "@keepsake/core";
import { type EveContext, eve } from "@keepsake/testing";
import { slots } from "./slots.ts";
import type { System } from "./system.ts";

const definitions = Object.entries(slots).map(([slot, definition]) => ({
  slot,
  definition: eve.normalizeMemoryDefinition(definition, `Memory slot "${slot}" was refused.`),
}));
const memories = definitions.map(({ slot, definition }) => ({
  ...definition,
  ...sourceOf(`memory/${slot}.ts`),
  slot,
  visibility: definition.visibility ?? "scope",
}));
const resolvers = definitions.map(({ slot, definition }) => ({
  ...sourceOf(`tools/${slot}.ts`),
  slug: slot,
  eventNames: ["turn.started"],
  events: eve.createMemoryToolDynamicDefinition(definition, slot).events,
  rebindMissingCallbacks: true,
}));
const projector = eve.projectMemoryHistoryFromSessionState;

export const openSession: System = (user) => {
  const sessionId = crypto.randomUUID();
  const auth = { current: user, initiator: user };
  const ctx: EveContext = new eve.ContextContainer();
  ctx.set(eve.AuthKey, user);
  ctx.set(eve.InitiatorAuthKey, user);
  ctx.set(eve.SessionIdKey, sessionId);
  ctx.setVirtualContext(eve.StaticModelReferenceKey, null);
  const place = { appRoot: "/app", ctx, nodeId: "__root__" };
  let history: readonly unknown[] = [];
  let state: unknown;
  let sequence = 0;

  return {
    startTurn(text) {
      const turnId = `turn_${sequence}`;
      const abortSignal = new AbortController().signal;
      const input: readonly ModelMessage[] = [{ role: "user", content: text }];
      ctx.set(eve.SessionKey, { auth, sessionId, turn: { id: turnId, sequence } });
      eve.prepareMemoryPreamble(ctx, { history, input, state, projector });
      return eve.contextStorage.run(ctx, async () => {
        const event = { type: "turn.started", data: { sequence, turnId } };
        const messages = await eve.dispatchMemoryLifecycleEvent({ ...place, abortSignal, event, memories });
        await eve.dispatchDynamicToolEvent({ ...place, event, messages, resolvers });
        const commit = eve.drainMemoryCommit(ctx);
        history = [...history, ...(commit?.recalledMessages ?? []), ...input];
        state = commit?.state ?? state;
        return { messages };
      });
    },
    async completeTurn(answer) {
      history = [...history, answer];
      const event = { type: "turn.completed", data: { sequence, turnId: `turn_${sequence}` } };
      await eve.contextStorage.run(ctx, async () => {
        const messages = await eve.dispatchMemoryLifecycleEvent({ ...place, event, memories, messages: history });
        await eve.dispatchDynamicToolEvent({ ...place, event, messages, resolvers });
      });
      sequence += 1;
    },
    end() {
      const event = { type: "session.completed" };
      return eve.dispatchDynamicToolEvent({ ...place, event, messages: history, resolvers });
    },
  };
};

function sourceOf(logicalPath: string): object {
  return { logicalPath, sourceId: logicalPath, sourceKind: "module" };
}
