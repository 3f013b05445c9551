/** Calls beside one whose backend keeps its answer back. */
import type { HeldAnswer } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { quietOr, type Watched } from "../time/wait.ts";

/** After as many turns without a request, a call waits for the answer that is kept back. */
const stuckTurns = 100;

/** Whether the call has come to the answer that is kept back. Otherwise it has ended without, and nothing is kept back. */
export async function heldOrSettled(answer: HeldAnswer, call: Watched<unknown>): Promise<boolean> {
  await quietOr(
    () => answer.isHeld() || call.outcome.state !== "pending",
    () => true,
  );
  if (!answer.isHeld()) answer.release();
  return answer.isHeld();
}

/** Waits until a call settles, which it answers, or makes no more requests. */
export async function settledOrStuck({ backend }: Bench, call: Watched<unknown>): Promise<boolean> {
  let seen = -1;
  const isAtWork = (): boolean => {
    const before = seen;
    seen = backend.observed().length;
    return seen !== before;
  };
  const isSettled = (): boolean => call.outcome.state !== "pending";
  await quietOr(isSettled, isAtWork, stuckTurns);
  return isSettled();
}
