/** A record that is moved keeps its time. An import that leaves it out turns what was to be gone soon into what stays. */
import type { ExportLine, ExportRecord, MemoryMaintenance } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { collect } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withMaintenance } from "../reference/changed.ts";

const hourMs = 3_600_000;

const importedTime = defineCheck({
  id: "expiry/imported",
  clause: "MEM-TTL-09",
  title: "A record that is imported with its time, and exported and imported again, is gone when that is over",
  needs: ["maintenance", "provider-time"],
  reasons: {
    kept: "The time of an imported record is left out: refuse records whose time cannot be kept.",
    "left-out": "An export does not tell when a record expires, so that a copy of it never does.",
    early: "A record expires before its time, such as by the provider's own time to live.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, ben, memory] = [bench.someone(handle), bench.someone(handle), bench.canary()];
    const expiresAt = bench.time.now() + hourMs;
    const line = { type: "memory" as const, id: "for an hour", text: memory.text, expiresAt };
    const { refused } = await ann.maintain("import", (maintenance, key) => maintenance.import({ key, lines: [line] }));
    if (refused.length > 0) return;
    const exported = await ann.maintain("export", (maintenance, key) => collect(maintenance.export({ key })));
    await ben.maintain("import", (maintenance, key) => maintenance.import({ key, lines: exported }));
    if (pathShowing(await ann.readings(memory.query), memory.word) === undefined)
      bench.untestable("What was imported with a time was shown by nothing.");
    await bench.time.advance(hourMs - 1_000);
    const before = await ann.readings(memory.query);
    if (pathShowing(before, memory.word) === undefined) fail("early", "An imported record was gone before its time.");
    await bench.time.advance(1_000);
    const path = pathShowing(await ann.readings(memory.query), memory.word);
    if (path !== undefined) fail("kept", `Its ${path} showed an imported record after its time.`);
    const copied = pathShowing(await ben.readings(memory.query), memory.word);
    if (copied !== undefined) fail("left-out", `Its ${copied} showed a copy of a record after its time.`);
  },
});

export const importedExpiry: Family = defineFamily({
  name: "imported expiry",
  clauses: [
    {
      id: "MEM-TTL-09",
      level: "MUST",
      profile: "base",
      sentence: "A record that is imported keeps the time at which it expires, or is refused.",
      source: "P11, C9",
    },
  ],
  checks: [importedTime],
  mutants: [
    {
      id: "expiry/imports-without-time",
      flaw: "Imports the text of a record, and not its time.",
      kills: { "expiry/imported": "kept" },
      spares: ["maintenance/round-trip", "expiry/boundary"],
      provider: (provider) =>
        withMaintenance(provider, (maintenance) => ({
          import: ({ lines, ...input }) =>
            maintenance.import({
              ...input,
              lines: changed(lines, timeless),
            }),
        })),
    },
    {
      id: "expiry/exports-without-time",
      flaw: "Exports the text of a record, and not its time.",
      kills: { "expiry/imported": "left-out" },
      spares: ["maintenance/round-trip", "expiry/boundary"],
      provider: (provider) =>
        withMaintenance(provider, (maintenance) => ({
          export: (input) => changed(maintenance.export(input), timeless),
        })),
    },
    {
      id: "expiry/imports-for-a-minute",
      flaw: "Gives every imported record a minute, whatever its time.",
      kills: { "expiry/imported": "early" },
      spares: ["maintenance/round-trip", "expiry/boundary"],
      provider: (provider, { clock }) =>
        withMaintenance(provider, (maintenance) => ({
          import: ({ lines, ...input }) =>
            maintenance.import({
              ...input,
              lines: changed(lines, (line) => ({ ...line, expiresAt: clock.now() + 60_000 })),
            }),
        })),
    },
  ],
});

type Lines = Parameters<MemoryMaintenance["import"]>[0]["lines"];

/** Records made into others; the header stays. */
async function* changed(lines: Lines, change: (record: ExportRecord) => ExportRecord): AsyncGenerator<ExportLine> {
  for await (const line of lines) yield line.type === "header" ? line : change(line);
}

function timeless({ expiresAt: _, ...record }: ExportRecord): ExportRecord {
  return record;
}
