/** What is known of a provider before it is judged: declared, told by the subject, or guessed. Plain data. */
import type { MemoryCapabilities } from "@keepsake/core";
import type { BackendKind } from "../backend.ts";
import type { TimeMode } from "../time/kit-clock.ts";

export type WritePath = "capture" | "tool" | "import";

export interface Facts {
  readonly time: TimeMode;
  readonly backend: BackendKind | "none";
  /** In force: the provider's declaration, else the subject's, else a guess. */
  readonly capabilities: MemoryCapabilities;
  /** Those of them that the provider or the subject declares. */
  readonly declared: MemoryCapabilities;
  readonly captures: boolean;
  readonly tools: readonly string[];
  /** Tools that the subject names and that are not offered, such as `tools.forget`. */
  readonly unknownTools: readonly string[];
  /** Tools that are offered and used for nothing. */
  readonly unusedTools: readonly string[];
  /** Roles of tools of which the subject says that there is none, as needs. */
  readonly settledTools?: readonly string[];
  readonly saveTool?: string;
  readonly searchTool?: string;
  readonly forgetTool?: string;
  /** Which of several ways to name a memory the forget tool understood; absent where none worked. */
  readonly forgetHow?: string;
  readonly maintenance: boolean;
  readonly scopes: boolean;
  /** All ways to write, the preferred one first. */
  readonly writePaths: readonly WritePath[];
  readonly guesses: readonly string[];
  /** How many attempts to make it with wrong options the subject lists. */
  readonly invalidOptions?: number;
}
