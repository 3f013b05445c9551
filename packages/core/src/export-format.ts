/**
 * One format for memory that travels: JSON Lines, a header and then one record a line. `design/export-format.md` is its
 * reference; fields are only ever added. Text goes in and out byte for byte.
 */
import { MemoryError } from "./errors.ts";

export interface ExportHeader {
  readonly type: "header";
  readonly format: "keepsake-export";
  readonly version: 1;
}

export interface ExportRecord {
  readonly type: "memory";
  /** Unique within the export. A target keeps it where it can. */
  readonly id: string;
  readonly text: string;
  readonly kind?: string;
  readonly tags?: readonly string[];
  /** Milliseconds since the epoch, here and below. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
  readonly expiresAt?: number;
  /** Present and `false` on what is superseded or expired and kept as evidence. */
  readonly active?: boolean;
}

export type ExportLine = ExportHeader | ExportRecord;

export const exportHeader: ExportHeader = Object.freeze({ type: "header", format: "keepsake-export", version: 1 });

/** One line of an export, without its line break. */
export function formatExportLine(line: ExportLine): string {
  return JSON.stringify(line);
}

/**
 * Reads one line. Fields that this version does not know are kept.
 * @throws MemoryError `invalid_export` for what is not a line of this format, `unsupported_version` for a newer one.
 */
export function parseExportLine(text: string): ExportLine {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    throw new MemoryError("invalid_export", "A line of the export is not JSON.");
  }
  return checkExportLine(line);
}

/** The same check for a line that is already parsed. */
export function checkExportLine(line: unknown): ExportLine {
  if (typeof line !== "object" || line === null) throw new MemoryError("invalid_export", "A line is not an object.");
  const field = (name: string): unknown => Reflect.get(line, name);
  if (field("type") === "header") {
    if (field("format") !== "keepsake-export") throw new MemoryError("invalid_export", "This is not a memory export.");
    if (field("version") !== 1) throw new MemoryError("unsupported_version", "The export is of a newer version.");
    return line as ExportHeader;
  }
  const wellFormed =
    field("type") === "memory" &&
    isText(field("id")) &&
    isText(field("text")) &&
    isOptional(field("kind"), isText) &&
    isOptional(field("tags"), (tags) => Array.isArray(tags) && tags.every(isText)) &&
    isOptional(field("active"), (active) => typeof active === "boolean") &&
    ["createdAt", "updatedAt", "expiresAt"].every((name) => isOptional(field(name), Number.isSafeInteger));
  if (!wellFormed) throw new MemoryError("invalid_export", "A line is neither a header nor a well-formed record.");
  return line as ExportRecord;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isOptional(value: unknown, check: (value: unknown) => boolean): boolean {
  return value === undefined || check(value);
}
