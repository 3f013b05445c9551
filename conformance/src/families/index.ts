/** Everything that is demanded and tried, in the order in which it is told. */
import type { Check } from "../check.ts";
import type { Clause } from "../clause.ts";
import type { Family, Mutant } from "../family.ts";
import { aborting } from "./aborting.ts";
import { abortingQueued } from "./aborting-queued.ts";
import { answersInPieces } from "./answers-in-pieces.ts";
import { atCompactions } from "./at-compactions.ts";
import { batches } from "./batches.ts";
import { bounds } from "./bounds.ts";
import { calling } from "./calling.ts";
import { capabilities } from "./capabilities.ts";
import { capturing } from "./capturing.ts";
import { concurrency } from "./concurrency.ts";
import { construction } from "./construction.ts";
import { damaged } from "./damage.ts";
import { deadlines } from "./deadlines.ts";
import { distantRepeats } from "./distant-repeats.ts";
import { distinctOperations } from "./distinct-operations.ts";
import { echoes } from "./echoes.ts";
import { erasing } from "./erasing.ts";
import { erasingOneScope } from "./erasing-one-scope.ts";
import { escapedBounds } from "./escaped-bounds.ts";
import { expiry } from "./expiry.ts";
import { faults } from "./faults.ts";
import { forgetting } from "./forgetting.ts";
import { framing } from "./framing.ts";
import { freshness } from "./freshness.ts";
import { hosting } from "./hosting.ts";
import { idempotency } from "./idempotency.ts";
import { importedExpiry } from "./imported-expiry.ts";
import { importing } from "./importing.ts";
import { interruptedForgetting } from "./interrupted-forgetting.ts";
import { isolation } from "./isolation.ts";
import { isolationAtOnce } from "./isolation-at-once.ts";
import { isolationByCursor } from "./isolation-by-cursor.ts";
import { isolationById } from "./isolation-by-id.ts";
import { isolationOfEqualIds } from "./isolation-of-equal-ids.ts";
import { isolationOfKeys } from "./isolation-of-keys.ts";
import { keyed } from "./keyed.ts";
import { language } from "./language.ts";
import { lateAnswers } from "./late-answers.ts";
import { lateRepeats } from "./late-repeats.ts";
import { longMemories } from "./long-memories.ts";
import { maintenance } from "./maintenance.ts";
import { maintenanceFaults } from "./maintenance-faults.ts";
import { manyMemories } from "./many-memories.ts";
import { model } from "./model.ts";
import { nearlyRightIds } from "./nearly-right-ids.ts";
import { olderReads } from "./older-reads.ts";
import { oneInstance } from "./one-instance.ts";
import { partitions } from "./partitions.ts";
import { privacy } from "./privacy.ts";
import { processes } from "./processes.ts";
import { promises } from "./promises.ts";
import { recalledText } from "./recalled-text.ts";
import { recovery } from "./recovery.ts";
import { remembering, remembers } from "./remembering.ts";
import { repeatedFaults } from "./repeated-faults.ts";
import { replay } from "./replay.ts";
import { replayAfterFaults } from "./replay-after-faults.ts";
import { retracting } from "./retracting.ts";
import { sameTexts } from "./same-text.ts";
import { secrets } from "./secrets.ts";
import { secretsBesideTexts } from "./secrets-beside-texts.ts";
import { secretsInArguments } from "./secrets-in-arguments.ts";
import { secretsInAttachments } from "./secrets-in-attachments.ts";
import { secretsInDepth } from "./secrets-in-depth.ts";
import { secretsInPieces } from "./secrets-in-pieces.ts";
import { secretsInQuestions } from "./secrets-in-questions.ts";
import { shape } from "./shape.ts";
import { steadyRecall } from "./steady-recall.ts";
import { stopping } from "./stopping.ts";
import { storedForm } from "./stored-form.ts";
import { storedNamesOfScopes } from "./stored-names.ts";
import { toolAnswers } from "./tool-answers.ts";
import { toolCalls } from "./tool-calls.ts";
import { toolMaps } from "./tool-maps.ts";
import { tools } from "./tools.ts";
import { withinATurn } from "./within-a-turn.ts";

export const families: readonly Family[] = [
  remembering,
  isolation,
  isolationOfKeys,
  isolationById,
  isolationAtOnce,
  isolationOfEqualIds,
  isolationByCursor,
  sameTexts,
  partitions,
  storedNamesOfScopes,
  tools,
  toolMaps,
  toolAnswers,
  forgetting,
  nearlyRightIds,
  interruptedForgetting,
  maintenance,
  erasing,
  manyMemories,
  erasingOneScope,
  longMemories,
  shape,
  calling,
  hosting,
  oneInstance,
  freshness,
  olderReads,
  capabilities,
  promises,
  privacy,
  construction,
  faults,
  maintenanceFaults,
  repeatedFaults,
  batches,
  recovery,
  damaged,
  deadlines,
  aborting,
  abortingQueued,
  stopping,
  lateAnswers,
  atCompactions,
  expiry,
  importedExpiry,
  bounds,
  escapedBounds,
  framing,
  storedForm,
  recalledText,
  steadyRecall,
  idempotency,
  distinctOperations,
  lateRepeats,
  distantRepeats,
  toolCalls,
  replay,
  replayAfterFaults,
  keyed,
  retracting,
  withinATurn,
  concurrency,
  processes,
  importing,
  capturing,
  echoes,
  language,
  answersInPieces,
  model,
  secrets,
  secretsInDepth,
  secretsInPieces,
  secretsBesideTexts,
  secretsInArguments,
  secretsInQuestions,
  secretsInAttachments,
];

export const firstCheck: Check = remembers;
export const allClauses: readonly Clause[] = families.flatMap(({ clauses }) => clauses);
export const allChecks: readonly Check[] = families.flatMap(({ checks }) => checks);
export const allMutants: readonly Mutant[] = families.flatMap(({ mutants }) => mutants);

const byId = new Map(allClauses.map((clause) => [clause.id, clause]));

/** @throws Error for an id of no clause. */
export function clauseOf(id: string): Clause {
  const clause = byId.get(id);
  if (clause === undefined) throw new Error(`${id} is no clause.`);
  return clause;
}
