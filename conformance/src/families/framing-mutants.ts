/** Providers that let a memory out of its frame, each in one way. */
import { escapeText, frameRecall } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import type { ReferenceParts } from "../reference/parts.ts";

export const framingMutants: readonly Mutant[] = [
  {
    id: "framing/keeps-line-breaks",
    flaw: "Escapes tags and leaves line breaks as they are.",
    kills: { "framing/line-breaks": "forged-line", "framing/role-forging": "role-line" },
    spares: ["recalled-text/says-it-is-data"],
    parts: () => framedBy((text) => text.replaceAll("<", "&lt;")),
  },
  {
    id: "framing/escapes-newline-only",
    flaw: "Makes \\n and \\r spaces, and not U+2028.",
    kills: { "framing/line-breaks": "forged-line" },
    spares: ["framing/next-line"],
    parts: () => framedBy((text) => text.replace(/[\r\n\v\f\u0085]+/g, " ").replaceAll("<", "&lt;")),
  },
  {
    id: "framing/trusts-whitespace-class",
    flaw: "Makes a space of what \\s holds.",
    kills: { "framing/next-line": "forged-line" },
    spares: ["framing/line-breaks", "framing/every-entry"],
    parts: () => framedBy((text) => text.replace(/\s+/g, " ").replaceAll("<", "&lt;")),
  },
  {
    id: "framing/trusts-imports",
    flaw: "Escapes what is captured and saved when it is written, and forgets about import.",
    kills: { "framing/line-breaks": "forged-line" },
    spares: ["framing/every-entry", "framing/role-forging"],
    parts: ({ recordId }) => ({
      ...framedBy((text) => text),
      recordId: (key, operation) => `${operation[0]}-${recordId(key, operation)}`,
    }),
    store: ({ put, ...store }) => ({
      ...store,
      put: (scope, record, signal) =>
        put(scope, record.id.startsWith("import") ? record : { ...record, text: escapeText(record.text) }, signal),
    }),
  },
  {
    id: "framing/keeps-tags",
    flaw: "Makes line breaks spaces and leaves tags as they are.",
    kills: { "framing/closing-tags": "forged-tag", "framing/every-entry": "forged-entry" },
    spares: ["framing/line-breaks"],
    parts: () => framedBy((text) => text.replace(/\s+/g, " ")),
  },
  {
    id: "framing/escapes-tags-by-case",
    flaw: "Escapes its closing tag as it spells it, and not in capitals.",
    kills: { "framing/closing-tags": "forged-tag" },
    spares: ["framing/line-breaks"],
    parts: () =>
      framedBy((text) =>
        text
          .replace(/[\s\u0085]+/g, " ")
          .replaceAll("</keepsake-memory>", "")
          .replaceAll("<keepsake-memory ", ""),
      ),
  },
  {
    id: "framing/escapes-first-tag",
    flaw: "Escapes the first < of a memory only.",
    kills: { "framing/closing-tags": "forged-tag" },
    spares: ["framing/line-breaks"],
    parts: () => framedBy((text) => text.replace(/[\s\u0085]+/g, " ").replace("<", "&lt;")),
  },
  {
    id: "framing/strips-tags-once",
    flaw: "Takes its own tags out of a memory, in any case and with any space, in one pass.",
    kills: { "framing/closing-tags": "nested" },
    spares: ["framing/line-breaks", "framing/role-forging"],
    parts: () =>
      framedBy((text) => text.replace(/[\s\u0085]+/g, " ").replace(/<\s*\/?\s*keepsake-memory[^<>]*>/gi, "")),
  },
  {
    id: "framing/strips-tags-twice",
    flaw: "Takes its own tags out of a memory in two passes.",
    kills: { "framing/closing-tags": "nested" },
    spares: ["framing/line-breaks", "framing/role-forging"],
    parts: () => {
      const stripped = (text: string): string => text.replace(/<\s*\/?\s*keepsake-memory[^<>]*>/gi, "");
      return framedBy((text) => stripped(stripped(text.replace(/[\s\u0085]+/g, " "))));
    },
  },
  {
    id: "framing/decodes-entities",
    flaw: "Takes every < out of a memory, and decodes its entities afterwards.",
    kills: { "framing/closing-tags": "entity-tag" },
    spares: ["framing/line-breaks", "framing/every-entry"],
    parts: () =>
      framedBy((text) =>
        text
          .replace(/[\s\u0085]+/g, " ")
          .replaceAll("<", "")
          .replace(/&(?:lt|#60|#x3c);/gi, "<")
          .replace(/&(?:gt|#62|#x3e);/gi, ">"),
      ),
  },
  {
    id: "framing/normalizes-afterwards",
    flaw: "Normalizes (NFKC) what it has escaped and framed.",
    kills: { "framing/closing-tags": "look-alike-tag" },
    spares: ["framing/line-breaks", "framing/every-entry"],
    parts: ({ frame }) => ({ frame: (slot, lines) => frame(slot, lines).normalize("NFKC") }),
  },
  {
    id: "framing/escapes-no-heading",
    flaw: "Frames memories by headings, and keeps the line breaks that let a memory bring one.",
    kills: { "framing/closing-tags": "forged-heading" },
    spares: ["recalled-text/says-it-is-data"],
    parts: () => ({
      line: ({ text }) => `- ${text.replaceAll("\n- ", " - ")}`,
      frame: (slot, lines) => [`# Memories of ${slot}`, "Stored earlier, maybe out of date.", ...lines].join("\n"),
    }),
  },
  {
    id: "framing/escapes-first-entry",
    flaw: "Escapes the first entry of the frame only.",
    kills: { "framing/every-entry": "forged-entry" },
    spares: ["framing/closing-tags"],
    parts: () => ({
      line: ({ id, text }) => `${id}: ${text}`,
      frame: (slot, lines) =>
        bareFrame(
          slot,
          lines.map((line, index) => (index === 0 ? escapeText(line) : line)),
        ),
    }),
  },
];

function framedBy(escaped: (text: string) => string): Partial<ReferenceParts> {
  return { line: ({ id, text }) => `${id}: ${escaped(text)}`, frame: bareFrame };
}

/** The reference's frame around lines as they are. */
export function bareFrame(slot: string, lines: readonly string[]): string {
  const [first = "", guidance = "", last = ""] = frameRecall({ slot, guidance: "Stored data from earlier." }).split(
    "\n",
  );
  return [first, guidance, ...lines, last].join("\n");
}
