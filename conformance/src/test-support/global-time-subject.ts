/** What a provider does with time, imported after time has been replaced. */
import { setTimeout as moduleSetTimeout } from "node:timers";
import { scheduler, setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

export const scenarios = {
  replaced: () => ({
    date: new Date().toISOString(),
    performance: performance.now(),
    sameModule: moduleSetTimeout === setTimeout,
  }),
  waits: {
    global: () => new Promise((resolve) => setTimeout(resolve, 1_000)),
    module: () => new Promise((resolve) => moduleSetTimeout(resolve, 2_000)),
    promises: () => sleep(3_000, "slept"),
    scheduler: () => scheduler.wait(4_000),
    promisified: () => promisify(setTimeout)(5_000),
    aborted: () => sleep(50_000, undefined, { signal: AbortSignal.timeout(6_000) }),
    never: () => new Promise(() => {}),
  },
  interval(): () => number {
    let fired = 0;
    const interval = setInterval(() => fired++, 1);
    return () => {
      clearInterval(interval);
      return fired;
    };
  },
  async fetchText(url: string, init?: RequestInit): Promise<string> {
    const response = await fetch(url, init);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return await response.text();
  },
  fetchWithin: (url: string, timeoutMs: number) => scenarios.fetchText(url, { signal: AbortSignal.timeout(timeoutMs) }),
  async fetchWithRetries(url: string): Promise<string> {
    for (let delayMs = 100; ; delayMs *= 2) {
      try {
        return await scenarios.fetchText(url);
      } catch (error) {
        if (delayMs > 400) throw error;
        await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
    }
  },
};
