/** What is left of secrets after calls that had no business to keep them: in the backend, in what is shown, in what is told. */
import type { Bench } from "../bench.ts";
import type { Outcome } from "../time/kit-clock.ts";
import { holds } from "./canary.ts";
import type { Handle } from "./handle.ts";
import type { Person } from "./person.ts";
import { spelledOut } from "./spelled-out.ts";

export interface GivenSecret {
  /** Where it stood, to be told. */
  readonly what: string;
  readonly core: string;
}

export type Leftover = "held" | "sent" | "shown" | "in-event" | "in-error";

export interface Found<G extends GivenSecret = GivenSecret> {
  readonly given: G;
  readonly left: Leftover;
  /** Half a sentence on where it was found. */
  readonly where: string;
}

export interface Aftermath<G extends GivenSecret> {
  readonly handle: Handle;
  readonly given: readonly G[];
  readonly outcomes: readonly Outcome<unknown>[];
  /** Who may be shown something of it, and asking for what. */
  readonly readers: readonly { readonly person: Person; readonly query: string }[];
}

/** All that was found, what is kept before what is sent, and that before what is shown and told. */
export async function leftovers<G extends GivenSecret>(
  bench: Bench,
  { handle, given, outcomes, readers }: Aftermath<G>,
): Promise<readonly Found<G>[]> {
  const hasBackend = bench.facts.backend !== "none";
  // Sent is what the calls sent: a reading after them may ask for what they kept.
  const sent = hasBackend ? bench.backend.observed().map((exchange) => exchange.sent) : [];
  const events = spelledOut(handle.events);
  const errors = outcomes.flatMap((outcome) => (outcome.state === "rejected" ? spelledOut(outcome.error) : []));
  const isQuoted = given.some(({ core }) => holds(errors, core));
  const readings: string[] = [];
  // What fails for one question and quotes it fails for the next one too, and has been found out by then.
  for (const { person, query } of isQuoted ? [] : readers)
    readings.push(...(await person.readings(query)).map(({ text }) => text));
  const places: readonly [left: Leftover, where: string, texts: readonly string[]][] = [
    ["held", "the backend held it", hasBackend ? await bench.backend.contents() : []],
    ["sent", "the backend was sent it", sent],
    ["shown", "it was shown later", readings],
    ["in-event", "an event told it", events],
    ["in-error", "an error told it", errors],
  ];
  return places.flatMap(([left, where, texts]) =>
    given.filter(({ core }) => holds(texts, core)).map((each) => ({ given: each, left, where })),
  );
}
