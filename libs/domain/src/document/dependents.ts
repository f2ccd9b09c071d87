import { defined } from '#kernel';
import type { DocumentConcluded, FailureCause } from './events.js';
import {
  later,
  type Dependent,
  type DependentRow,
  type DocumentRules,
  type PlannedGroupTask,
  type PlannedTask,
} from './planned-task.js';
import { endOf, isOfDocument, type DocumentSagaState, type SagaEnd } from './saga-state.js';

/** What follows from one event, for the saga's transaction. */
export interface DocumentReaction {
  state: DocumentSagaState;
  tasks: (PlannedTask | PlannedGroupTask)[];
  /** Who waits for this instance from now on: rows beside the state, which stays small. */
  dependents?: DependentRow[];
  /** Planned only where somebody waits for this instance. */
  tasksForDependents?: PlannedTask[];
  /** This instance waits for nobody any more: the rows that name it as a dependent go. */
  stopsWaiting?: true;
}

/**
 * A bare FAILED is read again at these multiples of its grace after it, while somebody waits for the document. With 20
 * minutes the last is 21 hours after.
 */
export const LATE_READS = [2, 4, 8, 16, 32, 63];

const NOW = new Date(0);

export const rowOf = ({ requestId, account, kind }: Dependent): DependentRow => ({
  dependent: requestId,
  data: { account, ...defined({ kind }) },
});

/**
 * Something registered that comes after this instance. Its row is there when this instance concludes. Where it has
 * concluded before, or is not known here (not registered yet, or ended for good and forgotten), a task asks the log. A
 * bad end that may still turn is told when its grace is over.
 */
export function registeredAfterMe(
  state: DocumentSagaState,
  dependent: Dependent,
  { key, at, rules }: { key: string; at: Date; rules: DocumentRules },
): DocumentReaction {
  const dependents = [rowOf(dependent)];
  const end = endOf(state);
  if (end !== undefined) {
    // The first that comes to wait after the end has the reads planned: at the end itself nobody waited.
    const reads = end.certainty === 'turning' ? lateReads(state, { requestId: key, at, rules }) : [];
    return {
      state,
      tasks: [notePredecessor(dependent, key, { dueAt: toldFrom(end, at, rules) }), ...reads],
      dependents,
    };
  }
  if (state.phase === 'open') return { state, tasks: [], dependents };
  // One that registers later concludes later, and its conclusion finds the row: only an end that was forgotten here,
  // which is final, is to be told.
  return { state, tasks: [notePredecessor(dependent, key, { dueAt: NOW, finalOnly: true })], dependents };
}

function toldFrom({ outcome, tellFrom }: SagaEnd, at: Date, rules: DocumentRules): Date {
  if (outcome !== 'failed') return NOW;
  // A state that an old version wrote does not say whether its failure may turn: it is treated as one that may.
  return tellFrom === undefined ? later(at, rules.failedGraceMs) : new Date(tellFrom);
}

/** Asks the log how a predecessor ended, and tells the dependent. */
export function notePredecessor(
  { kind, requestId, account }: Dependent,
  predecessor: string,
  { dueAt, finalOnly }: { dueAt: Date; finalOnly?: true },
): PlannedTask | PlannedGroupTask {
  const rest = { key: `note_predecessor:${requestId}:${predecessor}`, lane: 'internal', dueAt };
  const about = { account, predecessor, ...defined({ finalOnly }) };
  return kind === 'group'
    ? { ...rest, kind: 'note_group_predecessor', payload: { groupId: requestId, ...about } }
    : { ...rest, kind: 'note_predecessor', payload: { requestId, ...about } };
}

/** Tells everybody who waits how this instance ended, page by page. `version`: of the event by which it ended so. */
const releaseDependents = (of: {
  predecessor: string;
  account: string;
  version: number;
  dueAt: Date;
}): PlannedTask => ({
  key: `release_dependents:${of.predecessor}:${of.version}`,
  kind: 'release_dependents',
  lane: 'internal',
  dueAt: of.dueAt,
  payload: { requestId: of.predecessor, account: of.account, predecessor: of.predecessor },
});

export type Ended = Omit<SagaEnd, 'tellFrom'>;

/** What surely never reached the registry, or was refused by it, stays failed. */
const FINAL_CAUSES: (FailureCause | undefined)[] = ['send_refused', 'predecessor_failed', 'waits_in_ring'];

export function endOfDocument({ outcome, cause }: Pick<DocumentConcluded['data'], 'outcome' | 'cause'>): Ended {
  if (outcome !== 'failed' || FINAL_CAUSES.includes(cause)) return { outcome, certainty: 'final' };
  // Of a member that its halted group has ended the registry may still send a receipt.
  return { outcome, certainty: cause === 'registry_failed' ? 'turning' : 'revisable' };
}

/**
 * The state of an instance that ended, and the task by which its dependents hear of it: bad news that may turn wait for
 * the grace.
 */
export function afterEnd(
  state: DocumentSagaState,
  of: { ended: Ended; key: string; version: number; at: Date; rules: DocumentRules },
): Pick<DocumentReaction, 'state'> & { release: PlannedTask } {
  const dueAt = of.ended.certainty === 'turning' ? later(of.at, of.rules.failedGraceMs) : of.at;
  const end = { ...of.ended, tellFrom: dueAt.toISOString() };
  const account = 'account' in state ? state.account : '';
  return {
    state: 'noun' in state ? { ...state, phase: 'ended', end } : { phase: 'revised', end },
    release: releaseDependents({ predecessor: of.key, account, version: of.version, dueAt }),
  };
}

/** While documents wait for one that failed without a receipt, its status is read a few times more. */
export function lateReads(
  state: DocumentSagaState,
  { requestId, at, rules }: { requestId: string; at: Date; rules: DocumentRules },
): PlannedTask[] {
  if (rules.failedGraceMs === 0 || !isOfDocument(state) || state.documentId === undefined) return [];
  const { account, documentId } = state;
  return LATE_READS.map((times) => ({
    key: `status:${requestId}:late-${times}`,
    kind: 'status',
    lane: `${account}/status`,
    dueAt: later(at, times * rules.failedGraceMs),
    payload: { requestId, account, documentId },
  }));
}
