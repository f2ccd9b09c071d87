import {
  isStoppedBy,
  suspensionHoldOf,
  type Member,
  type Registration,
  type SuspensionFinding,
  type ToSend,
} from '#domain';
import type { TaskResult } from '#tasks';
import type { SuspensionStop } from '../gate/suspension-stop.js';
import type { TaskOf } from '../lane.js';
import { bySystem, type TaskContext } from './context.js';
import { decided, rejudgeAgain, waitForRecord } from './gate.js';

type Stop = Pick<SuspensionStop, 'unknownSeries' | 'stops' | 'inForce' | 'judge'>;

/** Judged at this log position: what is suspended later is not in it. */
export interface JudgedAt {
  knownAt: bigint;
}

/** Whether suspensions let a document go, or why it is not sent. Absent `judgedAt`: they do not concern it. */
export type Stopped = { stopped: TaskResult } | { judgedAt?: JudgedAt };

/**
 * The stop before the send (docs/suspensions.md), before every attempt: a member of a group and a part of a document
 * are judged when their turn comes. Every suspension counts that stands in the log when this begins.
 */
export async function passStop(
  context: TaskContext,
  task: TaskOf<'send'>,
  { registration }: Pick<ToSend, 'registration'>,
): Promise<Stopped> {
  const { stop } = context;
  if (stop === undefined || registration.itemCount === 0 || !stop.stops(registration.docType)) return {};
  const inForce = await stop.inForce();
  const judgedAt = { knownAt: inForce.knownAt };
  if (inForce.gtins.size === 0) return { judgedAt };
  const behind = await waitForRecord(context, task);
  if (behind !== undefined) return { stopped: behind };
  const finding = await stop.judge(registration, inForce);
  const command = finding === undefined ? undefined : commandOf(stop, finding);
  if (command === undefined) return { judgedAt };
  const stopped = await decided(context, task, command);
  return stopped === undefined ? { judgedAt } : { stopped };
}

/** The same once more, right before the intent, where something was suspended or released since. */
export async function passStopAgain(
  context: TaskContext,
  task: TaskOf<'send'>,
  { registration, judgedAt }: Pick<ToSend, 'registration'> & { judgedAt: JudgedAt | undefined },
): Promise<Stopped> {
  const { stop } = context;
  if (stop === undefined || judgedAt === undefined) return {};
  const { knownAt, changedAt } = await stop.inForce();
  return changedAt <= judgedAt.knownAt ? { judgedAt: { knownAt } } : passStop(context, task, { registration });
}

/** Judging took so long that suspensions came meanwhile: all members are judged anew. */
const CHANGED: TaskResult = {
  ...{ kind: 'retry', delayMs: 1_000, countsAsAttempt: false },
  error: 'suspensions changed while its documents were judged',
};

/**
 * Why suspensions keep a group from being started now, or for good, in words. Each member was judged when it was sent,
 * and that may be days ago. What a person overrode for a member counts for it here, too. Every suspension counts that
 * stands in the log when this ends.
 */
export async function suspendedIn(
  { stop, documents }: TaskContext,
  members: Member[],
): Promise<{ text: string } | { wait: TaskResult } | undefined> {
  if (stop === undefined) return undefined;
  const inForce = await stop.inForce();
  if (inForce.gtins.size === 0) return undefined;
  for (const { requestId, commandId } of members) {
    const state = await documents.stateInLog(requestId);
    if (state.phase !== 'sent' || !stop.stops(state.registration.docType)) continue;
    const finding = await stop.judge(state.registration, inForce);
    const command = finding && commandOf(stop, finding);
    if (command?.type === 'HoldForSuspension' && isStoppedBy(state.gate, command.finding))
      return { text: wordsOf(commandId, command.finding) };
  }
  return (await stop.inForce()).changedAt > inForce.knownAt ? { wait: CHANGED } : undefined;
}

function wordsOf(commandId: string, { series: [first] }: SuspensionFinding): string {
  if (first === undefined) return `nobody told of which series packs of ${commandId} are, and one may be suspended`;
  return `packs of ${commandId} are suspended: series ${first.series} of ${first.gtin}`;
}

function commandOf({ unknownSeries }: Stop, { unknown, ...known }: SuspensionFinding) {
  const isHeld = unknownSeries === 'hold';
  const finding = { ...known, ...(unknown !== undefined && (isHeld || known.packCount === 0) ? { unknown } : {}) };
  if (known.packCount === 0 && unknown === undefined) return undefined;
  return { type: known.packCount > 0 || isHeld ? 'HoldForSuspension' : 'WarnOfSuspension', finding } as const;
}

/** Looks again at what suspensions hold: at longer and longer intervals, for as long as it is held. */
export async function rejudgeSuspension(context: TaskContext, task: TaskOf<'rejudge_suspension'>): Promise<TaskResult> {
  const { stop, documents } = context;
  const { requestId, holdKnownAt } = task.payload;
  const state = await documents.stateInLog(requestId);
  if (stop === undefined || state.phase !== 'waiting') return { kind: 'done' };
  if (suspensionHoldOf(state)?.knownAt !== holdKnownAt) return { kind: 'done' };
  const finding = await findingNow(stop, state.registration);
  if (finding !== undefined && BigInt(finding.knownAt) > BigInt(holdKnownAt)) {
    const { events } = await bySystem(context, task, { type: 'RejudgeSuspension', holdKnownAt, finding });
    if (events.length > 0) return { kind: 'done' };
  }
  return rejudgeAgain(task, 'packs of it are suspended');
}

/** As the profile says now: a type that it stops no longer goes. */
async function findingNow(stop: Stop, registration: Registration): Promise<SuspensionFinding | undefined> {
  const inForce = await stop.inForce();
  if (!stop.stops(registration.docType)) return { series: [], packCount: 0, knownAt: String(inForce.knownAt) };
  const finding = await stop.judge(registration, inForce);
  if (finding === undefined || stop.unknownSeries === 'hold') return finding;
  const { unknown: _, ...known } = finding;
  return known;
}
