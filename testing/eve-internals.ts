/**
 * The parts of eve that run an agent. eve exports them to nobody, so they are taken from the files of the installed
 * package, whose version is pinned; the types say only what is used here.
 */
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { MemoryDefinition } from "eve/memory";

export interface EveContext {
  set(key: unknown, value: unknown): void;
  setVirtualContext(key: unknown, value: unknown): void;
}

export interface EveSession {
  readonly state?: unknown;
  readonly compaction: { readonly recentWindowSize: number; readonly threshold: number };
}

export interface EveEvent {
  readonly type: string;
  readonly data?: { readonly turnId?: string; readonly sequence?: number; readonly message?: unknown };
}

/** `next` is another step of the same turn, or says that the turn is over. */
export type EveStep = (session: EveSession, input?: unknown) => Promise<{ session: EveSession; next: unknown }>;

interface EveMemoryCommit {
  readonly recalledMessages: readonly unknown[];
  readonly state: unknown;
}

interface EveInternals {
  readonly ContextContainer: new () => EveContext;
  readonly contextStorage: { run<T>(context: EveContext, action: () => Promise<T>): Promise<T> };
  readonly AuthKey: unknown;
  readonly InitiatorAuthKey: unknown;
  readonly SessionIdKey: unknown;
  readonly SessionKey: unknown;
  readonly StaticModelReferenceKey: unknown;
  createToolLoopHarness(config: object): EveStep;
  enterSessionProjection(context: EveContext, state: unknown): void;
  recordPublishedEvent(context: EveContext, event: object): void;
  /** Says what the turn starts with; `turn.started` reads it. */
  prepareMemoryPreamble(context: EveContext, preamble: object): void;
  dispatchMemoryLifecycleEvent(input: object): Promise<readonly unknown[]>;
  /** What `turn.started` adds to the history and to the session's state. */
  drainMemoryCommit(context: EveContext): EveMemoryCommit | undefined;
  dispatchDynamicToolEvent(input: object): Promise<void>;
  createMemoryToolDynamicDefinition(definition: MemoryDefinition, slot: string): { readonly events: object };
  normalizeMemoryDefinition(definition: unknown, message: string): MemoryDefinition;
  readonly projectMemoryHistoryFromSessionState: unknown;
}

const source = new URL("../../", pathToFileURL(createRequire(import.meta.url).resolve("eve/memory")));
const files = [
  "context/container",
  "context/dynamic-tool-lifecycle",
  "context/keys",
  "context/memory-event-lifecycle",
  "context/memory-lifecycle",
  "context/memory-tools",
  "harness/session-machine/current",
  "harness/tool-loop",
  "internal/authored-definition/memory",
  "shared/memory-state",
];
const modules: readonly unknown[] = await Promise.all(
  files.map((file) => import(/* @vite-ignore */ new URL(`${file}.js`, source).href)),
);

export const eve = Object.assign({}, ...modules) as EveInternals;
