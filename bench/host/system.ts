/** What is compared: something that runs sessions of turns over the same slots. */
import type { ModelMessage, Principal } from "@keepsake/core";

export const systemNames = ["keepsake", "by-hand", "eve"] as const;
export type SystemName = (typeof systemNames)[number];

/** Opens a session of one user. */
export type System = (user: Principal) => SystemSession;

export interface SystemSession {
  /** Everything before the model runs: what it would be shown, and the tools it could call. */
  startTurn(input: string): Promise<{ readonly messages: readonly unknown[] }>;
  /** Everything after the model has answered. */
  completeTurn(answer: ModelMessage): Promise<void>;
  end?(): Promise<void>;
}
