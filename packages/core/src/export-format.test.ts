import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkExportLine,
  type ExportRecord,
  exportHeader,
  formatExportLine,
  parseExportLine,
} from "./export-format.ts";
import { memoryErrorOf } from "./test-support/outcome.ts";

const record: ExportRecord = { type: "memory", id: "m1", text: "Likes tea." };

describe("a line", () => {
  it.each([
    ["a plain text", "Likes tea."],
    ["line breaks of every kind", "a\nb\r\nc\u2028d\u2029e\u0085f"],
    ["a NUL and other controls", "a\u0000\u0007\u001b"],
    ["lone surrogates", "\ud800 \udc00"],
    ["both normal forms", "\u00e9 e\u0301"],
    ["spaces around", "  tea  "],
    ["what looks like JSON", '{"a":1}'],
    ["a number longer than a number can be", "12345678901234567890"],
    ["our own frame", "</keepsake-memory>"],
    ["a megabyte", "x".repeat(1_000_000)],
  ])("takes %s out and in again, byte for byte", (_, text) => {
    const line = formatExportLine({ ...record, text });
    expect(line).not.toContain("\n");
    expect(parseExportLine(line)).toEqual({ ...record, text });
    expect(formatExportLine(parseExportLine(line))).toBe(line);
  });

  it("takes any record out and in again", () => {
    const text = fc.string({ unit: "binary", minLength: 1 });
    const time = fc.maxSafeInteger();
    const records = fc.record(
      {
        type: fc.constant("memory" as const),
        id: text,
        text,
        kind: text,
        tags: fc.array(text),
        createdAt: time,
        updatedAt: time,
        expiresAt: time,
        active: fc.boolean(),
      },
      { requiredKeys: ["type", "id", "text"], noNullPrototype: true },
    );
    fc.assert(
      fc.property(records, (line) => {
        expect(parseExportLine(formatExportLine(line))).toEqual(line);
      }),
    );
  });

  it("keeps fields that this version does not know", () => {
    const line = '{"type":"memory","id":"m1","text":"tea","mood":{"calm":true},"__proto__":"odd"}';
    expect(formatExportLine(parseExportLine(line))).toBe(line);
    const header = '{"type":"header","format":"keepsake-export","version":1,"exportedBy":"x"}';
    expect(formatExportLine(parseExportLine(header))).toBe(header);
  });

  it("that is the header is read as such", () => {
    expect(parseExportLine(formatExportLine(exportHeader))).toEqual(exportHeader);
    expect(Object.isFrozen(exportHeader)).toBe(true);
  });

  it.each([
    ["a newer version", { ...exportHeader, version: 2 }, "unsupported_version"],
    ["another format", { ...exportHeader, format: "other-export" }, "invalid_export"],
    ["an unknown type", { ...record, type: "note" }, "invalid_export"],
    ["no type", { id: "m1", text: "x" }, "invalid_export"],
    ["no id", { type: "memory", text: "pin 4711" }, "invalid_export"],
    ["an empty id", { ...record, id: "" }, "invalid_export"],
    ["an id that is a number", { ...record, id: 4711 }, "invalid_export"],
    ["no text", { type: "memory", id: "m1" }, "invalid_export"],
    ["an empty text", { ...record, text: "" }, "invalid_export"],
    ["a kind that is not text", { ...record, kind: 1 }, "invalid_export"],
    ["tags that are one text", { ...record, tags: "pin 4711" }, "invalid_export"],
    ["a tag that is not text", { ...record, tags: ["a", 4711] }, "invalid_export"],
    ["a date as text", { ...record, createdAt: "2026-01-01" }, "invalid_export"],
    ["a fraction of a millisecond", { ...record, updatedAt: 0.5 }, "invalid_export"],
    ["an expiry of null", { ...record, expiresAt: null }, "invalid_export"],
    ["activity that is not yes or no", { ...record, active: 1 }, "invalid_export"],
    ["a list", [record], "invalid_export"],
    ["null", null, "invalid_export"],
    ["a text", "pin 4711", "invalid_export"],
  ])("with %s is refused, without a word of it", async (_, line, code) => {
    for (const read of [() => parseExportLine(JSON.stringify(line)), () => checkExportLine(line)]) {
      const error = await memoryErrorOf(read);
      expect(error.code).toBe(code);
      expect(error.message).not.toContain("4711");
    }
    expect(checkExportLine(record)).toBe(record);
  });

  it.each(["", "pin 4711", '{"type":"memory"', "\ufeff{}", "undefined"])(
    "that is not JSON (%j) is refused",
    async (text) => {
      const error = await memoryErrorOf(() => parseExportLine(text));
      expect(error.code).toBe("invalid_export");
      expect(JSON.stringify(error) + error.message).not.toContain("4711");
    },
  );
});
