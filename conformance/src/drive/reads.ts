/** Ways to ask what is remembered, as texts in lower case. */
import type { Bench } from "../bench.ts";
import type { AskOptions, Person } from "./person.ts";

export type Read = (person: Person, query: string, options?: AskOptions) => Promise<string>;

/** In a new session. */
export const byRecall: Read = async (person, query, options) =>
  (await person.again().recall(query, options)).text.toLowerCase();

export const bySearch: Read = async (person, query, options) =>
  (JSON.stringify(await person.again().search(query, options)) ?? "").toLowerCase();

/** Those that this provider has. */
export function readsOf({ facts }: Bench): Readonly<Record<string, Read>> {
  return { recall: byRecall, ...(facts.searchTool === undefined ? {} : { search: bySearch }) };
}
