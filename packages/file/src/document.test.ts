import { toSingleLine } from "@keepsake/core";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FileDocument, formatDocument, parseDocument } from "./document.ts";

const header = "<!-- keepsake-memory v1 next=4 -->";

describe("a document", () => {
  it("is text that a person can read", () => {
    const document: FileDocument = {
      entries: [
        { index: 0, text: "likes tea" },
        { index: 3, text: "prefers aisle seats" },
      ],
      nextIndex: 4,
      calls: [{ digest: "a".repeat(22), outcome: "saved", index: 3 }],
    };
    const text = `${header}\n0: likes tea\n3: prefers aisle seats\n<!-- keepsake-calls ${"a".repeat(22)}.s3 -->\n`;
    expect(formatDocument(document)).toBe(text);
    expect(parseDocument(text)).toEqual(document);
  });

  it("survives writing and reading, whatever it holds", () => {
    const index = fc.nat({ max: 10_000 });
    const text = fc
      .string({ unit: "grapheme" })
      .map(toSingleLine)
      .filter((line) => line !== "");
    const outcome = fc.constantFrom("saved", "duplicate", "removed", "absent");
    const call = fc.record({ digest: fc.stringMatching(/^[A-Za-z0-9_-]{22}$/), outcome, index });
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(index, text), { selector: ([i]) => i }), fc.array(call), (pairs, calls) => {
        const entries = pairs.map(([i, t]) => ({ index: i, text: t })).sort((a, b) => a.index - b.index);
        const document = { entries, nextIndex: 10_001, calls };
        expect(parseDocument(formatDocument(document))).toEqual(document);
      }),
    );
  });
});

describe("a person's edits", () => {
  const texts = (content: string) => parseDocument(content).entries.map(({ index, text }) => `${index}: ${text}`);

  it("are taken in: a line without a number gets the next, so does a number's second line", () => {
    expect(texts(`${header}\n0: tea\nwalks the dog\n0: tea again\n`)).toEqual([
      "0: tea",
      "4: walks the dog",
      "5: 0: tea again",
    ]);
    expect(parseDocument(`${header}\nwalks the dog`).nextIndex).toBe(5);
  });

  it("may use a byte order mark, Windows line ends, blank lines, any order, no final line break, a new number", () => {
    expect(texts(`\ufeff${header}\r\n\r\n3: b\r\n0:a\r\n`)).toEqual(["0: a", "3: b"]);
    expect(texts(`${header}\n9: later`)).toEqual(["9: later"]);
    expect(parseDocument(`${header}\n9: later`).nextIndex).toBe(10);
  });

  it("cannot use up the numbers", () => {
    expect(texts(`${header}\n9007199254740991: huge\n`)).toEqual(["4: 9007199254740991: huge"]);
    const content = `${header}\n999999999: last\n1000000000: too far\nc\n`;
    expect(texts(content)).toEqual(["999999999: last", "1000000000: 1000000000: too far", "1000000001: c"]);
    expect(parseDocument(formatDocument(parseDocument(content)))).toEqual(parseDocument(content));
  });

  it("inside the comment of calls are kept as memories, and cannot push the numbers out of reach", () => {
    const content = `${header}\n<!-- keepsake-calls ${"a".repeat(22)}.s0\n1: coffee\nlikes milk -->\n`;
    expect(texts(content)).toEqual(["1: coffee", "4: likes milk"]);
    expect(() => texts("<!-- keepsake-memory v1 next=999999999999999 -->\nmine\n")).toThrow(/cannot be understood/);
    expect(texts(`${header}\n0: tea\r\n1: tea \u2028 time\n`)).toEqual(["0: tea", "1: tea time"]);
  });

  it("may wrap, change or damage the line of calls: it never becomes a memory", () => {
    const [one, two] = ["a".repeat(22), "b".repeat(22)];
    const wrapped = `${header}  \n0: tea\n<!-- keepsake-calls ${one}.s0\n  ${two}.r1 ??? ${one}.x9 -->\nwalks the dog\n`;
    expect(texts(wrapped)).toEqual(["0: tea", "4: walks the dog"]);
    expect(parseDocument(wrapped).calls).toEqual([
      { digest: one, outcome: "saved", index: 0 },
      { digest: two, outcome: "removed", index: 1 },
    ]);
  });
});

describe("what is no document", () => {
  it.each([
    "",
    "{}",
    '{"a":',
    "0: no header\n",
    `\n${header}\n`,
    "<!-- keepsake-memory v1 next=-1 -->\n",
    "<!-- keepsake-memory v1 next=99999999999999999 -->\n",
    "<!-- eve-memory-file-v1 lastAllocatedIndex=01 -->\n",
  ])("%j is refused", (content) => {
    expect(() => parseDocument(content)).toThrow(expect.objectContaining({ code: "corrupt_store" }));
  });

  it("of a newer version is refused as such", () => {
    expect(() => parseDocument("<!-- keepsake-memory v2 next=1 -->\n")).toThrow(
      expect.objectContaining({ code: "unsupported_version" }),
    );
  });
});

describe("a document of eve's", () => {
  it("is read, and written back as ours with its numbers", () => {
    const document = parseDocument("<!-- eve-memory-file-v1 lastAllocatedIndex=3 -->\n1: a\n3: c\n");
    expect(formatDocument(document)).toBe("<!-- keepsake-memory v1 next=4 -->\n1: a\n3: c\n");
    expect(parseDocument("<!-- eve-memory-file-v1 lastAllocatedIndex=-1 -->\n")).toEqual({
      entries: [],
      nextIndex: 0,
      calls: [],
    });
  });
});
