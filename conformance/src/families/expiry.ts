/**
 * Expiry: what a memory's time to live means. Providers expire one read path and forget another, compare times as text,
 * start a timer that overflows after 24 days, give one time to a whole scope, or bring back by a replay what was gone.
 */
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import type { WritePath } from "../drive/facts.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { expiryMutants } from "./expiry-mutants.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

const boundary = defineCheck({
  id: "expiry/boundary",
  clause: "MEM-TTL-01",
  title: "A memory is there until its time is over, and from that millisecond on no read path shows it",
  needs: ["ttl", "provider-time"],
  reasons: {
    early: "Times are compared as text, in other units, or by a timer that overflows after 24 days.",
    late: "This read path does not ask about the time, or asks `now > expiresAt` where it means `now >= expiresAt`.",
  },
  async run(bench, fail) {
    for (const ttlMs of [dayMs, 30 * dayMs]) {
      const handle = await bench.open({ ttlMs });
      for (const path of livingPaths(bench)) {
        const [person, memory] = [bench.someone(handle), bench.canary()];
        const beganMs = bench.time.now();
        await person.write(memory.text, { path });
        const endedMs = bench.time.now();
        const working = await pathsShowing(person, memory);
        for (const ageMs of [2.5 * hourMs, ttlMs - 1]) {
          await moveTo(bench, beganMs + ageMs);
          const shown = await pathsShowing(person, memory);
          const missing = [...working].find((each) => !shown.has(each));
          if (missing !== undefined)
            fail(
              "early",
              `What ${path} wrote was gone from ${missing} ${ttlMs - ageMs} ms before its ${ttlMs} ms were over.`,
            );
        }
        for (const lateMs of [0, 1]) {
          await moveTo(bench, endedMs + ttlMs + lateMs);
          const [left] = await pathsShowing(person, memory);
          if (left !== undefined)
            fail("late", `What ${path} wrote was still in ${left} ${lateMs} ms after its ${ttlMs} ms were over.`);
        }
      }
    }
  },
});

const otherMemory = defineCheck({
  id: "expiry/other-memory",
  clause: "MEM-TTL-02",
  title: "Each memory has its own time: a later one outlives an earlier one, and does not keep it alive",
  needs: ["ttl", "provider-time"],
  reasons: {
    swept: "One expiry removes the whole scope: the time belongs to the document or the key, not to the memory.",
    outlived: "Each write renews the time of the whole document or key, so that old memories never go.",
  },
  async run(bench, fail) {
    const handle = await bench.open({ ttlMs: dayMs });
    const person = bench.someone(handle);
    const [first, second] = [bench.canary(), bench.canary()];
    await person.write(first.text, living(bench));
    const firstMs = bench.time.now();
    await bench.time.advance(dayMs / 2);
    await person.write(second.text, living(bench));
    const secondMs = bench.time.now();
    await moveTo(bench, firstMs + dayMs);
    if (!(await person.knows(second))) fail("swept", "A memory was gone when one twelve hours older expired.");
    if (await person.knows(first)) fail("outlived", "A memory was still there at its time, kept by a younger one.");
    await moveTo(bench, secondMs + dayMs);
    if (await person.knows(second)) fail("outlived", "The younger memory was still there at its own time.");
  },
});

const native = defineCheck({
  id: "expiry/native",
  clause: "MEM-TTL-03",
  title: "Where expiry is declared native, the backend holds nothing of it afterwards, although nobody read",
  needs: ["ttl", "backend", "provider-time"],
  reasons: { held: "The backend was not told when the memory expires; only the provider knows." },
  async run(bench, fail) {
    if (bench.facts.capabilities.ttl !== "native")
      bench.notApplicable("It declares to check on read, not to expire natively.");
    const handle = await bench.open({ ttlMs: dayMs });
    for (const path of livingPaths(bench)) {
      const memory = bench.canary();
      await bench.someone(handle).write(memory.text, { path });
      if (!(await bench.holds(memory.word)))
        bench.advise("Not decided: the backend does not show what it holds as text.");
      await bench.time.advance(dayMs);
      if (await bench.holds(memory.word))
        fail("held", `The backend still held what ${path} wrote when its time was over.`);
    }
  },
});

const notReplayed = defineCheck({
  id: "expiry/not-replayed",
  clause: "MEM-TTL-04",
  title: "A recall that is repeated after the expiry does not bring the memory back",
  needs: ["ttl", "provider-time"],
  reasons: {
    replayed: "What an operation recalled is kept as text, and given again without asking what is still there.",
  },
  async run(bench, fail) {
    const person = bench.someone(await bench.open({ ttlMs: dayMs }));
    const [memory, later] = [bench.canary(), bench.canary()];
    await person.write(memory.text, living(bench));
    const asking = person.again();
    const turn = asking.begin(`${memory.query} ${later.query}`);
    await asking.recall(turn);
    await bench.time.advance(dayMs);
    const { text } = await asking.recall(turn);
    if (text.toLowerCase().includes(memory.word)) fail("replayed", "The same operation recalled it after its time.");
    await person.write(later.text, living(bench));
    if (!(await person.knows(later))) fail("replayed", "What was written afterwards was not recalled.");
  },
});

const notRevived = defineCheck({
  id: "expiry/not-revived",
  clause: "MEM-TTL-05",
  title: "A write that is repeated after the expiry does not bring the memory back; a new one does",
  needs: ["ttl", "provider-time"],
  reasons: {
    revived: "The ledger of operations goes together with the memory, so that a late repeat is taken for a new write.",
    "never-again": "What expired is known by its text and refused for good.",
  },
  async run(bench, fail) {
    const handle = await bench.open({ ttlMs: hourMs });
    for (const path of livingPaths(bench)) {
      const [person, memory] = [bench.someone(handle), bench.canary()];
      const written = await person.write(memory.text, { path });
      await bench.time.advance(hourMs);
      if (await person.knows(memory)) bench.notApplicable("It was not gone: see expiry/boundary.");
      await person.repeat(written);
      if (await person.knows(memory)) fail("revived", `The same operation of ${path} stored it again, an hour later.`);
      await person.again().write(memory.text, { path });
      if (!(await person.knows(memory))) fail("never-again", `A new write by ${path} of the same text stored nothing.`);
    }
  },
});

const undeclared = defineCheck({
  id: "expiry/undeclared",
  clause: "MEM-TTL-06",
  title: "Where it declares that nothing expires, nothing does",
  needs: ["provider-time"],
  reasons: { expires: "It takes a time to live and goes by it, and declares ttl: none." },
  async run(bench, fail) {
    if (bench.facts.declared.ttl !== "none") bench.notApplicable("It does not declare that nothing expires.");
    const person = bench.someone(await bench.open({ ttlMs: dayMs }));
    const memory = bench.canary();
    await person.write(memory.text, living(bench));
    await bench.time.advance(400 * dayMs);
    if (!(await person.knows(memory))) fail("expires", "A memory was gone after 400 days.");
  },
});

const retracts = defineCheck({
  id: "expiry/retracts",
  clause: "MEM-TTL-07",
  title: "A session that was shown a memory is not left with it after its time",
  needs: ["ttl", "current", "provider-time"],
  reasons: {
    nothing: "With nothing left to say it answers null or no message, which leaves what it said before standing.",
    "not-keyed": "What it recalls has no id, or another one each time, so that nothing can take its place.",
    left: "The same session is shown the memory again after its time.",
  },
  async run(bench, fail) {
    const person = bench.someone(await bench.open({ ttlMs: dayMs }));
    const memory = bench.canary();
    await person.write(memory.text, living(bench));
    const session = person.again();
    const shown = await session.say(memory.query);
    const spoken = (shown.messages ?? []).filter(({ content }) => content.toLowerCase().includes(memory.word));
    if (spoken.length === 0) bench.notApplicable("It had not shown the memory in the first place.");
    await bench.time.advance(dayMs);
    const { messages, text } = await session.recall(memory.query);
    if (text.toLowerCase().includes(memory.word)) fail("left", "The session was shown the memory after its time.");
    if (messages === null || messages.length === 0)
      return fail("nothing", "It recalled nothing at all, which takes nothing back.");
    const ids = new Set(messages.map(({ id }) => id));
    if (spoken.some(({ id }) => id === undefined || !ids.has(id)))
      fail("not-keyed", "What it recalled does not replace what the session was shown.");
  },
});

export const expiry: Family = defineFamily({
  name: "expiry",
  clauses: [
    {
      id: "MEM-TTL-01",
      level: "MUST",
      profile: "base",
      sentence:
        "A memory with a time to live is on every read path until `now >= expiresAt`, and on none from then on.",
      source: "P11, C9",
    },
    {
      id: "MEM-TTL-02",
      level: "MUST",
      profile: "base",
      sentence: "Each memory expires at its own time, and takes no other with it.",
      source: "P11",
    },
    {
      id: "MEM-TTL-03",
      level: "MUST",
      profile: "strict",
      sentence: "Where expiry is declared native, the backend removes what has expired although nobody reads it.",
      source: "P11, K4",
    },
    {
      id: "MEM-TTL-04",
      level: "MUST",
      profile: "base",
      sentence: "Expiry wins over replay: a repeated recall does not show what has expired.",
      source: "P3, P11",
    },
    {
      id: "MEM-TTL-05",
      level: "MUST",
      profile: "strict",
      sentence: "A repeated write does not bring back what has expired; a new write stores it again.",
      source: "P2, P3, P11",
    },
    {
      id: "MEM-TTL-06",
      level: "MUST",
      profile: "base",
      sentence: "Where a provider declares `ttl: none`, a memory does not expire.",
      source: "K4",
    },
    {
      id: "MEM-TTL-07",
      level: "MUST",
      profile: "strict",
      sentence: "After expiry a session that was shown the memory is recalled its keyed empty form, not nothing.",
      source: "P8, P11, E6.6",
    },
    {
      id: "MEM-TTL-08",
      level: "MUST",
      profile: "strict",
      sentence: "Where expiry keeps evidence, only `list({ includeInactive: true })` shows it.",
      source: "P11",
      excluded: "MEM-TTL-01 looks at every other read path; whether evidence is kept is the provider's choice.",
    },
  ],
  checks: [boundary, otherMemory, native, notReplayed, notRevived, undeclared, retracts],
  mutants: expiryMutants,
});

/** Ways to write that give a memory its time. What is imported brings its own, or has none. */
function livingPaths(bench: Bench): readonly WritePath[] {
  const paths = bench.writePaths.filter((path) => path !== "import");
  return paths.length > 0 ? paths : bench.notApplicable("It is only written by import, which brings times of its own.");
}

function living(bench: Bench): { readonly path: WritePath } {
  return { path: livingPaths(bench)[0] ?? "capture" };
}

async function pathsShowing(person: Person, { query, word }: Canary): Promise<ReadonlySet<string>> {
  const readings = await person.readings(query);
  return new Set(readings.filter(({ text }) => text.toLowerCase().includes(word)).map(({ path }) => path));
}

async function moveTo(bench: Bench, atMs: number): Promise<void> {
  await bench.time.advance(Math.max(0, atMs - bench.time.now()));
}
