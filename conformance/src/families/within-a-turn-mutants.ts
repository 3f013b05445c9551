/** Providers that are wrong about what happened between a turn's start and a compaction. */
import type { MemoryProvider, MemoryRecallResult } from "@keepsake/core";
import type { Mutant } from "../family.ts";
import { withTools } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import { answering } from "../reference/standing-before.ts";

export const withinATurnMutants: readonly Mutant[] = [
  {
    id: "within-a-turn/says-it-again",
    flaw: "Keeps what a turn was told, and answers it again after a compaction.",
    kills: {
      "within-a-turn/forgotten": "still-recalled",
      "within-a-turn/removed-elsewhere": "still-recalled",
      "within-a-turn/saved": "stale",
    },
    spares: ["keyed/compaction", "retracting/after-forget", "retracting/after-erase"],
    provider: (provider) => afterCompaction(provider, ({ told }) => told),
  },
  {
    id: "within-a-turn/told-by-its-own-tools",
    flaw: "Keeps what a turn was told until one of this instance's tools is made.",
    kills: { "within-a-turn/removed-elsewhere": "still-recalled" },
    spares: ["within-a-turn/forgotten", "within-a-turn/saved", "forgetting/other-handle"],
    provider: (provider) => {
      let used = 0;
      const usedWhenTold = new Map<string, number>();
      const counting = withTools(provider, (tools) => {
        used += 1;
        return tools;
      });
      return afterCompaction(counting, ({ told, now, turn }) => (usedWhenTold.get(turn) === used ? told : now), {
        telling: (turn) => usedWhenTold.set(turn, used),
      });
    },
  },
  {
    id: "within-a-turn/between-turns",
    flaw: "Has no question between turns, and answers a compaction there with what it recalled last.",
    kills: { "within-a-turn/forgotten": "still-recalled", "within-a-turn/removed-elsewhere": "still-recalled" },
    spares: ["within-a-turn/saved", "keyed/compaction", "retracting/after-forget"],
    provider: (provider) => afterCompaction(provider, ({ told, now, isBetweenTurns }) => (isBetweenTurns ? told : now)),
  },
  {
    id: "within-a-turn/silent-when-emptied",
    flaw: "Answers nothing to a compaction once nothing is left.",
    kills: { "within-a-turn/forgotten": "left-standing", "within-a-turn/removed-elsewhere": "left-standing" },
    spares: ["within-a-turn/saved", "keyed/compaction", "retracting/after-forget"],
    provider: (provider) =>
      afterCompaction(provider, ({ now, slot }) => (contentOf(now) === correctParts.emptyFrame(slot) ? null : now)),
  },
  {
    id: "within-a-turn/empties-what-changed",
    flaw: "Answers its empty form to a compaction where the memories are not those that the turn began with.",
    kills: {
      "within-a-turn/forgotten": "loses-others",
      "within-a-turn/removed-elsewhere": "loses-others",
      "within-a-turn/saved": "stale",
    },
    spares: ["keyed/compaction", "retracting/after-forget"],
    provider: (provider) =>
      afterCompaction(provider, ({ told, now, slot }) =>
        contentOf(told) === contentOf(now)
          ? now
          : { messages: [{ id: "reference-memory", content: correctParts.emptyFrame(slot) }] },
      ),
  },
  {
    id: "within-a-turn/nothing-new",
    flaw: "Leaves out of a compaction's answer what is newer than the turn.",
    kills: { "within-a-turn/saved": "stale" },
    spares: ["within-a-turn/forgotten", "within-a-turn/removed-elsewhere", "keyed/compaction"],
    provider: (provider) =>
      afterCompaction(provider, ({ told, now }) => {
        const known = new Set(contentOf(told).split("\n"));
        const only = (content: string): string =>
          content
            .split("\n")
            .filter((line) => known.has(line))
            .join("\n");
        return contentOf(now).length <= contentOf(told).length
          ? now
          : now && { messages: now.messages.map((message) => ({ ...message, content: only(message.content) })) };
      }),
  },
];

interface Compacted {
  /** What the turn began with. */
  readonly told: MemoryRecallResult;
  /** What would be right. */
  readonly now: MemoryRecallResult;
  readonly turn: string;
  readonly isBetweenTurns: boolean;
  readonly slot: string;
}

/** Answers a compaction from what was recalled at the start of its turn. */
function afterCompaction(
  provider: MemoryProvider,
  answer: (compacted: Compacted) => MemoryRecallResult,
  { telling }: { readonly telling?: (turn: string) => unknown } = {},
): MemoryProvider {
  const tolds = new Map<string, MemoryRecallResult>();
  return answering(provider, (now, { memory: { slot, scope }, session, turn: current, ...context }) => {
    const turn = JSON.stringify([slot, scope.key, session.id, session.turn.id]);
    if ("compaction" in context) {
      return answer({ told: tolds.get(turn), now, turn, isBetweenTurns: current === null, slot });
    }
    tolds.set(turn, now);
    telling?.(turn);
    return now;
  });
}

function contentOf(result: MemoryRecallResult): string {
  return (result?.messages ?? []).map(({ content }) => content).join("\n");
}
