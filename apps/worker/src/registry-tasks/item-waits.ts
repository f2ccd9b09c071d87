import {
  ACCOMPLISHED_FACTS,
  documentStream,
  dueOf,
  groupStream,
  hasItemWait,
  type DocumentCommand,
  type DocumentState,
  type GroupCommand,
  type GroupState,
  type Registration,
} from '#domain';
import { defined } from '#kernel';
import type { TaskResult } from '#tasks';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import type { TaskOf } from '../lane.js';
import { causeOf, LONGEST_REST_MS, tenthLaterMs, type TaskContext } from './context.js';

type ItemTask = TaskOf<'wait_for_items' | 'lift_item_wait' | 'refuse_ring' | 'lapse_holds'>;

const execute = (context: TaskContext, task: ItemTask, command: DocumentCommand & GroupCommand) => {
  const { requestId, isGroup } = task.payload;
  const aggregate = isGroup === true ? context.groups : context.documents;
  return aggregate.execute(requestId, command, causeOf(task, SYSTEM));
};

/** Has a document or a group wait for earlier ones that name the same items. Its first send is not planned yet. */
export async function waitForItems(context: TaskContext, task: TaskOf<'wait_for_items'>): Promise<TaskResult> {
  const { round, for: predecessors } = task.payload;
  await execute(context, task, { type: 'WaitForItems', round, for: predecessors });
  return { kind: 'done' };
}

/** Ends the wait of a document or a group, by their items, for one that comes after it. */
export async function liftItemWait(context: TaskContext, task: TaskOf<'lift_item_wait'>): Promise<TaskResult> {
  await execute(context, task, { type: 'LiftItemWait', requestId: task.payload.predecessor });
  return { kind: 'done' };
}

/** Ends one that would wait for itself. */
export async function refuseRing(context: TaskContext, task: TaskOf<'refuse_ring'>): Promise<TaskResult> {
  await execute(context, task, { type: 'RefuseRing', ring: task.payload.ring });
  return { kind: 'done' };
}

/** How soon a report of a fact is looked at again that waits: at first, and at last. */
const LOOK_FIRST_MS = 5_000;

/**
 * Releases a report of an accomplished fact when its time is up: what holds it by its items lapses, and so do its waits
 * by items for what is held itself. Of anything else, and of what goes by itself, nothing follows. It is looked at
 * again until then, for what it waits for may come to be held later.
 */
export async function lapseHolds(context: TaskContext, task: TaskOf<'lapse_holds'>): Promise<TaskResult> {
  const { requestId, isGroup } = task.payload;
  const { itemWaits } = context;
  const aggregate = isGroup === true ? context.groups : context.documents;
  const waiting = waitingFact(await aggregate.stateInLog(requestId));
  if (itemWaits === undefined || waiting === undefined) return { kind: 'done' };
  const { fromMs, endsMs, dueAt } = await timeOf(itemWaits, task.payload, waiting);
  const nowMs = task.claimedAt.getTime();
  const leftMs = endsMs - nowMs;
  if (leftMs > 0) return lookAgain(Math.min(leftMs, tenthLaterMs(nowMs - fromMs, LOOK_FIRST_MS)));
  const named = waiting.waitingFor.flatMap((one) => ('items' in one ? [one.requestId] : []));
  const stuck = await itemWaits.stuckAmong(named);
  const { state } = await execute(context, task, { type: 'LapseHolds', stuck, ...defined({ dueAt }) });
  return waitingFact(state) === undefined ? { kind: 'done' } : lookAgain(LONGEST_REST_MS);
}

const lookAgain = (delayMs: number): TaskResult => ({
  ...{ kind: 'retry', delayMs, countsAsAttempt: false },
  error: 'its time is not up, or what it waits for is not held',
});

type Fact = Extract<DocumentState | GroupState, { phase: 'waiting' }>;

/** What waits, or is held, because of its items, and reports what has happened. */
function waitingFact(state: DocumentState | GroupState): Fact | undefined {
  if (state.phase !== 'waiting' || !hasItemWait(state)) return undefined;
  return registrationsIn(state).every(({ docType }) => ACCOMPLISHED_FACTS.includes(docType)) ? state : undefined;
}

const registrationsIn = ({ registration }: Fact): Pick<Registration, 'requestId' | 'docType'>[] =>
  'members' in registration ? registration.members : [registration];

interface WaitingTime {
  fromMs: number;
  endsMs: number;
  /** Where it ends for the deadline, ISO 8601 in UTC. */
  dueAt?: string;
}

/**
 * From when until when a report of a fact waits. It begins with its registration, or the earliest of all that it was
 * sent in place of: to send again gains no time. It ends by the setting, or some time before it is due. What was late
 * already when it was registered gains nothing by that.
 */
async function timeOf(
  { store, clocksOf, calendar, factReleaseMs, factLeadMs }: NonNullable<TaskContext['itemWaits']>,
  { requestId, isGroup }: ItemTask['payload'],
  waiting: Fact,
): Promise<WaitingTime> {
  const stream = isGroup === true ? groupStream(requestId) : documentStream(requestId);
  const [registered] = await store.readStream(stream, { fromVersion: 0, limit: 1 });
  const registrations = registrationsIn(waiting);
  const clocks = await clocksOf(registrations.map((one) => one.requestId));
  const known = [...clocks.values()].map(({ knownAt }) => knownAt.getTime());
  const fromMs = Math.min(registered?.recordedAt.getTime() ?? 0, ...known);
  const due = registrations.flatMap((one) => {
    const clock = clocks.get(one.requestId);
    if (clock === undefined) return [];
    const found = dueOf(calendar, { role: 'sender', docType: one.docType, channel: 'api', ...clock, acceptedAt: null });
    return found.kind === 'due' && found.at.getTime() > fromMs ? [found.at.getTime()] : [];
  });
  const [endsMs, first] = [fromMs + factReleaseMs, Math.min(...due)];
  if (first - factLeadMs >= endsMs) return { fromMs, endsMs };
  return { fromMs, endsMs: first - factLeadMs, dueAt: new Date(first).toISOString() };
}
