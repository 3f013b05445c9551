/**
 * When what was written is recalled: in the very next turn, or, where that is declared, one turn later. Searching in the
 * background makes turns fast, and goes wrong where results meet another session, or failures nobody.
 */
import { extendProvider, type MemoryProvider } from "@keepsake/core";
import { faults, isEndless } from "../backend.ts";
import type { Bench } from "../bench.ts";
import { defineCheck } from "../check.ts";
import { defineFamily, type Family } from "../family.ts";
import { previousTurn } from "../reference/previous-turn.ts";
import { answering } from "../reference/standing-before.ts";

const current = defineCheck({
  id: "freshness/current",
  clause: "MEM-FRS-01",
  title: "The very next turn of a session recalls what was written a moment ago",
  needs: ["current"],
  reasons: {
    behind: "A later turn of a session is answered from an earlier search. Search anew, or declare previous-turn.",
  },
  async run(bench, fail) {
    const person = bench.someone(await bench.open());
    const [earlier, later] = [bench.canary(), bench.canary()];
    await person.write(earlier.text);
    await person.say(earlier.query);
    await person.write(later.text);
    const { text } = await person.recall(`${earlier.query} ${later.query}`);
    if (!text.includes(later.word)) fail("behind", "The turn after a write did not recall it.");
  },
});

const previous = defineCheck({
  id: "freshness/previous-turn",
  clause: "MEM-FRS-02",
  title: "One turn behind, every turn of a session is shown what the one before it asked",
  reasons: {
    later: "A turn is shown what was found before the turn that precedes it. Each turn starts a search of its own.",
  },
  async run(bench, fail) {
    onlyWhereBehind(bench);
    const person = bench.someone(await bench.open());
    const [earlier, later] = [bench.canary(), bench.canary()];
    await person.write(earlier.text);
    const asking = person.again();
    await asking.say(earlier.query);
    await person.write(later.text);
    const second = await asking.say(later.query);
    const third = await asking.recall(later.query);
    if (!second.text.includes(earlier.word) || !third.text.includes(later.word)) {
      fail("later", "A turn did not recall what the turn before it had asked.");
    }
  },
});

const pinned = defineCheck({
  id: "freshness/pinned",
  clause: "MEM-FRS-03",
  title: "One turn behind, a turn that is asked for once more recalls the same",
  reasons: { moved: "The repetition is taken for the next turn. Keep what an operationId was shown." },
  async run(bench, fail) {
    onlyWhereBehind(bench);
    const person = bench.someone(await bench.open());
    const [known, other] = [bench.canary(), bench.canary()];
    await person.write(known.text);
    const asking = person.again();
    await asking.recall(known.query);
    const second = asking.begin(known.query);
    await person.write(other.text);
    const once = await asking.recall(second);
    const again = [await asking.recall(second), await asking.recall(second)];
    if (!once.text.includes(known.word)) fail("moved", "The second turn did not recall what was asked.");
    if (again.some(({ text }) => text !== once.text)) {
      fail("moved", "The same operation recalled something else when it was asked again.");
    }
  },
});

const failure = defineCheck({
  id: "freshness/background-failure",
  clause: "MEM-FRS-04",
  title: "One turn behind, a search that failed in the background fails the next recall",
  needs: ["backend", "provider-time"],
  reasons: {
    swallowed: "A search that failed is shown as nothing remembered. Keep its error, and throw it at the next recall.",
    forgotten: "After one failed search nothing is recalled any more.",
  },
  async run(bench, fail) {
    onlyWhereBehind(bench);
    const { backend } = bench;
    const person = bench.someone(await bench.open());
    const memory = bench.canary();
    await person.write(memory.text);
    const fault = faults[backend.kind].find((each) => !isEndless(each));
    if (fault !== undefined) backend.inject(fault);
    const asking = person.again();
    const first = await bench.outcome(() => asking.recall(memory.query));
    await settled(bench);
    backend.heal();
    const second = await bench.outcome(() => asking.recall(memory.query));
    await settled(bench);
    if (first.state === "fulfilled" && second.state === "fulfilled") {
      fail("swallowed", "After a search that had failed, the next recall answered as if nothing were remembered.");
    }
    if (!(await asking.recall(memory.query)).text.includes(memory.word))
      fail("forgotten", "Nothing was recalled later.");
  },
});

const lateResult = defineCheck({
  id: "freshness/late-result",
  clause: "MEM-FRS-05",
  title: "One turn behind, what one session looked for is not shown in another",
  reasons: {
    "other-session": "Results are kept without the session that they were found for.",
    "other-scope": "Results are kept without the scope that they were found in: one person is shown another's memory.",
    forgotten: "Two sessions at a time keep each other from recalling.",
  },
  async run(bench, fail) {
    onlyWhereBehind(bench);
    const handle = await bench.open();
    const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
    const [tea, bees] = [bench.canary(), bench.canary()];
    await ann.write(tea.text);
    await ben.write(bees.text);
    const [annAsks, benAsks, annLater] = [ann.again(), ben.again(), ann.again()];
    await annAsks.recall(tea.query);
    const benFirst = await benAsks.recall(bees.query);
    const annElsewhere = await annLater.recall(bees.query);
    const [annNext, benNext] = [await annAsks.recall(tea.query), await benAsks.recall(bees.query)];
    if (`${benFirst.text}${benNext.text}`.includes(tea.word) || annNext.text.includes(bees.word)) {
      fail("other-scope", "One person was shown what had been found for another.");
    }
    if (annElsewhere.text.includes(tea.word)) fail("other-session", "A new session was shown an earlier one's result.");
    if (!annNext.text.includes(tea.word) || !benNext.text.includes(bees.word)) {
      fail("forgotten", "Of two sessions at a time, one was not shown what it had asked.");
    }
  },
});

export const freshness: Family = defineFamily({
  name: "freshness",
  clauses: [
    {
      id: "MEM-FRS-01",
      level: "MUST",
      profile: "base",
      sentence: "Unless it declares to be one turn behind, the turn after a write recalls what was written.",
      source: "P17",
    },
    {
      id: "MEM-FRS-02",
      level: "MUST",
      profile: "strict",
      sentence: "A provider that is one turn behind shows in each turn what the turn before it looked for.",
      source: "P17",
    },
    {
      id: "MEM-FRS-03",
      level: "MUST",
      profile: "strict",
      sentence:
        "What a provider that is one turn behind shows is bound to the operationId: asked again, it is the same.",
      source: "P17, P3",
    },
    {
      id: "MEM-FRS-04",
      level: "MUST",
      profile: "strict",
      sentence: "A recall throws when the search in the background that it would show has failed.",
      source: "P17, P4",
    },
    {
      id: "MEM-FRS-05",
      level: "MUST",
      profile: "strict",
      sentence: "What was looked for in one session, or in one scope, is dropped and not shown in another.",
      source: "P17, P1",
    },
  ],
  checks: [current, previous, pinned, failure, lateResult],
  mutants: [
    {
      id: "freshness/splits-operation-ids",
      flaw: "Takes the first parts of an operationId for its turn, which are its session where the session's id has colons.",
      kills: { "freshness/current": "behind" },
      spares: ["isolation/matrix", "replay/quiet"],
      provider: (provider) => {
        const answers = new Map<string, ReturnType<MemoryProvider["recall"]["turn.started"]>>();
        return extendProvider(provider, {
          recall: {
            ...provider.recall,
            "turn.started": (context) => {
              const turn = [context.memory.scope.key, ...context.operationId.split(":").slice(0, 4)].join(":");
              const answer = answers.get(turn) ?? provider.recall["turn.started"](context);
              answers.set(turn, answer);
              return answer;
            },
          },
        });
      },
    },
    {
      id: "freshness/says-current",
      flaw: "Is one turn behind, and declares to be current.",
      kills: { "remembering/first": "forgotten" },
      spares: [],
      provider: (provider, options) =>
        extendProvider(previousTurn(provider, options), { declaration: { capabilities: { freshness: "current" } } }),
    },
    {
      id: "freshness/prefetches",
      flaw: "Searches at once in a session's first turn, and in the background in all others, and declares to be current.",
      kills: { "freshness/current": "behind" },
      spares: ["shape/keys", "hosting/conversation"],
      provider: (provider) => {
        const found = new Map<string, unknown>();
        return answering(provider, (result, { session }) => {
          const before = found.get(session.id);
          found.set(session.id, result);
          return before ?? result;
        });
      },
    },
    {
      id: "freshness/searches-once",
      flaw: "Searches in the background of a session's first turn only.",
      kills: { "freshness/previous-turn": "later" },
      spares: ["freshness/pinned", "freshness/late-result"],
      provider: (provider, options) => {
        const found = new Map<string, unknown>();
        const searching = answering(provider, (result, { session }) => {
          found.set(session.id, found.get(session.id) ?? result);
          return found.get(session.id);
        });
        return previousTurn(searching, options);
      },
    },
    {
      id: "freshness/unpinned",
      flaw: "Takes a repeated operation for the next turn.",
      kills: { "freshness/pinned": "moved" },
      spares: ["freshness/previous-turn", "freshness/late-result"],
      provider: (provider, options) => previousTurn(provider, { ...options, pinned: false }),
    },
    {
      id: "freshness/swallows-failure",
      flaw: "Shows nothing where its search in the background failed.",
      kills: { "freshness/background-failure": "swallowed" },
      spares: ["freshness/previous-turn", "freshness/pinned"],
      provider: (provider, options) => previousTurn(provider, { ...options, onFailure: () => null }),
    },
    {
      id: "freshness/gives-up",
      flaw: "After a search in the background that failed, never searches again.",
      kills: { "freshness/background-failure": "forgotten" },
      spares: ["freshness/previous-turn", "freshness/pinned"],
      provider: (provider, options) => {
        let isBroken = false;
        const searching = answering(provider, (result) => (isBroken ? null : result));
        const onFailure = (error: unknown): never => {
          isBroken = true;
          throw error;
        };
        return previousTurn(searching, { ...options, onFailure });
      },
    },
    {
      id: "freshness/one-session",
      flaw: "Keeps the search of one session at a time.",
      kills: { "freshness/late-result": "forgotten" },
      spares: ["freshness/previous-turn", "freshness/pinned"],
      provider: (provider, options) => previousTurn(provider, { ...options, maxSessions: 1 }),
    },
    {
      id: "freshness/any-session",
      flaw: "Keeps what it found by the scope, whichever session asked.",
      kills: { "freshness/late-result": "other-session" },
      spares: ["freshness/previous-turn", "freshness/pinned"],
      provider: (provider, options) =>
        previousTurn(provider, { ...options, belongsTo: ({ memory }) => [memory.scope.key] }),
    },
    {
      id: "freshness/any-scope",
      flaw: "Keeps what it found by the slot, whoever asked.",
      kills: { "freshness/late-result": "other-scope" },
      spares: ["shape/keys"],
      provider: (provider, options) => previousTurn(provider, { ...options, belongsTo: ({ memory }) => [memory.slot] }),
    },
  ],
});

function onlyWhereBehind(bench: Bench): void {
  if (bench.facts.capabilities.freshness !== "previous-turn")
    bench.notApplicable("It is not declared to be one turn behind.");
}

/** Lets everything in the background end, deadlines included. */
async function settled({ time, busy }: Bench): Promise<void> {
  await time.drive(new Promise<never>(() => {}), { limitMs: 60_000, busy });
}
