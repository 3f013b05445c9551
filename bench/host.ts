/**
 * The host's own cost of a turn with four slots, beside eve 0.80.1's memory lifecycle and a loop written by hand.
 *
 * Providers do nothing: recall answers null, tools() one tool that is always the same, capture nothing. All systems run the
 * very same slots, each with a namespace and `byPrincipal` as its scope, and must have called providers equally often, with
 * equally many messages. A turn is everything around the model: it starts with a text and is completed with one message. A
 * user who was never seen before comes every 20 turns, so that nothing is known of a user in advance.
 *
 * Time: each system has a process of its own. After uncounted rounds they take turns, A B C A B C, and the median counts. It
 * is CPU time of the whole process, collection of garbage included: no turn waits for anything, so on a machine that does
 * nothing else that is the time on the wall (which is given too), and elsewhere it leaves out what other programs take.
 *
 * Memory: in another process, warmed up as well, whose young generation is larger than what is allocated; by how much the
 * heap grew in a round, divided by its turns. If a collection is observed all the same, half the sessions are measured
 * again. What lies outside the heap, as eve's buffers do, is not counted.
 */
import { parseArgs } from "node:util";
import { type Amount, measure } from "./host/measure.ts";
import { toReport, toTable } from "./host/report.ts";
import { turnsPerSession } from "./host/sessions.ts";
import { generatedTexts, readUserTexts } from "./host/user-texts.ts";

interface Arguments {
  readonly data: string | undefined;
  readonly json: boolean;
  readonly turns: number;
  readonly rounds: number;
}

try {
  const { data, json, turns, rounds } = readArguments();
  const texts = data === undefined ? generatedTexts() : await readUserTexts(data);
  const amount: Amount = { rounds, round: { sessions: Math.ceil(turns / turnsPerSession), texts } };
  const report = toReport(await measure(amount), amount);
  console.log(json ? JSON.stringify(report) : toTable(report));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      data: { type: "string" },
      json: { type: "boolean", default: false },
      turns: { type: "string", default: "2000" },
      rounds: { type: "string", default: "15" },
    },
  });
  return {
    ...values,
    data: values.data,
    turns: toCount("--turns", values.turns),
    rounds: toCount("--rounds", values.rounds),
  };
}

function toCount(option: string, text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new Error(`${option} needs a whole number above zero.`);
}
