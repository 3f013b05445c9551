import { describe, expect, it } from "vitest";
import { parseRecallResult } from "./recall-result.ts";

const parse = (result: unknown) => parseRecallResult("notes", result);

describe("a recall's answer", () => {
  it.each([[null], [undefined], [{ messages: [] }]])("%j means no messages", (result) => {
    expect(parse(result)).toEqual([]);
  });

  it("keeps content and id as they are", () => {
    expect(
      parse({ messages: [{ content: " a " }, { content: "b", id: " " }, { content: "c", id: undefined }] }),
    ).toEqual([{ content: " a " }, { content: "b", id: " " }, { content: "c" }]);
    expect(parse({ messages: [{ content: "a", id: "x".repeat(1_024) }] })).toHaveLength(1);
  });

  it.each([
    ["text", "text"],
    ["an array", []],
    ["false", false],
    ["zero", 0],
    ["empty text", ""],
    ["unknown keys", { messages: [], extra: 1 }],
    ["no messages", {}],
    ["messages of null", { messages: null }],
    ["a message that is text", { messages: ["a"] }],
    ["a message of null", { messages: [null] }],
    ["a message with a role", { messages: [{ content: "a", role: "system" }] }],
    ["blank content", { messages: [{ content: " \n" }] }],
    ["content that is a number", { messages: [{ content: 1 }] }],
    ["a hole in its messages", { messages: new Array(1) }],
    ["an empty id", { messages: [{ content: "a", id: "" }] }],
    ["an id of null", { messages: [{ content: "a", id: null }] }],
    ["an id of 1,025 bytes", { messages: [{ content: "a", id: `${"é".repeat(512)}x` }] }],
    [
      "one id twice",
      {
        messages: [
          { content: "a", id: "x" },
          { content: "b", id: "x" },
        ],
      },
    ],
  ])("with %s is refused", (_, result) => {
    expect(() => parse(result)).toThrow(expect.objectContaining({ code: "invalid_recall", slot: "notes" }));
  });
});
