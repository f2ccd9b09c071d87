import { DOCUMENT_SAGA, endedBadly, endOfDocument, endOfGroup, type DocumentReference, type PredecessorNews } from '#domain';
import { dependentsOf, type NewDependent } from '#subscriptions';
import type { Task, TaskResult } from '#tasks';
import { DecideDocument } from '../document/decide-document.js';
import { DecideGroup } from '../group/decide-group.js';
import { causeOf, groupPayloadOf, payloadOf, SYSTEM, type Dependents, type TaskContext } from './context.js';

/** Dependents that one task tells; those behind them are the next task's. */
export const DEPENDENTS_PER_TASK = 200;
const TOLD_AT_ONCE = 20;
/** A document that was sent again may be sent again, and so on. */
const MOST_RESENDS = 100;
/** How long to wait for the receipt of a FAILED that has turned. */
const TURNING_MS = 30_000;

/** How a predecessor stands in the log. `turning`: it counts as failed, and its receipt is being fetched. */
type End = 'open' | 'turning' | { news: Omit<PredecessorNews, 'requestId'>; isFinal: boolean; resendOf?: DocumentReference };

/** Tells one document that registered late how its predecessor ended. While it has not, there is nothing to do: its conclusion finds the row. */
export const notePredecessor = (context: TaskContext, task: Task): Promise<TaskResult> => noteOne(context, task, { dependent: payloadOf(task).requestId, data: {} });

/** The same for a group. */
export const noteGroupPredecessor = (context: TaskContext, task: Task): Promise<TaskResult> => noteOne(context, task, { dependent: groupPayloadOf(task).groupId, data: { kind: 'group' } });

async function noteOne(context: TaskContext, task: Task, dependent: NewDependent): Promise<TaskResult> {
  const { predecessor, finalOnly } = payloadOf(task);
  if (predecessor === undefined) return { kind: 'failed', error: 'the task names no predecessor' };
  const end = await endOf(context, predecessor);
  if (end === 'open' || (finalOnly === true && (end === 'turning' || !end.isFinal))) return { kind: 'done' };
  if (end === 'turning') return again();
  await tell(context, task, { dependent, news: { requestId: predecessor, ...end.news } });
  return { kind: 'done' };
}

/**
 * Tells those who wait for a document or a group how it ended, by what the log says now. One page of them: the next page is another task, planned before
 * this one is done, so that a crash between them repeats a page and leaves none out. A repeat says nothing new.
 */
export async function releaseDependents(context: TaskContext, task: Task): Promise<TaskResult> {
  const { pool, queue } = dependentsIn(context);
  const { predecessor, account, cursor = '', by } = payloadOf(task);
  if (predecessor === undefined) return { kind: 'failed', error: 'the task names no predecessor' };
  const end = await endOf(context, predecessor, by);
  if (end === 'turning') return again();
  if (end === 'open') return { kind: 'done' };
  const page = await dependentsOf(pool, { saga: DOCUMENT_SAGA.name, key: predecessor }, { after: cursor, limit: DEPENDENTS_PER_TASK });
  for (let from = 0; from < page.length; from += TOLD_AT_ONCE) {
    await Promise.all(page.slice(from, from + TOLD_AT_ONCE).map((dependent) => tell(context, task, { dependent, news: { requestId: predecessor, ...end.news } })));
  }
  const last = page.at(-1)?.dependent;
  const [first] = task.key.split('>');
  const follow = { kind: task.kind, lane: task.lane, dueAt: new Date(0) };
  if (page.length === DEPENDENTS_PER_TASK && last !== undefined) {
    await queue.schedule(pool, [{ ...follow, key: `${first}>${last}`, payload: { requestId: predecessor, account, predecessor, cursor: last, ...(by === undefined ? {} : { by }) } }]);
  } else if (end.resendOf !== undefined && !endedBadly(end.news.outcome)) {
    // Who waits for the document that this one stands for may go as well.
    const { requestId } = end.resendOf;
    await queue.schedule(pool, [{ ...follow, key: `release_dependents:${requestId}:by:${predecessor}`, payload: { requestId, account, predecessor: requestId, by: predecessor } }]);
  }
  return { kind: 'done' };
}

function tell(context: TaskContext, task: Task, { dependent: { dependent, data }, news }: { dependent: NewDependent; news: PredecessorNews }): Promise<unknown> {
  const { endAtOnceDocTypes } = dependentsIn(context);
  const cause = causeOf(task, SYSTEM);
  const command = { type: 'NotePredecessor' as const, ...news, endAtOnceDocTypes };
  return context.commands.execute(data['kind'] === 'group' ? new DecideGroup(dependent, command, cause) : new DecideDocument(dependent, command, cause));
}

function dependentsIn({ dependents }: TaskContext): Dependents {
  if (dependents === undefined) throw new Error('nobody keeps dependents here');
  return dependents;
}

/** A document that an operator sent again, and that was accepted so, has ended well for those who wait. */
async function endOf(context: TaskContext, id: string, by?: string): Promise<End> {
  const own = await ownEndOf(context, id);
  // Its own stream may not name its successor yet.
  if (typeof own === 'string' || !endedBadly(own.news.outcome)) return own;
  let resent = own.resentAs ?? by;
  for (let steps = 0; resent !== undefined && steps < MOST_RESENDS; steps += 1) {
    const next = await ownEndOf(context, resent);
    if (typeof next === 'string') break;
    if (!endedBadly(next.news.outcome)) return { news: { outcome: next.news.outcome, by: next.reference }, isFinal: true, ...(own.resendOf === undefined ? {} : { resendOf: own.resendOf }) };
    resent = next.resentAs;
  }
  return own;
}

type OwnEnd = Extract<End, string> | (Exclude<End, string> & { reference: DocumentReference; resentAs?: string });

async function ownEndOf({ documents, groups }: TaskContext, id: string): Promise<OwnEnd> {
  const document = await documents.stateInLog(id);
  if (document.phase === 'concluded') {
    const { outcome, cause, status, registration, resentAs } = document;
    if (cause === 'registry_failed' && status !== 'failed') return 'turning';
    const { commandId, requestId, resendOf } = registration;
    const { isFinal } = endOfDocument({ outcome, ...(cause === undefined ? {} : { cause }) });
    return { news: { outcome }, isFinal, reference: { commandId, requestId }, ...(resendOf === undefined ? {} : { resendOf }), ...(resentAs === undefined ? {} : { resentAs }) };
  }
  if (document.phase !== 'absent') return 'open';
  const group = await groups.stateInLog(id);
  if (group.phase !== 'concluded') return 'open';
  const { outcome, isFinal } = endOfGroup({ outcome: group.outcome, ...(group.halt === undefined ? {} : { halt: group.halt.cause }) });
  return { news: { outcome }, isFinal, reference: { commandId: group.registration.commandId, requestId: id } };
}

const again = (): TaskResult => ({ kind: 'retry', delayMs: TURNING_MS, error: 'the predecessor counts as failed, and its status has turned', countsAsAttempt: false });
