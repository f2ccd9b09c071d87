import type { DocumentState } from '#domain';
import type { CallOutcome, DocumentMetadata } from '#registry-client';
import type { TaskResult } from '#tasks';
import type { Candidate } from '../aggregate/candidate.js';
import type { TaskOf } from '../lane.js';
import { byRegistry, candidateOf, keptInMemory, type TaskContext } from './context.js';

type StatusTask = TaskOf<'status'>;

/** Up to this many documents are asked one by one; more share one page of the outgoing list. */
const SINGLE_READS = 1;
/** While a list cannot be read, so many documents are asked one by one at a time, in about so long. */
const MOST_ALONE = 10;
const ALONE_MS = 2_000;
/** Of so many documents it is known when they were asked about alone. */
const MOST_REMEMBERED = 10_000;

/**
 * Reads the status of documents of one account that are due together: few one by one, many by one page of the outgoing
 * list. While the list cannot be read, some are read one by one, and others the next time.
 */
export async function readStatuses(context: TaskContext, tasks: StatusTask[]): Promise<TaskResult[]> {
  if (tasks.length <= SINGLE_READS) return Promise.all(tasks.map((task) => readSingle(context, task)));
  const { account } = (tasks[0] as StatusTask).payload;
  const documentIds = tasks.map((task) => task.payload.documentId);
  const outcome = await context.registry.listOutgoing(account, { documentIds, limit: documentIds.length });
  return readByPage(context, tasks, outcome, {
    alone: (task) => readSingle(context, task),
    observe: (task, seen) => observe(context, task, seen),
    unread: () => again(context, `outgoing list: ${outcome.kind}`),
    failed: (_, error) => again(context, error.message),
  });
}

/** What a page of a list says of one document. */
export interface Seen {
  shown: DocumentMetadata | undefined;
  answer: Candidate;
}

/** What is done with a task, by what the page says. */
interface PageReading<T> {
  /** Asks the registry about it alone. */
  alone(task: T): Promise<TaskResult>;
  observe(task: T, seen: Seen): Promise<TaskResult>;
  /** The list could not be read, and others have their turn. */
  unread(task: T): TaskResult;
  failed(task: T, error: Error): TaskResult;
}

/**
 * Judges each task by a page of a list. Where the page leaves some out, one of them is asked about alone; where it
 * could not be read, some of all. One document's trouble is its own: the others are judged all the same.
 */
export function readByPage<T extends { payload: { documentId: string } }>(
  context: TaskContext,
  tasks: T[],
  outcome: CallOutcome<{ documents: DocumentMetadata[] }>,
  { alone, observe, unread, failed }: PageReading<T>,
): Promise<TaskResult[]> {
  const idOf = (task: T): string => task.payload.documentId;
  const eachRead = (read: (task: T) => Promise<TaskResult>): Promise<TaskResult[]> =>
    Promise.all(tasks.map((task) => read(task).catch((error: Error) => failed(task, error))));
  if (outcome.kind !== 'ok') {
    const some = new Set(someOf(context, tasks.map(idOf)));
    return eachRead((task) => (some.has(idOf(task)) ? alone(task) : Promise.resolve(unread(task))));
  }
  const shown = new Map(outcome.value.documents.map((one) => [one.documentId, one]));
  const answer = candidateOf(context, outcome.raw);
  const one = oneOf(
    context,
    tasks.map(idOf).filter((id) => !shown.has(id)),
  );
  return eachRead((task) =>
    idOf(task) === one ? alone(task) : observe(task, { shown: shown.get(idOf(task)), answer }),
  );
}

/**
 * Of what a list leaves out one is asked for by itself, another each time: a list that never shows a document must not
 * keep it pending for ever.
 */
const oneOf = (context: TaskContext, absent: string[]): string | undefined => inTurn(context, absent, 1)[0];

/** Of what a list does not tell: as many as the interval of single reads lets pass, others each time. */
export function someOf(context: TaskContext, documentIds: string[]): string[] {
  const { intervalMs } = context.profile.operations.status;
  const count = Math.min(MOST_ALONE, Math.floor(ALONE_MS / Math.max(1, intervalMs)));
  return inTurn(context, documentIds, Math.max(1, count));
}

/** Documents that were asked about alone, the one that was asked about last at the end. */
const askedIn = keptInMemory(() => new Set<string>());

/**
 * Those that were asked about alone longest ago: a turn by the clock would come to the same ones again where polls are
 * far apart.
 */
function inTurn(context: TaskContext, documentIds: string[], count: number): string[] {
  const asked = askedIn(context);
  const never = documentIds.filter((id) => !asked.has(id));
  const mine = new Set(never.length < count ? documentIds : []);
  const turn = [...never, ...[...asked].filter((id) => mine.has(id))].slice(0, count);
  for (const id of turn) asked.delete(id);
  for (const id of turn) asked.add(id);
  for (const id of asked) if (asked.size > MOST_REMEMBERED) asked.delete(id);
  return turn;
}

async function readSingle(context: TaskContext, task: StatusTask): Promise<TaskResult> {
  const { account, documentId } = task.payload;
  const outcome = await context.registry.documentStatus(account, documentId as string);
  // Just after a send the registry may not know the document yet (public-facts 4): that is no error, only early.
  if (outcome.kind !== 'ok') return again(context, `status of ${documentId}: ${outcome.kind}`);
  return observe(context, task, { shown: outcome.value, answer: candidateOf(context, outcome.raw) });
}

async function observe(context: TaskContext, task: StatusTask, seen: Seen): Promise<TaskResult> {
  if (seen.shown === undefined) return again(context, 'not in the list yet');
  const { status } = seen.shown;
  const turn = status === 'failed' ? await turnInGroup(context, task.payload.requestId) : 'come';
  if (turn !== 'come') return turn === 'over' ? { kind: 'done' } : again(context, 'its turn in its group may not come');
  const { state } = await byRegistry(context, task, {
    type: 'ObserveStatus',
    status,
    answerSha256: seen.answer.sha256,
    candidates: [seen.answer],
  });
  return isUnsettled(state) ? again(context) : { kind: 'done' };
}

/**
 * Whether a member that shows FAILED has failed by itself. The interface does not say what the documents behind one in
 * error show, which are not processed (registry-interface 3.2): it may be FAILED. So it counts once all before it have
 * ended, and none of them has stopped the group; who settles a group that stopped ends the others.
 */
async function turnInGroup(context: TaskContext, requestId: string): Promise<'come' | 'open' | 'over'> {
  const state = await context.documents.stateInLog(requestId);
  const group = 'registration' in state ? state.registration.group : undefined;
  if (group === undefined) return 'come';
  if (state.phase !== 'sent') return 'cause' in state && state.cause === 'not_processed' ? 'over' : 'come';
  const whole = await context.groups.stateInLog(group.groupId);
  if (whole.phase === 'absent') return 'come';
  if (whole.phase === 'halted') return whole.halt.rest.includes(requestId) ? 'open' : 'come';
  return whole.members.slice(0, group.index).every((one) => one.outcome !== undefined) ? 'come' : 'open';
}

/**
 * Judged by the document's state, never by this answer: another process may have recorded a newer one meanwhile. A
 * member that its halted group has ended is not waited for any more.
 */
function isUnsettled(state: DocumentState): boolean {
  if (state.phase !== 'sent' && !(state.phase === 'concluded' && state.cause !== 'not_processed')) return false;
  return state.status === 'uploading' || state.status === 'processing';
}

/**
 * Polling goes on as long as the document is unconcluded; its age is shown to operators, and it is never given up
 * silently.
 */
function again(context: TaskContext, error?: string): TaskResult {
  const delayMs = context.profile.rules.statusPollMs;
  return { kind: 'retry', delayMs, countsAsAttempt: false, ...(error === undefined ? {} : { error }) };
}
