import { EdgeVM } from "@edge-runtime/vm";
import { build } from "vite";
import { expect, it } from "vitest";

it("a turn runs on an edge runtime, where there is nothing of Node", async () => {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: false,
      lib: { entry: `${import.meta.dirname}/test-support/edge-entry.ts`, formats: ["iife"], name: "keepsake" },
    },
  });
  if (!Array.isArray(built)) throw new Error("Expected one build, not a watcher.");
  const code = built.flatMap(({ output }) => output).flatMap((chunk) => ("code" in chunk ? [chunk.code] : []));
  expect(code.join("")).not.toMatch(/["'`]node:|\brequire\(/);

  const vm = new EdgeVM();
  for (const chunk of code) vm.evaluate(chunk);
  const result = await vm.evaluate(`(async () => {
    const captured = [];
    const provider = {
      recall: { "turn.started": () => ({ messages: [{ content: "likes tea" }] }) },
      capture: { "turn.completed": ({ messages }) => { captured.push(messages.length); } },
    };
    const notes = keepsake.defineMemory({ provider, scope: "everyone", namespace: "app" });
    const session = keepsake.createMemoryHost({ slots: { notes } }).session();
    const turn = await session.startTurn("hello");
    await session.completeTurn({ responseMessages: [{ role: "assistant", content: "ok" }] });
    return JSON.stringify({ process: typeof process, messages: turn.messages.map(({ content }) => content), captured });
  })()`);
  expect(JSON.parse(result)).toEqual({ process: "undefined", messages: ["likes tea", "hello"], captured: [3] });
});
