/** Every handler of a provider called once and more, for checks that change something about how it is called. */
import type { Bench } from "../bench.ts";
import type { WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";

/** Calls everything there is. Answers the ways to write of which something was recalled afterwards. */
export async function useEverything(bench: Bench, handle: Handle): Promise<readonly WritePath[]> {
  const working: WritePath[] = [];
  for (const path of bench.writePaths) {
    const person = bench.someone(handle);
    const memory = bench.canary();
    const tools = await person.toolset();
    if (path === "tool" && handle.guess(tools).save === undefined) continue;
    if (path === "import" && handle.declaration?.maintenance === undefined) continue;
    await person.write(memory.text, { path });
    await person.say(memory.query);
    const turn = person.begin(memory.query);
    await person.capture(turn, { phase: "compaction.requested", messages: [...turn.history, ...turn.input] });
    await person.recall(turn, { phase: "compaction.completed" });
    if (await person.knows(memory)) working.push(path);
  }
  return working;
}
