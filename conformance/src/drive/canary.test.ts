import { describe, expect, it } from "vitest";
import { canaries, holds } from "./canary.ts";

describe("canaries", () => {
  it("are all different, and no word is a part of another", () => {
    const sources = [0, 1, 227].map(canaries);
    const made = sources.flatMap((canary) => Array.from({ length: 2_000 }, () => canary()));
    const words = made.flatMap(({ word, topic }) => [word, topic]);
    expect(new Set(words).size).toBe(words.length);
    expect(new Set(words.map((word) => word.length))).toEqual(new Set([12]));
  });

  it("are the same from the same source each time", () => {
    expect(canaries(3)()).toEqual(canaries(3)());
  });

  it("are asked for by a question that shares the topic and lacks the word", () => {
    const { text, query, topic, word } = canaries(0)("tea");
    expect(text).toContain(topic);
    expect(text).toContain(word);
    expect(query).toContain(topic);
    expect(query).not.toContain(word);
  });
});

describe("a witness", () => {
  const word = canaries(0)().word;
  const base64 = (text: string): string => Buffer.from(text).toString("base64");

  it.each([
    ["as it is", `about ${word}.`],
    ["in capitals", `ABOUT ${word.toUpperCase()}.`],
    ["in base64", base64(`{"text":"${word}"}`)],
    ["in base64, one byte further", base64(`{"text": "${word}"}`)],
    ["in base64, two bytes further", base64(`{ "text": "${word}"}`)],
    ["in hex", Buffer.from(`x${word}`).toString("hex")],
  ])("finds a word %s", (_, text) => expect(holds(["other", text], word)).toBe(true));

  it.each([
    ["URL", encodeURIComponent("käse & tee"), "käse & tee"],
    ["JSON text", JSON.stringify('say "hi"'), 'say "hi"'],
    ["base64 for URLs", Buffer.from("aa>>>???>>>").toString("base64url"), ">>>???>>>"],
  ])("finds odd characters in a %s", (_, text, secret) => expect(holds([text], secret)).toBe(true));

  it("finds nothing where nothing is", () => {
    expect(holds([`about ${word.slice(1)}`, base64("something else"), ""], word)).toBe(false);
  });
});
