import { describe, expect, it } from "vitest";
import { defineSubject, type SubjectDefinition } from "./define.ts";
import { parseSubject } from "./parse.ts";

const create: SubjectDefinition["create"] = () => ({ recall: { "turn.started": () => null } });
const subject = { create, backend: "none", time: "real" } as const;

describe("a subject", () => {
  it("is what was written down", () => {
    expect(defineSubject(subject)).toBe(subject);
  });

  it.each([
    ["a word that is none", { ...subject, beckend: "none" }, /beckend/],
    ["no time", { create, backend: "none" }, /time/],
    ["a time that is none", { ...subject, time: "fake" }, /time/],
    ["no way to be made", { backend: "none", time: "real" }, /create/],
    ["a backend that cannot be started", { ...subject, backend: {} }, /backend/],
    ["a tool without a name", { ...subject, tools: { save: {} } }, /tools\.save/],
    ["a deviation without a reason", { ...subject, deviations: [{ check: "replay/quiet" }] }, /deviations/],
    [
      "a deviation that never ends",
      { ...subject, deviations: [{ check: "a/b", reason: "r", link: "https://a.example", expires: "later" }] },
      /expires/,
    ],
  ])("is refused with %s", (_, wrong, names) => {
    expect(() => parseSubject(wrong)).toThrow(names);
  });
});
