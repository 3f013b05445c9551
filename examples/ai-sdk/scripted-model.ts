/**
 * A script in place of a model, behind the AI SDK's own interface, so that the chat needs no key. It knows nothing by
 * itself: what it answers, it reads from the messages it is given.
 */
import { isRecallFrame } from "@keepsake/core";
import type { LanguageModel } from "ai";

type Model = Extract<LanguageModel, { readonly specificationVersion: "v4" }>;
type Call = Parameters<Model["doStream"]>[0];
type Message = Call["prompt"][number];
type Part = Exclude<Message["content"], string>[number];
type Output = Extract<Part, { type: "tool-result" }>["output"];
type StreamPart = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer T> ? T : never;

/** Words, words after which nothing comes until the call is aborted, or a tool call. */
type Reply = string | { readonly hangsAfter: string } | { readonly toolName: string; readonly input: object };

export const scriptedModel: Model = {
  specificationVersion: "v4",
  provider: "example",
  modelId: "script",
  supportedUrls: {},
  doGenerate: () => {
    throw new Error("The script only streams.");
  },
  doStream: async ({ prompt, abortSignal }) => ({ stream: streamOf(replyTo(prompt), abortSignal) }),
};

function replyTo(prompt: Call["prompt"]): Reply {
  const last = prompt.at(-1);
  if (last?.role === "tool") return last.content.map(partOutput).map(replyToOutput).join(" ");
  const texts = prompt.filter(({ role }) => role === "user").map(textOf);
  const said = texts.filter((text) => !isRecallFrame(text));
  const recalled = texts.findLast((text) => isRecallFrame(text)) ?? "";
  return replyToText(said.at(-1) ?? "", recalled, said.at(-2));
}

function replyToText(text: string, recalled: string, earlier: string | undefined): Reply {
  const remember = /^remember(?: that)?[:,]?\s+(.+)$/i.exec(text)?.[1];
  if (remember !== undefined) return { toolName: "profile__save_memory", input: { text: remember } };
  if (/^think\b/i.test(text)) return { hangsAfter: "Let me think. This may take for ever (Ctrl-C stops me) ..." };
  if (/^fail\b/i.test(text)) throw new Error("The script fails, as it was told.");
  if (/what did i (just )?say/i.test(text)) return earlier === undefined ? "Nothing yet." : `You said: "${earlier}"`;
  const memory = closestMemory(recalled, text);
  if (/^forget\b/i.test(text)) {
    if (memory === undefined) return "I have nothing about that.";
    return { toolName: "profile__remove_memory", input: { index: memory.index } };
  }
  if (memory !== undefined) return `You told me: ${memory.text}`;
  return 'I have nothing about that. I am a script: say "Remember that ...", "Forget ...", or ask about what you told me.';
}

function replyToOutput(output: Output): string {
  if (output.type === "execution-denied") return "Then I keep it.";
  if (output.type === "error-text") return "I was not allowed to do that.";
  const answer = Object(output.type === "json" ? output.value : {});
  if ("removed" in answer) return answer.removed ? "It is forgotten." : "There was nothing to forget.";
  return answer.duplicate ? "I know that already." : "I will remember that.";
}

function closestMemory(recalled: string, asked: string): { readonly index: number; readonly text: string } | undefined {
  const words = wordsOf(asked);
  const [closest] = [...recalled.matchAll(/^(\d+): (.*)$/gm)]
    .map(([, index, text = ""]) => ({
      index: Number(index),
      text,
      shared: wordsOf(text).filter((word) => words.includes(word)).length,
    }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared);
  return closest;
}

const common = "about and are did does for forget have how that the what when where which who why you your".split(" ");

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []).filter((word) => !common.includes(word));
}

function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function partOutput(part: Part): Output {
  return part.type === "tool-result" ? part.output : { type: "text", value: "" };
}

function streamOf(reply: Reply, abortSignal: AbortSignal | undefined): ReadableStream<StreamPart> {
  const id = crypto.randomUUID();
  const text = typeof reply === "string" ? reply : "hangsAfter" in reply ? reply.hangsAfter : undefined;
  const isCall = typeof reply === "object" && "toolName" in reply;
  return new ReadableStream<StreamPart>({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      if (text !== undefined) {
        controller.enqueue({ type: "text-start", id });
        for (const delta of text.match(/\S+\s*/g) ?? []) controller.enqueue({ type: "text-delta", id, delta });
        if (typeof reply !== "string") {
          const stillThinking = setInterval(() => {}, 60_000); // as a connection would, it keeps the process alive
          const stop = (): void => {
            clearInterval(stillThinking);
            controller.error(abortSignal?.reason);
          };
          abortSignal?.addEventListener("abort", stop, { once: true });
          return;
        }
        controller.enqueue({ type: "text-end", id });
      }
      if (isCall) {
        const { toolName, input } = reply;
        controller.enqueue({ type: "tool-call", toolCallId: id, toolName, input: JSON.stringify(input) });
      }
      controller.enqueue({
        type: "finish",
        finishReason: { unified: isCall ? "tool-calls" : "stop", raw: undefined },
        usage: {
          inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: undefined, text: undefined, reasoning: undefined },
        },
      });
      controller.close();
    },
  });
}
