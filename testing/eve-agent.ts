/** An agent on the real eve, in this process: its tool loop, memory and tools, with a scripted model in place of a paid one. */
import type { Principal, SessionAuth, SessionTurn } from "@keepsake/core";
import type { MemoryDefinition } from "eve/memory";
import { type EveEvent, type EveSession, type EveStep, eve } from "./eve-internals.ts";
import { type Prompt, type Reply, scriptedModel } from "./scripted-model.ts";

interface EveAgentOptions {
  /** By slot, as the files of `agent/memory/` would export them. */
  readonly memories: Readonly<Record<string, MemoryDefinition>>;
  readonly respond: (prompt: Prompt) => Reply;
  readonly sessionId: string;
  /** Input tokens from which eve compacts by itself, within a turn too. The scripted model always reports 100. */
  readonly compactionThreshold?: number;
  /** The application's root folder, which default namespaces are made from. */
  readonly appRoot?: string;
}

interface EveTurnOptions {
  readonly principal: Principal | null;
  readonly abortSignal?: AbortSignal;
  /** Compacts at the first step of this turn. */
  readonly compact?: boolean;
}

/** One session. What outlives it is the provider's doing. */
export class EveAgent {
  readonly prompts: Prompt[] = [];
  readonly #context = new eve.ContextContainer();
  readonly #memories: readonly object[];
  readonly #toolResolvers: readonly object[];
  readonly #model: ReturnType<typeof scriptedModel>;
  readonly #sessionId: string;
  readonly #appRoot: string;
  #session: EveSession;
  #auth: SessionAuth | undefined;
  #turn: SessionTurn = { id: "turn_0", sequence: 0 };
  #events = 0;

  /** Throws when eve would refuse a definition at its start. */
  constructor({
    memories,
    respond,
    sessionId,
    compactionThreshold = Number.MAX_SAFE_INTEGER,
    appRoot = "/app",
  }: EveAgentOptions) {
    this.#appRoot = appRoot;
    const slots = Object.entries(memories)
      .map(([slot, definition]) => ({
        slot,
        definition: eve.normalizeMemoryDefinition(definition, `Memory slot "${slot}" was refused.`),
      }))
      .sort((a, b) => `memory/${a.slot}.ts`.localeCompare(`memory/${b.slot}.ts`)); // as eve finds their files
    this.#memories = slots.map(({ slot, definition }) => ({
      ...definition,
      ...sourceOf(`memory/${slot}.ts`),
      slot,
      visibility: definition.visibility ?? "scope",
    }));
    this.#toolResolvers = slots.map(({ slot, definition }) => ({
      ...sourceOf(`tools/${slot}.ts`),
      slug: slot,
      eventNames: ["turn.started"],
      events: eve.createMemoryToolDynamicDefinition(definition, slot).events,
      rebindMissingCallbacks: true,
    }));
    this.#model = scriptedModel((prompt) => {
      this.prompts.push(prompt);
      return respond(prompt);
    });
    this.#sessionId = sessionId;
    this.#context.set(eve.SessionIdKey, sessionId);
    this.#session = {
      agent: { modelReference, system: "You are helpful.", tools: [] },
      compaction: { recentWindowSize: 1, threshold: compactionThreshold },
      continuationToken: "test",
      history: [],
      sessionId,
    } as EveSession;
  }

  /** Runs a whole turn and answers the last prompt of it. Throws when eve fails the turn. */
  async turn(message: string, { principal, abortSignal, compact = false }: EveTurnOptions): Promise<Prompt> {
    const promptsBefore = this.prompts.length;
    this.#auth = { current: principal, initiator: this.#auth?.initiator ?? principal };
    const { threshold } = this.#session.compaction;
    if (compact) this.#compactFrom(1);
    try {
      await this.#run({ message }, { abortSignal });
    } finally {
      if (compact) this.#compactFrom(threshold);
    }
    const prompt = this.prompts.slice(promptsBefore).at(-1);
    if (prompt === undefined) throw new Error("The turn never reached the model.");
    return prompt;
  }

  /** Summarises the history, between turns. */
  compact(): Promise<void> {
    return this.#run({}, { compactOnly: true });
  }

  /** Empties the history, between turns. */
  clear(): Promise<void> {
    return this.#run({}, { clearOnly: true });
  }

  #compactFrom(threshold: number): void {
    this.#session = { ...this.#session, compaction: { ...this.#session.compaction, threshold } };
  }

  async #run(
    input: object,
    mode: { readonly abortSignal?: AbortSignal | undefined; readonly [mode: string]: unknown } = {},
  ): Promise<void> {
    const { abortSignal } = mode;
    const context = this.#context;
    const failures: string[] = [];
    const handleEvent = async (event: EveEvent, messages: unknown): Promise<void> => {
      const { type, data } = event;
      this.#events += 1;
      const meta = { id: `event_${this.#events}`, at: new Date(0).toISOString() };
      eve.recordPublishedEvent(context, { ...event, meta });
      if (type.endsWith(".failed")) failures.push(`${type}: ${String(data?.message)}`);
      if (type === "turn.started") {
        this.#turn = { id: data?.turnId ?? "", sequence: data?.sequence ?? 0 };
        this.#enterSession();
      }
      const place = { ctx: context, event, appRoot: this.#appRoot, nodeId: "__root__", abortSignal };
      const shown = await eve.dispatchMemoryLifecycleEvent({ ...place, memories: this.#memories, messages });
      await eve.dispatchDynamicToolEvent({ ...place, resolvers: this.#toolResolvers, messages: shown });
    };
    const firstStep = eve.createToolLoopHarness({
      ...mode,
      handleEvent,
      historyProjector: eve.projectMemoryHistoryFromSessionState,
      resolveModel: async () => this.#model,
      tools: new Map(),
    });
    context.setVirtualContext(eve.StaticModelReferenceKey, modelReference);
    this.#enterSession();
    eve.enterSessionProjection(context, this.#session.state);
    await eve.contextStorage.run(context, async () => {
      let { session, next } = await firstStep(this.#session, input);
      while (typeof next === "function") ({ session, next } = await (next as EveStep)(session));
      // Through JSON, as between two requests to a deployed agent.
      this.#session = JSON.parse(JSON.stringify(session)) as EveSession;
    });
    if (failures.length > 0) throw new Error(failures.join("; "));
  }

  #enterSession(): void {
    const auth = this.#auth ?? { current: null, initiator: null };
    this.#context.set(eve.AuthKey, auth.current);
    this.#context.set(eve.InitiatorAuthKey, auth.initiator);
    this.#context.set(eve.SessionKey, { auth, sessionId: this.#sessionId, turn: this.#turn });
  }
}

const modelReference = { id: "scripted" };

function sourceOf(logicalPath: string): object {
  return { logicalPath, sourceId: logicalPath, sourceKind: "module" };
}
