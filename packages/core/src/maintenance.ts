/** What an operator can do with one scope's memory, whatever the provider: look, take out, bring in, delete. */
import type { ExportLine, ExportRecord } from "./export-format.ts";

export interface MaintenanceInput {
  /** The scope key. It partitions here as everywhere. */
  readonly key: string;
  readonly signal?: AbortSignal;
}

export interface ListInput extends MaintenanceInput {
  /** From the previous page. */
  readonly cursor?: string;
  /** Records in a page, at most. Default 100. */
  readonly limit?: number;
  /** Also what is superseded or expired and kept as evidence. */
  readonly includeInactive?: boolean;
}

export interface ListPage {
  readonly records: readonly ExportRecord[];
  /** Present while there is more. */
  readonly cursor?: string;
}

export interface ImportInput extends MaintenanceInput {
  readonly lines: Iterable<ExportLine> | AsyncIterable<ExportLine>;
}

export interface ImportResult {
  readonly imported: number;
  /** Already there, word for word. */
  readonly duplicates: number;
  readonly refused: readonly ImportRefusal[];
}

export interface ImportRefusal {
  readonly id: string;
  readonly reason: "secret" | "too_long" | "full" | "not_representable";
  readonly ruleIds?: readonly string[];
}

export interface EraseResult {
  /** Records removed, as far as the store can count them. */
  readonly erased: number;
  /** `requested` where a service finishes the work later. */
  readonly status: "done" | "requested";
}

export interface MemoryMaintenance {
  list(input: ListInput): Promise<ListPage>;
  /** Streams the scope in the export format, header first. */
  export(input: MaintenanceInput): AsyncIterable<ExportLine>;
  /** Brings in records within the store's limits and lists the rest with reasons. Doing it twice changes nothing. */
  import(input: ImportInput): Promise<ImportResult>;
  /** Leaves nothing of the scope but what keeps a late retry from bringing it back. */
  erase(input: MaintenanceInput): Promise<EraseResult>;
  /** Keys of the scopes held, where the store can tell. */
  scopes?(input: { readonly signal?: AbortSignal }): AsyncIterable<string>;
}
