/** Imports a fixture in a process of its own, and prints what it did as JSON. */
import { watchSideEffects } from "../process/side-effects.ts";
import { eventLoopTurn } from "../time/wait.ts";

const environmentBefore = process.env;
const watch = watchSideEffects();
const { uses } = (await import(`./fixtures/${process.argv[2]}.ts`)) as { uses?: () => void };
await eventLoopTurn(); // what was closed is still listed for a turn
const effects = watch.stop();
uses?.(); // afterwards it is not watched any more
const restored = process.env === environmentBefore;
process.stdout.write(`${JSON.stringify({ effects, restored, pathAfter: process.env.SET_BY_FIXTURE })}\n`);
process.exit();
