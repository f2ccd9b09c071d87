import {
  DOCUMENT_SAGA,
  endedBadly,
  endOfDocument,
  endOfGroup,
  isWhollyResumable,
  standsFor,
  type DocumentReference,
  type GroupState,
  type PredecessorNews,
} from '#domain';
import { defined } from '#kernel';
import { dependentsOf, type NewDependent } from '#subscriptions';
import type { TaskResult } from '#tasks';
import type { Claim, TaskOf } from '../lane.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import { causeOf, type Dependents, type TaskContext } from './context.js';

/** Dependents that one task tells; those behind them are the next task's. */
export const DEPENDENTS_PER_TASK = 200;
const TOLD_AT_ONCE = 20;
/** A document that was sent again may be sent again, and so on; a group that was resumed may be resumed. */
const MOST_SUCCESSORS = 100;
/** How long to wait for the receipt of a FAILED that has turned: five minutes, then who waits is held. */
const TURNING_MS = 30_000;
export const TURNING_TRIES = 10;

/** How a predecessor ended, by the log. */
interface Ended {
  news: Omit<PredecessorNews, 'requestId'>;
  isFinal: boolean;
  /** It counts as failed, and its receipt is being fetched. */
  isTurning: boolean;
  /** The document or group that ended badly, and in whose place this one came. */
  standsFor: string | undefined;
}
type End = 'open' | Ended;

/**
 * Tells one document that registered late how its predecessor ended. While it has not, there is nothing to do: its
 * conclusion finds the row.
 */
export const notePredecessor = (context: TaskContext, task: TaskOf<'note_predecessor'>): Promise<TaskResult> =>
  noteOne(context, task, { dependent: task.payload.requestId, data: {} });

/** The same for a group. */
export const noteGroupPredecessor = (
  context: TaskContext,
  task: TaskOf<'note_group_predecessor'>,
): Promise<TaskResult> => noteOne(context, task, { dependent: task.payload.groupId, data: { kind: 'group' } });

async function noteOne(
  context: TaskContext,
  task: TaskOf<'note_predecessor' | 'note_group_predecessor'>,
  dependent: NewDependent,
): Promise<TaskResult> {
  const { predecessor, finalOnly } = task.payload;
  const end = await endOf(context, predecessor);
  if (end === 'open' || (finalOnly === true && !end.isFinal)) return { kind: 'done' };
  if (end.isTurning && task.attempts <= TURNING_TRIES) return again();
  await tell(context, task, { dependent, predecessor, end });
  return { kind: 'done' };
}

/**
 * Tells the dependents of a document or a group how it ended, by what the log says now. One page of them: the next
 * page is another task, planned before this one is done, so that a crash between them repeats a page and leaves none
 * out. A repeat says nothing new.
 */
export async function releaseDependents(context: TaskContext, task: TaskOf<'release_dependents'>): Promise<TaskResult> {
  const { pool, queue } = dependentsIn(context);
  const { predecessor, account, cursor = '', by } = task.payload;
  const end = await endOf(context, predecessor, by);
  if (end === 'open') return { kind: 'done' };
  // The pages after the first follow it, whatever it told.
  if (end.isTurning && cursor === '' && task.attempts <= TURNING_TRIES) return again();
  const page = await dependentsOf(
    pool,
    { saga: DOCUMENT_SAGA.name, key: predecessor },
    { after: cursor, limit: DEPENDENTS_PER_TASK },
  );
  await tellPage(page, (dependent) => tell(context, task, { dependent, predecessor, end }));
  const last = page.at(-1)?.dependent;
  const [first] = task.key.split('>');
  const follow = { kind: 'release_dependents' as const, lane: task.lane, dueAt: new Date(0) };
  if (page.length === DEPENDENTS_PER_TASK && last !== undefined) {
    await queue.schedule(pool, [
      {
        ...follow,
        key: `${first}>${last}`,
        payload: { requestId: predecessor, account, predecessor, cursor: last, ...defined({ by }) },
      },
    ]);
  } else if (end.standsFor !== undefined && !endedBadly(end.news.outcome)) {
    // Who waits for the document or group that this one stands for may go as well.
    const requestId = end.standsFor;
    await queue.schedule(pool, [
      {
        ...follow,
        key: `release_dependents:${requestId}:by:${predecessor}`,
        payload: { requestId, account, predecessor: requestId, by: by ?? predecessor },
      },
    ]);
  }
  return { kind: 'done' };
}

async function tellPage(page: NewDependent[], tellOne: (dependent: NewDependent) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < page.length; from += TOLD_AT_ONCE)
    await Promise.all(page.slice(from, from + TOLD_AT_ONCE).map(tellOne));
}

interface News {
  dependent: NewDependent;
  predecessor: string;
  end: Ended;
}

function tell(
  context: TaskContext,
  task: Claim,
  { dependent: { dependent, data }, predecessor, end }: News,
): Promise<unknown> {
  // What may still turn out well holds, and ends nothing.
  const endAtOnceDocTypes = end.isTurning ? [] : dependentsIn(context).endAtOnceDocTypes;
  const cause = causeOf(task, SYSTEM);
  const command = { type: 'NotePredecessor' as const, requestId: predecessor, ...end.news, endAtOnceDocTypes };
  return (data['kind'] === 'group' ? context.groups : context.documents).execute(dependent, command, cause);
}

function dependentsIn({ dependents }: TaskContext): Dependents {
  if (dependents === undefined) throw new Error('nobody keeps dependents here');
  return dependents;
}

/**
 * A document that was sent again, or a group that was resumed, and that was accepted so, has ended well for those who
 * wait.
 */
async function endOf(context: TaskContext, id: string, by?: string): Promise<End> {
  const own = await ownEndOf(context, id);
  if (own === 'open' || !endedBadly(own.news.outcome) || !own.isReplaceable) return own;
  // Its own stream, or that of a successor, may not name the next one yet.
  let successor = own.successor ?? by;
  for (let steps = 0; successor !== undefined && steps < MOST_SUCCESSORS; steps += 1) {
    const next = await ownEndOf(context, successor);
    if (next === 'open') break;
    const { outcome } = next.news;
    if (!endedBadly(outcome))
      return { news: { outcome, by: next.reference }, isFinal: true, isTurning: false, standsFor: own.standsFor };
    const last = successor === by ? undefined : by;
    successor = next.isReplaceable ? (next.successor ?? last) : undefined;
  }
  return own;
}

/** `isReplaceable`: a good end of its successor is a good end of the whole. */
type OwnEnd =
  'open' | (Ended & { reference: DocumentReference; successor: string | undefined; isReplaceable: boolean });

async function ownEndOf({ documents, groups }: TaskContext, id: string): Promise<OwnEnd> {
  const document = await documents.stateInLog(id);
  if (document.phase === 'absent') return ownEndOfGroup(await groups.stateInLog(id));
  if (document.phase !== 'concluded') return 'open';
  const { outcome, cause, status, registration, resentAs, supersededBy } = document;
  const { commandId, requestId } = registration;
  const isFinal = endOfDocument({ outcome, ...defined({ cause }) }).certainty === 'final';
  const isTurning = cause === 'registry_failed' && status !== 'failed';
  return {
    news: { outcome },
    isFinal,
    isTurning,
    reference: { commandId, requestId },
    standsFor: standsFor(registration)?.requestId,
    successor: resentAs ?? supersededBy,
    isReplaceable: true,
  };
}

function ownEndOfGroup(group: GroupState): OwnEnd {
  if (group.phase !== 'concluded') return 'open';
  const { registration, halt, resumedBy } = group;
  const { outcome, certainty } = endOfGroup({
    outcome: group.outcome,
    ...(halt === undefined ? {} : { halt: halt.cause }),
  });
  const reference = { commandId: registration.commandId, requestId: registration.groupId };
  return {
    news: { outcome },
    isFinal: certainty === 'final',
    isTurning: false,
    reference,
    standsFor: registration.resumes?.groupId,
    successor: resumedBy?.groupId,
    isReplaceable: isWhollyResumable(group),
  };
}

const again = (): TaskResult => ({
  kind: 'retry',
  delayMs: TURNING_MS,
  error: 'the predecessor counts as failed, its status has turned, and its receipt has not come',
  countsAsAttempt: true,
});
