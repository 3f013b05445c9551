/**
 * Recalled text that changes although nothing that is remembered did: ages in words, ranking by the wall clock or by how
 * often something was recalled, an order that a map happened to have. Each change costs a prompt cache, and a host that
 * repeats the operation takes the difference for a fault.
 */
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { Person } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { correctParts } from "../reference/parts.ts";
import { referenceProvider } from "../reference/provider.ts";
import type { StoredRecord } from "../reference/record-store.ts";
import { eachMessage } from "../reference/standing-before.ts";

const sameBytes = defineCheck({
  id: "steady-recall/same-bytes",
  clause: "MEM-STD-01",
  title: "The same question about the same memories is answered with the same bytes, today and the day after tomorrow",
  needs: ["current"],
  reasons: {
    "changes-by-itself":
      "The order is that of a map or of chance, or something new (an id, a count) is put in each time.",
    "changes-by-instance": "The text depends on what this instance has seen, instead of on what is stored.",
    "changes-with-time":
      "The text holds a time or an age, or ranking counts from now: recency is to be relative to the newest record.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const asked = bench.canary();
    const { time, capabilities } = bench.facts;
    const write = async (text: string): Promise<void> => {
      await ann.write(text);
      if (time !== "real") await bench.time.advance(7 * hourMs);
    };
    await write(asked.text);
    for (let count = 0; count < 5; count += 1) await write(bench.canary().text);
    const first = await ann.recalls(asked.query);
    if (!first.includes(asked.word)) fail("changes-by-itself", "What was written was not recalled.");
    if ((await ann.recalls(asked.query)) !== first)
      fail("changes-by-itself", "Asked twice in a row, it recalled two different texts.");
    if (capabilities.durable === true && (await ann.again(await bench.open()).recalls(asked.query)) !== first)
      fail("changes-by-instance", "A second instance recalled another text.");
    if (time === "real") return;
    for (const [name, ms] of Object.entries({ "an hour": hourMs, "two days": 48 * hourMs })) {
      await bench.time.advance(ms);
      const later = await ann.recalls(asked.query);
      const mayExpire = capabilities.ttl !== undefined && capabilities.ttl !== "none";
      if (mayExpire && !later.includes(asked.word)) return; // it has a time to live of its own
      if (later !== first) fail("changes-with-time", `After ${name} it recalled another text.`);
    }
  },
});

const readOnlyRecall = defineCheck({
  id: "steady-recall/read-only-recall",
  clause: "MEM-STD-02",
  title: "Recalling other things leaves the first answer as it was",
  needs: ["current"],
  reasons: {
    "counts-recalls": "Recall writes something that ranking reads, such as how often or when a memory was used.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const ann = bench.someone(handle);
    const memories = Array.from({ length: 6 }, () => bench.canary());
    for (const { text } of memories) await ann.write(text);
    const [asked, ...others] = memories;
    const query = asked?.query ?? "";
    const before = await ann.recalls(query);
    for (const other of [...others, ...others.slice(1, 3), ...others.slice(1, 3)]) {
      const recalled = await ann.recalls(other.query);
      if (!recalled.includes(other.word)) fail("counts-recalls", "A memory was not recalled when it was asked for.");
    }
    if ((await ann.recalls(query)) !== before)
      fail("counts-recalls", "The same question got another answer after others.");
  },
});

const later = defineCheck({
  id: "steady-recall/later",
  clause: "MEM-STD-03",
  title: "Old memories and new ones, more and less to the point, are recalled as the same bytes years later",
  needs: ["current", "provider-time"],
  reasons: {
    "not-recalled": "What was written is not found, or is gone although it was not to expire.",
    "fades-with-time":
      "Relevance is weighed against an age that counts from now, or is shown beside one: count from the newest record.",
  },
  async run(bench, fail) {
    const ann = bench.someone(await bench.open());
    const [one, two, three, other] = [bench.canary(), bench.canary(), bench.canary(), bench.canary()];
    // Nothing but what sets them apart: words that all share would make all of them a little to the point.
    const queries = [`${one.topic} ${two.topic} ${three.topic}`, one.topic];
    // The older, the more to the point, by large steps and small ones.
    const texts = [
      `${one.text} It belongs to ${two.topic} and ${three.topic}.`,
      `${two.text} It belongs to ${three.topic}, and was talked about for a while in the garden.`,
      `${three.text} It was talked about for a while, in the garden and on the way home.`,
      other.text,
    ];
    const agesMs = [0, dayMs, 14 * dayMs, 400 * dayMs];
    const beganMs = bench.time.now();
    for (const [index, text] of texts.entries()) {
      await bench.time.advance(Math.max(0, beganMs + (agesMs[index] ?? 0) - bench.time.now()));
      await ann.write(text);
    }
    const recalls = async (): Promise<string> => {
      const recalled: string[] = [];
      for (const query of queries) recalled.push(await ann.recalls(query));
      return recalled.join("\n");
    };
    const first = await recalls();
    const shown = [one, two, three, other].filter(({ word }) => first.toLowerCase().includes(word));
    const mayExpire = (bench.facts.capabilities.ttl ?? "none") !== "none";
    if (mayExpire && !shown.includes(one) && (await isNowhere(ann, one)))
      bench.notApplicable("Its memories expire within a year or so, by a time of their own.");
    if (shown.length === 0) fail("not-recalled", "It recalled none of four memories when asked about three of them.");
    for (const [name, ms] of Object.entries(leaps)) {
      await bench.time.advance(ms);
      const again = await recalls();
      if (again === first) continue;
      const gone = shown.filter(({ word }) => !again.toLowerCase().includes(word));
      if (mayExpire) for (const memory of gone) if (await isNowhere(ann, memory)) return; // it had a time of its own
      fail("fades-with-time", `${name} later it recalled another text.`);
    }
  },
});

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Each after the one before. */
const leaps = {
  "An hour": hourMs,
  "A week": 7 * dayMs,
  "A month": 30 * dayMs,
  "A year": 365 * dayMs,
  "Ten years": 3_650 * dayMs,
};

export const steadyRecall: Family = defineFamily({
  name: "steady-recall",
  clauses: [
    {
      id: "MEM-STD-01",
      level: "MUST",
      profile: "base",
      sentence:
        "The same live memories, query and slot are recalled as the same bytes, whenever and by which instance.",
      source: "P7",
    },
    {
      id: "MEM-STD-02",
      level: "MUST",
      profile: "base",
      sentence: "Recall changes nothing that a later recall depends on.",
      source: "P7",
    },
    {
      id: "MEM-STD-03",
      level: "MUST",
      profile: "base",
      sentence: "How recent a memory is counts from the newest one, and not from now: no age changes what is recalled.",
      source: "P7",
    },
  ],
  checks: [sameBytes, readOnlyRecall, later],
  mutants: [
    {
      id: "steady-recall/says-when",
      flaw: "Puts the current time into the frame.",
      kills: { "steady-recall/same-bytes": "changes-with-time" },
      spares: ["steady-recall/read-only-recall", "framing/line-breaks"],
      provider: (provider, { clock }) =>
        eachMessage(provider, ({ id, content }) => ({
          id,
          content: `${content}\nAs of ${new Date(clock.now()).toISOString()}.`,
        })),
    },
    {
      id: "steady-recall/ranks-by-wall-clock",
      flaw: "Ranks by words in common and by an age that counts from now.",
      kills: { "steady-recall/same-bytes": "changes-with-time" },
      spares: ["steady-recall/read-only-recall"],
      provider: (_, options) =>
        referenceProvider(options, {
          ...correctParts,
          rank: (records, query) => {
            const common = (text: string): number => query.split(/\W+/).filter((word) => text.includes(word)).length;
            const freshness = (at: number): number => 4 * 2 ** ((at - options.clock.now()) / dayMs);
            const scored = records.map((record) => ({
              record,
              score: common(record.text) + freshness(record.createdAt),
            }));
            return scored.sort((a, b) => b.score - a.score).map(({ record }) => record);
          },
        }),
    },
    {
      id: "steady-recall/fades-by-the-week",
      flaw: "Ranks by a little relevance and by how recent a memory is, which halves with each week until now.",
      kills: { "steady-recall/later": "fades-with-time" },
      spares: ["steady-recall/same-bytes", "steady-recall/read-only-recall"],
      provider: (_, options) =>
        referenceProvider(options, {
          ...correctParts,
          rank: (records, query) => {
            const asked = query.toLowerCase().split(/\W+/).filter(Boolean);
            const relevance = (text: string): number =>
              asked.filter((word) => text.toLowerCase().includes(word)).length / asked.length;
            const score = ({ text, createdAt }: StoredRecord): number =>
              0.3 * relevance(text) + 0.5 ** ((options.clock.now() - createdAt) / (7 * dayMs));
            return records.toSorted((a, b) => score(b) - score(a));
          },
        }),
    },
    {
      id: "steady-recall/says-how-old",
      flaw: "Says beside each memory how many days ago it was written.",
      kills: { "steady-recall/same-bytes": "changes-with-time", "steady-recall/later": "fades-with-time" },
      spares: ["steady-recall/read-only-recall", "framing/line-breaks"],
      provider: (_, options) =>
        referenceProvider(options, {
          ...correctParts,
          line: (record) => {
            const days = Math.floor((options.clock.now() - record.createdAt) / dayMs);
            return `${correctParts.line(record)} (${days} days ago)`;
          },
        }),
    },
    {
      id: "steady-recall/any-order",
      flaw: "Recalls in another order each time.",
      kills: { "steady-recall/same-bytes": "changes-by-itself", "steady-recall/read-only-recall": "counts-recalls" },
      spares: ["recalled-text/well-formed"],
      parts: ({ rank }) => {
        let turns = 0;
        return {
          rank: (records, query) => {
            const ranked = rank(records, query);
            turns += 1;
            return [...ranked.slice(turns % 4), ...ranked.slice(0, turns % 4)];
          },
        };
      },
    },
    {
      id: "steady-recall/own-writes-first",
      flaw: "Recalls first what this instance wrote.",
      kills: { "steady-recall/same-bytes": "changes-by-instance" },
      spares: ["steady-recall/read-only-recall"],
      parts: ({ rank, recordId }) => {
        const own: string[] = [];
        return {
          recordId: (key, operation) => own[own.push(recordId(key, operation)) - 1] ?? "",
          rank: (records, query) =>
            rank(records, query).toSorted((a, b) => own.lastIndexOf(b.id) - own.lastIndexOf(a.id)),
        };
      },
    },
    {
      id: "steady-recall/counts-recalls",
      flaw: "Counts how often each memory was the best answer, and ranks by it.",
      kills: { "steady-recall/read-only-recall": "counts-recalls" },
      spares: ["recalled-text/well-formed"],
      parts: ({ rank }) => {
        const counts = new Map<string, number>();
        return {
          rank: (records, query) => {
            const ranked = rank(records, query);
            const best = ranked[0]?.id ?? "";
            counts.set(best, (counts.get(best) ?? 0) + 1);
            return ranked.toSorted((a, b) => (counts.get(b.id) ?? 0) - (counts.get(a.id) ?? 0));
          },
        };
      },
    },
  ],
});

async function isNowhere(person: Person, { query, word }: Canary): Promise<boolean> {
  return pathShowing(await person.readings(query), word) === undefined;
}
