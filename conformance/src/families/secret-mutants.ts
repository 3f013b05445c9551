/** Providers that look for secrets in some places, or see too many. */
import { describeProvider, extendProvider, isUserMessage, type MemoryProvider, messageText } from "@keepsake/core";
import { inspect } from "@keepsake/core/secrets";
import type { Mutant } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import { type ReferenceOptions, referenceProvider } from "../reference/provider.ts";
import { lookingAt } from "../reference/standing-before.ts";

export const secretMutants: readonly Mutant[] = [
  {
    id: "secrets/unchecked",
    flaw: "Looks for no secrets.",
    kills: {
      "secrets/write-paths": "stored",
      "secrets/capture-keeps-rest": "stored",
      "secrets/no-off-switch": "unchecked",
      "secrets/in-words": "unchecked",
      "secrets/deep": "unchecked",
      "secrets/several": "unchecked",
      "secrets/in-pieces": "unchecked",
    },
    spares: ["secrets/harmless"],
    parts: () => ({ secretsIn: () => [] }),
  },
  {
    id: "secrets/tools-only",
    flaw: "Looks for secrets in what its tools save, and not in what it captures.",
    kills: { "secrets/write-paths": "stored", "secrets/capture-keeps-rest": "stored" },
    spares: ["secrets/harmless", "secrets/query"],
    provider: (provider, options) => {
      const { capture } = trusting(options);
      return extendProvider(provider, capture === undefined ? {} : { capture });
    },
  },
  {
    id: "secrets/imports-unchecked",
    flaw: "Looks for no secrets in what is imported.",
    kills: { "secrets/write-paths": "stored" },
    spares: ["secrets/capture-keeps-rest", "secrets/no-off-switch", "secrets/in-words"],
    provider: (provider, options) => {
      const { maintenance: unchecked } = describeProvider(trusting(options)) ?? {};
      return withMaintenance(provider, (checked) => ({ import: (unchecked ?? checked).import }));
    },
  },
  {
    id: "secrets/checks-after-sending",
    flaw: "Stores first, and removes what turns out to be a secret.",
    kills: { "secrets/write-paths": "sent" },
    spares: ["secrets/harmless"],
    parts: () => ({ secretsIn: () => [] }),
    store: (store) => ({
      ...store,
      put: async (scope, record, signal) => {
        const result = await store.put(scope, record, signal);
        if (inspect(record.text).length > 0) await store.remove(scope, record.id, signal);
        return result;
      },
    }),
  },
  {
    id: "secrets/knows-one-kind",
    flaw: "Knows the tokens of one service.",
    kills: { "secrets/write-paths": "stored" },
    spares: ["secrets/no-off-switch", "secrets/in-words", "secrets/capture-keeps-rest"],
    parts: () => ({ secretsIn: (text) => (/ghp_[A-Za-z0-9]{36}/.test(text) ? ["github-token"] : []) }),
  },
  {
    id: "secrets/refuses-imports",
    flaw: "Refuses every import, harmless or not.",
    kills: {
      "secrets/write-paths": "neighbour-lost",
      "secrets/deep": "neighbour-lost",
      "secrets/in-pieces": "neighbour-lost",
    },
    spares: ["secrets/capture-keeps-rest", "secrets/in-words"],
    provider: (provider) =>
      withMaintenance(provider, () => ({ import: async () => ({ imported: 0, duplicates: 0, refused: [] }) })),
  },
  {
    id: "secrets/drops-the-turn",
    flaw: "Captures nothing of a turn in which one message holds a secret.",
    kills: { "secrets/capture-keeps-rest": "rest-lost" },
    spares: ["secrets/write-paths", "secrets/harmless"],
    parts: ({ turnMessages, secretsIn }) => ({
      turnMessages: (messages, input) => {
        const said = turnMessages(messages, input);
        return said.some((message) => secretsIn(messageText(message)).length > 0) ? [] : said;
      },
    }),
  },
  {
    id: "secrets/sends-the-question",
    flaw: "Sends the question to its backend as it was asked.",
    kills: { "secrets/query": "sent" },
    spares: ["secrets/write-paths", "secrets/harmless"],
    provider: (provider, { store }) =>
      lookingAt(provider, ({ memory, turn, abortSignal, messages }) => {
        const asked = (turn?.input ?? []).filter(isUserMessage).map(messageText).join("\n");
        const isRecall = messages.at(-1)?.role !== "assistant";
        return isRecall ? store.pin(memory.scope.key, `question ${asked}`, [], abortSignal) : undefined;
      }),
  },
  {
    id: "secrets/does-not-ask",
    flaw: "Finds nothing for a question that holds a secret.",
    kills: { "secrets/query": "not-found" },
    spares: ["secrets/write-paths"],
    parts: ({ rank, redacted }) => ({
      redacted: (query) => (redacted(query) === query ? query : ""),
      rank: (records, query) => (query === "" ? [] : rank(records, query)),
    }),
  },
  {
    id: "secrets/obeys-comments",
    flaw: "Lets pass what a comment allows.",
    kills: { "secrets/no-off-switch": "stored" },
    spares: ["secrets/write-paths", "secrets/in-words", "secrets/harmless"],
    parts: ({ secretsIn }) => ({
      secretsIn: (text) =>
        /gitleaks:allow|secretlint-disable|nosec|allowlist secret/.test(text) ? [] : secretsIn(text),
    }),
  },
  {
    id: "secrets/examples-pass",
    flaw: "Lets pass what is called an example.",
    kills: { "secrets/no-off-switch": "stored" },
    spares: ["secrets/write-paths", "secrets/in-words"],
    parts: ({ secretsIn }) => ({ secretsIn: (text) => (/\bexample\b/i.test(text) ? [] : secretsIn(text)) }),
  },
  {
    id: "secrets/between-spaces",
    flaw: "Looks at words between spaces, from their first character to their last.",
    kills: { "secrets/in-words": "stored" },
    spares: ["secrets/harmless", "secrets/capture-keeps-rest"],
    parts: ({ secretsIn }) => ({
      secretsIn: (text) => text.split(/\s+/).flatMap((word) => (/^[\w-]+$/.test(word) ? secretsIn(word) : [])),
    }),
  },
  {
    id: "secrets/lower-case",
    flaw: "Looks at a copy in lower case, in which no key looks like one.",
    kills: { "secrets/write-paths": "stored" },
    spares: ["secrets/harmless"],
    parts: ({ secretsIn }) => ({ secretsIn: (text) => secretsIn(text.toLowerCase()) }),
  },
  {
    id: "secrets/long-words",
    flaw: "Takes every long run of letters and digits for a secret.",
    kills: { "secrets/harmless": "refused" },
    spares: ["secrets/no-off-switch", "secrets/in-words"],
    parts: ({ secretsIn }) => ({
      secretsIn: (text) => [...secretsIn(text), ...(/[\w-]{30,}/.test(text) ? ["entropy"] : [])],
    }),
  },
];

/** Belongs to the checks that write much in a row. */
export const prefilteredOnce: Mutant = {
  id: "secrets/prefilter-with-memory",
  flaw: "Looks closer only where a regular expression with the g flag finds a long word, from where it last found one.",
  kills: {
    "secrets/write-paths": "depends-on-earlier-calls",
    "secrets/no-off-switch": "depends-on-earlier-calls",
    "secrets/in-words": "depends-on-earlier-calls",
    "secrets/deep": "depends-on-earlier-calls",
    "secrets/several": "depends-on-earlier-calls",
  },
  spares: ["secrets/harmless"],
  parts: ({ secretsIn }) => {
    const longWord = /[\w/+-]{16,}/g;
    return { secretsIn: (text) => (longWord.test(text) ? secretsIn(text) : []) };
  },
};

/** The reference as it would be without looking for secrets. */
function trusting(options: ReferenceOptions): MemoryProvider {
  return referenceProvider(options, { ...correctParts, secretsIn: () => [] });
}
