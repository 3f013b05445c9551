/** A script in place of a model. It knows nothing by itself: what it answers, it reads from the messages it is given. */
import { messageText } from "@keepsake/core";
import { type Model, recalledText, toolAnswer } from "./agent.ts";

export const scriptedModel: Model = (messages) => {
  const last = messages.at(-1);
  if (last === undefined) return "Hello.";
  if (last.role === "tool") {
    const { answer, failed } = toolAnswer(last);
    if (failed) return "I was not allowed to keep that.";
    return answer.includes('"removed":true') ? "It is forgotten." : "I will remember that.";
  }
  const text = messageText(last);
  const remember = /^Remember: (.*)$/.exec(text)?.[1];
  if (remember !== undefined) return { toolName: "profile__save_memory", input: { text: remember } };
  const memories = [...(recalledText(messages) ?? "").matchAll(/^(\d+): (.*)$/gm)];
  const memory = memories.find(([, , saved = ""]) => sharesWord(saved, text));
  if (memory === undefined) return "I have nothing about that.";
  if (text.startsWith("Forget")) return { toolName: "profile__remove_memory", input: { index: Number(memory[1]) } };
  return `I remember: ${memory[2]}`;
};

function sharesWord(saved: string, asked: string): boolean {
  const words = new Set(asked.toLowerCase().match(/[a-z]{3,}/g));
  return (saved.toLowerCase().match(/[a-z]{3,}/g) ?? []).some((word) => words.has(word));
}
