/** What is written between two recalls of one operation, and whether they came to the same. */
import type { Canary } from "./canary.ts";
import type { Recalled } from "./person.ts";

/** What has the topic of one memory and the word of another, and is found by asking about either. */
export function alsoAbout({ topic }: Canary, later: Canary): string {
  return `About ${topic} and ${later.topic}: ${later.word} was chosen.`;
}

export function isSame(one: Recalled, other: Recalled): boolean {
  const messagesOf = ({ messages }: Recalled): string =>
    JSON.stringify((messages ?? []).map(({ id, content }) => [id ?? null, content]));
  return messagesOf(one) === messagesOf(other);
}
