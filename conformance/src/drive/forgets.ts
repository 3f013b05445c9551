/** Forgetting, for checks that are about what comes afterwards. */
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { Person } from "./person.ts";

/**
 * Forgets by the provider's own tool. Ends the check where the memory is still known: it is then not the provider's
 * fault that the rest cannot be tried, or it is another check's to say so.
 * @param saved What a save tool answered.
 */
export async function forget(bench: Bench, person: Person, memory: Canary, saved?: unknown): Promise<void> {
  const asker = person.again();
  const [target] = await asker.forgetInputs(memory, saved);
  if (target !== undefined) await bench.outcome(() => asker.call(bench.facts.forgetTool ?? "", target.input));
  if (await person.knows(memory)) bench.notApplicable("What was written in this way could not be forgotten.");
}
