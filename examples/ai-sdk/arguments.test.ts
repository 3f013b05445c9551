import { describe, expect, it } from "vitest";
import { readArguments, readName } from "./arguments.ts";
import { chooseModel } from "./model.ts";

describe("the arguments", () => {
  it("may be left out", () => {
    expect(readArguments([])).toEqual({ help: false, user: "ann", model: undefined });
  });

  it("name a person and a model", () => {
    const given = ["--", "--user", "Ben", "--model", "openai/gpt-6-luna"];
    expect(readArguments(given)).toEqual({ help: false, user: "ben", model: "openai/gpt-6-luna" });
    expect(readArguments(["--help"]).help).toBe(true);
  });

  it.each([
    [["--modle", "x"], "'--modle'"],
    [["--model"], "'--model <value>'"],
    [["hello"], "'hello'"],
    [["--user", "../ann"], "A name has 1 to 32 letters"],
  ])("that are wrong are refused by name: %j", (given, named) => {
    expect(() => readArguments(given)).toThrow(named);
    expect(() => readArguments(given)).toThrow(/\nUsage: .*$/);
  });
});

describe("a name", () => {
  it("is one name however it is spelled", () => {
    expect(["Zoë", "zoe\u0308", "ZOË"].map(readName)).toEqual(["zoë", "zoë", "zoë"]);
  });

  it.each(["", "a b", "a/b", "..", "a".repeat(33), "a\u202eb"])(
    "is refused where it could be no file name: %j",
    (name) => {
      expect(() => readName(name)).toThrow("A name has 1 to 32 letters, digits, - or _.");
    },
  );
});

describe("the model", () => {
  const described = (named?: string, key?: string): string => chooseModel(named, key).description;

  it("is a script without a key, and with one a real model unless told otherwise", () => {
    expect(described()).toMatch(/^a script/);
    expect(described(undefined, "key")).toMatch(/^[a-z]+\/\S+$/);
    expect(described("openai/gpt-6-luna", "key")).toBe("openai/gpt-6-luna");
    expect(described("script", "key")).toMatch(/^a script/);
  });

  it.each([
    ["openai/gpt-6-luna", undefined, "needs a key: set AI_GATEWAY_API_KEY"],
    ["openai/gpt-6-luna", " ", "needs a key: set AI_GATEWAY_API_KEY"],
    ["luna", "key", "--model needs PROVIDER/NAME, or script."],
    ["", "key", "--model needs PROVIDER/NAME, or script."],
  ])("%j with the key %j is refused", (named, key, reason) => {
    expect(() => chooseModel(named, key)).toThrow(reason);
  });
});
