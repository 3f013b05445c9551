/** Results in words, for whoever has to mend something. */
import type { Certificate, CheckResult } from "./result.ts";

/** A result that did not pass: the rule, what was seen, why that may be, and how to try it alone. */
export function explain(result: CheckResult): string {
  const {
    check,
    clause,
    level,
    sentence,
    state,
    reason,
    saw,
    likelyCause,
    blockedBy,
    exchange = [],
    deviation,
  } = result;
  return [
    `${check}: ${state}${reason === undefined ? "" : ` (${reason})`}`,
    `  ${clause} ${level}: ${sentence}`,
    ...(blockedBy === undefined ? [] : [`  Waits for ${blockedBy}.`]),
    ...(saw === undefined ? [] : [`  Seen: ${saw}`]),
    ...(likelyCause === undefined ? [] : [`  Likely cause: ${likelyCause}`]),
    ...(exchange.length === 0 ? [] : [`  Last at the backend: ${exchange.join(", ")}`]),
    ...(deviation === undefined ? [] : [`  Known: ${deviation.reason} (${deviation.link})`]),
    `  Alone: only: ["${check}"]`,
  ].join("\n");
}

/** The whole run in a few lines: how the provider was understood, what did not pass, what it amounts to. */
export function summarize(certificate: Certificate): string {
  const { results, because, surprises } = certificate;
  const notable = results
    .filter(({ state }) => !["pass", "not-applicable", "blocked"].includes(state))
    .sort((a, b) => (a.clause < b.clause ? -1 : 1)); // whatever the order in which they were tried
  const isNews = (line: string): boolean =>
    !notable.some(
      ({ check, state }) => state !== "pass" && [`${check}:`, `${check} (`].some((start) => line.startsWith(start)),
    );
  return [
    headline(certificate),
    ...notable.map(explain),
    ...because.filter(isNews).map((each) => `Not certified: ${each}`),
    ...surprises.filter(isNews).map((each) => `Not as declared: ${each}`),
  ].join("\n");
}

/** What it amounts to, and what was guessed. */
export function headline({ understanding, results, certified, seed }: Certificate): string {
  const { name, profile, guesses } = understanding;
  const count = (state: CheckResult["state"]): number => results.filter((result) => result.state === state).length;
  const states = ["pass", "fail", "advisory", "not-applicable", "untestable", "blocked", "harness-error"] as const;
  const counts = states.filter((state) => count(state) > 0).map((state) => `${count(state)} ${state}`);
  return [
    `${name}, profile ${profile}: ${certified ? "certified" : "not certified"} (${counts.join(", ")}; seed ${seed})`,
    ...guesses.map((guess) => `Guessed: ${guess}`),
  ].join("\n");
}
