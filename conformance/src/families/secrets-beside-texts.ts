/**
 * Secrets beside the texts of memories. An import brings ids, kinds and tags as well, which nobody takes for what somebody
 * wrote: they are kept as they came, and shown with the memory wherever that is shown.
 */
import type { ExportLine, ExportRecord, ImportInput, ImportResult } from "@keepsake/core";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { type Canary, holds } from "../drive/canary.ts";
import { collect, type Person } from "../drive/person.ts";
import { type SecretSample, secretSamples, someSecret } from "../drive/secret-samples.ts";
import { pathShowing } from "../drive/shown.ts";
import { spelledOut } from "../drive/spelled-out.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import type { ReferenceOptions } from "../reference/provider.ts";

const imports = defineCheck({
  id: "secrets/import-fields",
  clause: "MEM-SEC-11",
  title: "Records are imported whose id, kind or tag is a secret, beside harmless ones",
  needs: ["maintenance"],
  reasons: {
    id: "The id of an imported record is kept as it came, and nobody looks at it: refuse the record, or give it an id of your own.",
    field: "Only the text of an imported record is looked at, and what stands beside it is kept as it came.",
    "in-error": "The import fails with what it was given in its error.",
    "in-event": "An event names a record by its id, secret and all.",
    "neighbour-lost": "For one record with a secret beside its text the others of an import are lost.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const person = bench.someone(handle);
    const [first, last] = [bench.canary(), bench.canary()];
    const [documented, unknown] = [documentedFields.map(withText(bench)), unknownFields.map(withText(bench))];
    const harmless = [first, last].map(
      ({ text }, index): ExportLine => ({ type: "memory", id: `plain-${index}`, text }),
    );
    const outcomes = [
      await imported(bench, person, [...harmless.slice(0, 1), ...documented.map(lineOf), ...harmless.slice(1)]),
      await imported(bench, person, unknown.map(lineOf)), // which may be refused as a whole
    ];

    const all = [...documented, ...unknown];
    const query = [first, last, ...all.map(({ memory }) => memory)].map((memory) => memory.query).join(" ");
    const readings = await person.readings(query);
    const contents = bench.facts.backend === "none" ? [] : await bench.backend.contents();
    for (const { what, reason, secret } of all) {
      const path = readings.find(({ text }) => holds([text], secret.core))?.path;
      const isSent = bench.facts.backend !== "none" && bench.wasSent(secret.core);
      const isKept = holds(contents, secret.core);
      if (path === undefined && !isSent && !isKept) continue;
      const where = isKept ? "the backend held it" : isSent ? "the backend was sent it" : `its ${path} showed it`;
      fail(reason, `A record was imported ${what(secret)}, and ${where}.`);
    }
    const isIn = (value: unknown): boolean => all.some(({ secret }) => holds(spelledOut(value), secret.core));
    for (const outcome of outcomes) {
      if (outcome.state === "rejected" && isIn(outcome.error)) fail("in-error", "An import failed, and told a secret.");
    }
    if (isIn(handle.events)) fail("in-event", "What it told of an import held a secret.");
    if ([first, last].some(({ word }) => pathShowing(readings, word) === undefined))
      fail("neighbour-lost", "A harmless record of the same import was not shown by anything.");
  },
});

export const secretsBesideTexts: Family = defineFamily({
  name: "secrets beside texts",
  clauses: [
    {
      id: "MEM-SEC-11",
      level: "MUST",
      profile: "strict",
      sentence:
        "No secret that stands beside the text of an imported record, as its id or in another field, is stored, sent, shown or reported.",
      source: "C10, C7",
    },
  ],
  checks: [imports],
  mutants: [
    {
      id: "secrets/keeps-imported-ids",
      flaw: "Keeps the ids of imported records.",
      kills: { "secrets/import-fields": "id" },
      spares: ["secrets/write-paths", "maintenance/round-trip", "maintenance/import-twice"],
      provider: (provider, options) =>
        withMaintenance(provider, () => ({ import: (input) => keeping(input, options, ({ id }) => ({ id })) })),
    },
    {
      id: "secrets/keeps-imported-tags",
      flaw: "Keeps what stands beside the text of an imported record, but for its id.",
      kills: { "secrets/import-fields": "field" },
      spares: ["secrets/write-paths", "maintenance/round-trip", "maintenance/import-twice"],
      provider: (provider, options) =>
        withMaintenance(provider, () => ({
          import: (input) => keeping(input, options, (record) => ({ ...record, id: ownId(input, record) })),
        })),
    },
    {
      id: "secrets/fails-with-the-line",
      flaw: "Fails an import in which an id holds a secret, and quotes the id.",
      kills: { "secrets/import-fields": "in-error" },
      spares: ["secrets/write-paths", "maintenance/round-trip"],
      provider: (provider) => refusingIds(provider, ({ id }) => new Error(`The id ${id} holds a secret.`)),
    },
    {
      id: "secrets/fails-the-import",
      flaw: "Fails an import in which an id holds a secret.",
      kills: { "secrets/import-fields": "neighbour-lost" },
      spares: ["secrets/write-paths", "maintenance/round-trip"],
      provider: (provider) => refusingIds(provider, () => new Error("An id holds a secret.")),
    },
    {
      id: "secrets/tells-of-imports",
      flaw: "Reports an event for each record that it imports, with its id.",
      kills: { "secrets/import-fields": "in-event" },
      spares: ["secrets/write-paths", "maintenance/round-trip"],
      provider: (provider, { onEvent }) =>
        withMaintenance(provider, (maintenance) => ({
          import: async ({ lines, ...input }) => {
            const all = await collect(lines);
            for (const line of all) onEvent?.({ code: "memory_imported", slot: "memory", ...line } as never);
            return maintenance.import({ ...input, lines: all });
          },
        })),
    },
  ],
});

type Reason = "id" | "field";

/** A way to put a secret beside a text. */
interface Place {
  readonly what: (secret: SecretSample) => string;
  readonly reason: Reason;
  readonly secret: SecretSample;
  readonly fields: (secret: string) => Partial<ExportRecord>;
}

const documentedFields: readonly Place[] = [
  // An id with line breaks may be refused for those.
  ...secretSamples
    .filter(({ text }) => !text.includes("\n"))
    .map((secret) => ({
      what: ({ kind }: SecretSample) => `whose id was ${kind}`,
      reason: "id" as const,
      secret,
      fields: (text: string) => ({ id: text }),
    })),
  {
    what: ({ kind }) => `whose id held ${kind}`,
    reason: "id",
    secret: someSecret(80),
    fields: (text) => ({ id: `notes/${text}/7` }),
  },
  {
    what: ({ kind }) => `whose kind was ${kind}`,
    reason: "field",
    secret: someSecret(81),
    fields: (text) => ({ kind: text }),
  },
  {
    what: ({ kind }) => `of whose tags one was ${kind}`,
    reason: "field",
    secret: someSecret(82),
    fields: (text) => ({ tags: ["drinks", text] }),
  },
];

/** Of a version that is to come. */
const unknownFields: readonly Place[] = [
  {
    what: ({ kind }) => `with ${kind} in a field that this version does not know`,
    reason: "field",
    secret: someSecret(83),
    fields: (text) => ({ origin: { note: `The key is ${text}` } }) as Partial<ExportRecord>,
  },
];

interface Placed extends Place {
  readonly memory: Canary;
  readonly number: number;
}

function withText(bench: Bench): (place: Place, number: number) => Placed {
  return (place, number) => ({ ...place, memory: bench.canary(), number });
}

function lineOf({ memory, number, secret, fields }: Placed): ExportRecord {
  return { type: "memory", id: `record-${number}`, text: memory.text, ...fields(secret.text) };
}

function imported(bench: Bench, person: Person, lines: readonly ExportLine[]) {
  return bench.outcome(() => person.maintain("import", (maintenance, key) => maintenance.import({ key, lines })));
}

/** Of mutants: an import that looks for secrets in texts, and stores with them what `beside` makes of a record. */
async function keeping(
  { key, lines, signal = new AbortController().signal }: ImportInput,
  { store, clock }: ReferenceOptions,
  beside: (record: ExportRecord) => { readonly id: string },
): Promise<ImportResult> {
  const refused: ImportResult["refused"][number][] = [];
  const outcomes = { stored: 0, known: 0, gone: 0 };
  for (const line of await collect(lines)) {
    if (line.type === "header") continue;
    const ruleIds = correctParts.secretsIn(line.text);
    if (ruleIds.length > 0) refused.push({ id: line.id, reason: "secret", ruleIds });
    else {
      const { text, createdAt = clock.now() } = line;
      outcomes[await store.put(key, { ...beside(line), text, createdAt }, signal)] += 1;
    }
  }
  return { imported: outcomes.stored, duplicates: outcomes.known, refused };
}

function ownId({ key }: ImportInput, { text }: ExportRecord): string {
  return correctParts.recordId(key, ["import", text]);
}

function refusingIds(
  provider: Parameters<typeof withMaintenance>[0],
  errorFor: (record: ExportRecord) => Error,
): ReturnType<typeof withMaintenance> {
  return withMaintenance(provider, (maintenance) => ({
    import: async ({ lines, ...input }) => {
      const all = await collect(lines);
      for (const line of all) if (line.type === "memory" && hasSecretId(line)) throw errorFor(line);
      return maintenance.import({ ...input, lines: all });
    },
  }));
}

function hasSecretId(line: ExportLine): boolean {
  return line.type === "memory" && correctParts.secretsIn(line.id).length > 0;
}
