/** A process that only imports: what the subject's module does by that, beyond what importing the kit and zod does. */
import "zod"; // keeps its settings in the global scope, which no provider that describes its tools with it is to blame for
import "../index.ts";
import { serve } from "./rpc.ts";
import { watchSideEffects } from "./side-effects.ts";

serve({
  async load(...[moduleUrl]: readonly unknown[]) {
    const watch = watchSideEffects();
    try {
      await import(String(moduleUrl));
    } finally {
      await new Promise<void>((resolve) => setImmediate(resolve)); // what it began at once is then under way
    }
    return watch.stop();
  },
});
