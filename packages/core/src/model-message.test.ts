import { describe, expect, it } from "vitest";
import { isUserMessage, type ModelMessage, messageKind, messageText } from "./model-message.ts";

const ofKind = (kind: unknown): ModelMessage => Object.assign({ role: "user", content: "hello" } as const, { kind });

describe("who said it", () => {
  it("a person, in a message of kind user or of none", () => {
    expect([{ role: "user", content: "hello" } as const, ofKind("user"), ofKind(7)].map(isUserMessage)).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("not a person, in a message of the host's, of memory's or of the model's", () => {
    const others = ["memory.load", "context.instruction", "context.state", "task.result", ""].map(ofKind);
    expect(others.some(isUserMessage)).toBe(false);
    expect(isUserMessage({ role: "assistant", content: "hello" })).toBe(false);
    expect(isUserMessage({ role: "system", content: "hello" })).toBe(false);
  });

  it("is in its kind, where that is text", () => {
    expect([ofKind("memory.load"), ofKind(7), { role: "user", content: "x" } as const].map(messageKind)).toEqual([
      "memory.load",
      undefined,
      undefined,
    ]);
  });
});

describe("messageText", () => {
  it("is the text, or the text parts line by line, and nothing of the others", () => {
    expect(messageText({ role: "user", content: "tea" })).toBe("tea");
    const image = { type: "image", image: "aGk=" } as const;
    const parts: ModelMessage = {
      role: "user",
      content: [{ type: "text", text: "tea" }, image, { type: "text", text: "time" }],
    };
    expect(messageText(parts)).toBe("tea\ntime");
    const call = { type: "tool-call", toolCallId: "c", toolName: "t", input: { text: "4711" } } as const;
    expect(messageText({ role: "assistant", content: [{ type: "reasoning", text: "hm" }, call] })).toBe("");
  });
});
