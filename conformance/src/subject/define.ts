/** A subject: a provider to be judged, and how to make it, break what it stands on, and write through it. */
import type { Clock, MemoryCapabilities, MemoryEventListener, MemoryProvider } from "@keepsake/core";
import type { BackendFactory, Connection } from "../backend.ts";

/** What a provider is made from. Pass on what it has an option for; ignore the rest. */
export interface CreateContext<C extends Connection = Connection> {
  /** Where its backend is. For a subject without a backend there is nothing here. */
  readonly backend: C;
  /** The kit's clock. To be passed on where `time` is `injected`. */
  readonly clock: Clock;
  /** To be passed on where the provider has an `onEvent`. */
  readonly onEvent: MemoryEventListener;
  /** A key or password to use: the kit seeks it in whatever the provider says. */
  readonly credential: string;
  /** How long memories live, where a check is about that. */
  readonly ttlMs?: number;
}

export interface Deviation {
  /** The id of a check, such as `replay/interleaved`. */
  readonly check: string;
  readonly reason: string;
  /** Where it is discussed. */
  readonly link: string;
  /** `YYYY-MM-DD`: the first day on which it does not count any more. */
  readonly expires: string;
}

/** A tool by its name (or `"none"`: there is none), with what it is called with where the kit would guess wrong. */
export interface ToolUse<Input> {
  /** As in the map that `tools()` answers, without the slot. */
  readonly name: string;
  readonly input?: Input;
}

export interface SubjectTools {
  readonly save?: string | ToolUse<(text: string) => unknown>;
  readonly search?: string | ToolUse<(query: string) => unknown>;
  /** `saved` is what the save tool answered; `recalled` is the recalled text; `found` what the search tool answered. */
  readonly forget?: string | ToolUse<(memory: ForgetTarget) => unknown>;
}

export interface ForgetTarget {
  readonly text: string;
  readonly saved: unknown;
  readonly recalled: string;
  readonly found: unknown;
}

export interface SubjectDefinition<C extends Connection = Connection> {
  /** Shown in reports. Default: the module's file name. */
  readonly name?: string;
  /** A fresh provider over the backend. Called often: twice for two handles, again after a restart, in other processes. */
  readonly create: (context: CreateContext<C>) => MemoryProvider | Promise<MemoryProvider>;
  /** What it stands on, made breakable; `"none"` for a provider that keeps everything in its own process. */
  readonly backend: BackendFactory<C> | "none";
  /**
   * Whose clock the provider goes by: the one that `create` is given, the process's (the kit replaces it before the
   * subject is imported), or the real one, for which checks of deadlines and expiry only advise.
   */
  readonly time: "injected" | "global" | "real";
  /** Which tools save, search and forget. Default: guessed from names and schemas; the guess is shown. */
  readonly tools?: SubjectTools;
  /** How memory is written where there are several ways. Default: capture, else the save tool. */
  readonly writePath?: "capture" | "tool";
  /** For a provider that declares nothing itself. One that does must agree. */
  readonly capabilities?: MemoryCapabilities;
  /** Attempts to make the provider with options it cannot work with; each must throw. */
  readonly invalidOptions?: readonly (() => unknown)[];
  /** Failures that are known. One that passes unexpectedly fails the run. */
  readonly deviations?: readonly Deviation[];
}

/** A subject as the kit holds it. Made by {@link defineSubject}, and the default export of a module. */
export interface Subject extends Omit<SubjectDefinition, "name"> {
  readonly name?: string | undefined;
}

/**
 * A subject as it is: it is checked when it is about to be judged. A subject is a module that exports it as its default, so
 * that it can be loaded in processes of its own.
 */
export function defineSubject<C extends Connection>(subject: SubjectDefinition<C>): Subject {
  return subject as unknown as SubjectDefinition; // what its functions take is the business of whoever calls them
}
