/**
 * Secrets in questions that find nothing. Somebody wants to know what memory could not answer, and keeps such questions: the
 * one way to read that writes, and nobody takes it for a way to write.
 */
import { isUserMessage, MemoryError, type MemoryToolContext, messageText } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { type GivenSecret, leftovers } from "../drive/secret-leftovers.ts";
import { type SecretSample, secretSamples, someSecret } from "../drive/secret-samples.ts";
import { defineFamily, type Family, type Mutant } from "../family.ts";
import { withMaintenance, withRecall, withTool } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import type { ReferenceOptions } from "../reference/provider.ts";
import type { Outcome } from "../time/kit-clock.ts";

const unanswered = defineCheck({
  id: "secrets/unanswered",
  clause: "MEM-SEC-15",
  title: "Questions with a secret are asked where nothing is known, and where nothing matches",
  reasons: {
    held: "Questions that found nothing are kept as they were asked: clear them of secrets first, or keep a number.",
    sent: "Questions that found nothing go to the backend as they were asked.",
    shown: "Questions that found nothing are kept as they were asked, and shown later.",
    "in-event": "An event tells a question that found nothing.",
    "in-error": "A question that finds nothing is an error, which quotes it.",
    "not-found": "After questions with a secret, what is known is not recalled.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [nobody, ann, memory] = [bench.someone(handle), bench.someone(handle), bench.canary()];
    await ann.write(memory.text);
    const asked = [
      ...questions(bench, [someSecret(130), someSecret(131), secretSamples[1]]).map((each) => ({
        ...each,
        person: nobody,
        where: "where nothing was known",
      })),
      ...questions(bench, [someSecret(140), someSecret(141), secretSamples[4]]).map((each) => ({
        ...each,
        person: ann,
        where: "where nothing matched",
      })),
    ].map((each): Asked => ({ ...each, what: `${each.kind} was part of a question ${each.where}` }));
    const outcomes: Outcome<unknown>[] = [];
    for (const { person, text } of asked) {
      outcomes.push(await bench.outcome(() => person.recalled(text)));
      if (bench.facts.searchTool !== undefined) outcomes.push(await bench.outcome(() => person.search(text)));
    }
    const readers = [nobody, ann].map((person) => ({ person, query: memory.query }));
    const [found] = await leftovers(bench, { handle, given: asked, outcomes, readers });
    if (found !== undefined) fail(found.left, `When ${found.given.what}, ${found.where}.`);
    if (!(await ann.knows(memory))) fail("not-found", "Afterwards what a harmless question asks for was not recalled.");
  },
});

export const secretsInQuestions: Family = defineFamily({
  name: "secrets in questions",
  clauses: [
    {
      id: "MEM-SEC-15",
      level: "MUST",
      profile: "strict",
      sentence:
        "No secret in a question that finds nothing is sent, kept, shown later, or told in an event or an error.",
      source: "C10, C7, C8",
    },
  ],
  checks: [unanswered],
  mutants: [
    {
      id: "secrets/keeps-first-questions",
      flaw: "Keeps what its search tool is asked where nothing is known yet.",
      kills: { "secrets/unanswered": "held" },
      spares: ["secrets/query", "secrets/write-paths", "secrets/forget-argument"],
      provider: searching(async ({ query, texts, scope, signal, options: { store } }) => {
        if (texts.length === 0) await store.pin(scope, `unanswered ${query}`, [query], signal);
      }),
    },
    {
      id: "secrets/keeps-unmatched-questions",
      flaw: "Keeps what its search tool is asked where something is known, and nothing of it matches.",
      kills: { "secrets/unanswered": "held" },
      spares: ["secrets/query", "secrets/write-paths", "secrets/forget-argument"],
      backend: "directory",
      provider: searching(async ({ query, texts, scope, signal, options: { store } }) => {
        if (texts.length > 0 && !matches(texts, query)) await store.pin(scope, `unanswered ${query}`, [query], signal);
      }),
    },
    {
      id: "secrets/keeps-empty-recalls",
      flaw: "Keeps what was said in turns for which nothing was recalled.",
      kills: { "secrets/unanswered": "held" },
      spares: ["secrets/query", "secrets/write-paths", "secrets/forget-argument"],
      provider: (provider, { store }) =>
        withRecall(provider, async (own, context) => {
          const result = await own(context);
          const said = (context.turn?.input ?? []).filter(isUserMessage).map(messageText).join("\n");
          if (result === null) await store.pin(context.memory.scope.key, `unanswered ${said}`, [], context.abortSignal);
          return result;
        }),
    },
    {
      id: "secrets/asks-elsewhere",
      flaw: "Asks once more, as it was asked, for what its search tool did not find.",
      kills: { "secrets/unanswered": "sent" },
      spares: ["secrets/query", "secrets/write-paths", "secrets/forget-argument"],
      provider: searching(async ({ query, texts, scope, signal, options: { store } }) => {
        if (!matches(texts, query)) await store.remove(scope, query, signal); // which keeps nothing of what is not there
      }),
    },
    {
      id: "secrets/shows-unanswered",
      flaw: "Keeps in the process what its search tool did not find, and lists it.",
      kills: { "secrets/unanswered": "shown" },
      spares: ["secrets/write-paths"],
      backend: "none",
      provider: (provider, options) => {
        const gaps: string[] = [];
        const listing = withMaintenance(provider, (maintenance) => ({
          list: async (input) => Object.assign({ ...(await maintenance.list(input)) }, { gaps: [...gaps] }),
        }));
        return searching(({ query, texts }) => {
          if (!matches(texts, query)) gaps.push(query);
        })(listing, options);
      },
    },
    {
      id: "secrets/tells-of-unanswered",
      flaw: "Reports an event for each question that finds nothing, with the question.",
      kills: { "secrets/unanswered": "in-event" },
      spares: ["secrets/query", "secrets/write-paths"],
      provider: searching(({ query, texts, options: { onEvent } }) => {
        if (!matches(texts, query)) onEvent?.({ code: "nothing_found", slot: "memory", query } as never);
      }),
    },
    {
      id: "secrets/quotes-unanswered",
      flaw: "Fails a search that finds nothing, and quotes the question.",
      kills: { "secrets/unanswered": "in-error" },
      spares: ["secrets/query", "secrets/write-paths"],
      provider: searching(({ query, texts }) => {
        if (!matches(texts, query)) throw new MemoryError("invalid_input", `Nothing is known about ${query}`);
      }),
    },
    {
      id: "secrets/stops-recalling",
      flaw: "Recalls nothing any more after a question that was nothing but a secret.",
      kills: { "secrets/unanswered": "not-found" },
      spares: ["secrets/query", "secrets/write-paths"],
      provider: (provider) => {
        let isStopped = false;
        return withRecall(provider, (own, { turn, ...context }) => {
          const said = (turn?.input ?? []).map(messageText).join("\n");
          isStopped ||=
            correctParts
              .redacted(said)
              .replace(/\[.*?\]/g, "")
              .trim() === "" && said !== "";
          return isStopped ? null : own({ turn, ...context });
        });
      },
    },
  ],
});

interface Asked extends GivenSecret {
  readonly person: Person;
  readonly text: string;
}

/** The first secret alone, and the others among words that nobody has told. */
function questions(
  bench: Bench,
  secrets: readonly (SecretSample | undefined)[],
): readonly { readonly kind: string; readonly core: string; readonly text: string }[] {
  return secrets.flatMap((secret, index) => {
    if (secret === undefined) return [];
    const { kind, core, text } = secret;
    return [{ kind, core, text: index === 0 ? text : `${bench.canary().topic} ${text} ${bench.canary().topic}` }];
  });
}

interface Search {
  readonly query: string;
  /** All that the scope knows. */
  readonly texts: readonly string[];
  readonly scope: string;
  readonly signal: AbortSignal;
  readonly options: ReferenceOptions;
}

/** With a search tool that does this after its own work. */
function searching(use: (search: Search) => unknown): NonNullable<Mutant["provider"]> {
  return (provider, options) =>
    withTool(provider, "search_memories", (tool, { memory }) => ({
      execute: (async ({ query }: { readonly query: string }, context: MemoryToolContext) => {
        const answer: unknown = await tool.execute({ query } as never, context);
        const [scope, signal] = [memory.scope.key, context.abortSignal];
        const texts = (await options.store.list(scope, signal)).map(({ text }) => text);
        await use({ query, texts, scope, signal, options });
        return answer;
      }) as never, // the schema of the tool says what its input is
    }));
}

function matches(texts: readonly string[], query: string): boolean {
  const words = query.toLowerCase().match(/[a-z]{4,}/g) ?? [];
  return texts.some((text) =>
    words.some((word) =>
      text
        .toLowerCase()
        .split(/[^a-z]+/)
        .includes(word),
    ),
  );
}
