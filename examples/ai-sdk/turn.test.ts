import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createChatMemory, personCalled } from "./memory.ts";
import { type TurnView, takeTurn } from "./turn.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "keepsake-ai-sdk-turn-"));
});

afterEach(() => rm(root, { recursive: true }));

type Call = readonly [toolName: "save_memory" | "remove_memory", input: object];
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const done: readonly StreamPart[] = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "Done." },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
];

/** A model that makes these calls at each step; it is done where there are none. */
function callingModel(...steps: readonly (readonly Call[])[]): MockLanguageModelV4 {
  let step = 0;
  return new MockLanguageModelV4({
    doStream: async () => {
      const calls = (steps[step++] ?? []).map(
        ([toolName, input], index): StreamPart => ({
          type: "tool-call",
          toolCallId: `${step}-${index}`,
          toolName: `profile__${toolName}`,
          input: JSON.stringify(input),
        }),
      );
      const finish: StreamPart = { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage };
      return { stream: convertArrayToReadableStream(calls.length === 0 ? [...done] : [...calls, finish]) };
    },
  });
}

/** Writes down what is shown, and agrees to nothing but the removal of the given numbers. */
function noting(agreed: readonly number[]): TurnView & { readonly shown: string[] } {
  const shown: string[] = [];
  return {
    shown,
    recalled: (memories) => void shown.push(...memories),
    text: (piece) => void shown.push(piece),
    tool: (toolName, outcome) => void shown.push(`${toolName} ${outcome}`),
    approve: async ({ toolCall }) => agreed.includes(Object(toolCall.input).index),
  };
}

const save = (text: string): Call => ["save_memory", { text }];
const remove = (index: number): Call => ["remove_memory", { index }];

it("asks about each removal of a step, saves beside them without a question, and goes on after the answers", async () => {
  const { signal: abortSignal } = new AbortController();
  const host = createChatMemory(root);
  const auth = personCalled("ann");
  const model = callingModel([save("Tea."), save("Cat."), save("Turku.")]);
  await takeTurn(host.session({ auth }), "Keep this.", { model, view: noting([]), abortSignal });

  const session = host.session({ auth });
  const later = callingModel([remove(0), save("Dog."), remove(1)], [], [remove(2)]);
  const view = noting([1, 2]);
  await takeTurn(session, "Tidy up.", { model: later, view, abortSignal });
  expect(view.shown).toEqual([
    "0: Tea.",
    "1: Cat.",
    "2: Turku.",
    'profile__save_memory {"saved":true,"duplicate":false,"index":3}',
    "profile__remove_memory not allowed",
    'profile__remove_memory {"removed":true,"index":1}',
    "Done.",
  ]);
  expect(session.state.history.map(({ message }) => message.role)).toEqual([
    "user", // what was recalled
    "user",
    "assistant", // three calls, two requests
    "tool", // what was saved
    "tool", // the person's answers
    "tool", // what came of them
    "assistant",
  ]);

  const next = noting([2]);
  await takeTurn(session, "And Turku.", { model: later, view: next, abortSignal });
  expect(next.shown).toEqual([
    "0: Tea.",
    "2: Turku.",
    "3: Dog.",
    'profile__remove_memory {"removed":true,"index":2}',
    "Done.",
  ]);
});
