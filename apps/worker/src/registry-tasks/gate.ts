import {
  gateHoldOf,
  hasPassed,
  type GateCommand,
  type GateFinding,
  type Registration,
  type StopCommand,
  type ToSend,
} from '#domain';
import type { TaskResult } from '#tasks';
import { STILL_MS } from '../gate/sequence-gate.js';
import type { TaskOf } from '../lane.js';
import { SYSTEM } from '../aggregate/aggregate-repository.js';
import { bySystem, causeOf, lookTenthLater, type TaskContext } from './context.js';

const DONE: TaskResult = { kind: 'done' };
/** How soon a document is looked at again that waits for the record of packs. */
const BEHIND_MS = 250;
/** How soon a held document is looked at again: at first, and at last. */
const REJUDGE_FIRST_MS = 5_000;

/**
 * The sequence gate (docs/packs.md), in the task that sends, before its intent: so nothing lies between the judgement
 * and the send but a signature. Undefined: it may be sent. A crash in between repeats the judgement, or finds the
 * document held, or warned of; another worker's intent ends this one.
 */
export async function passGate(
  context: TaskContext,
  task: TaskOf<'send'>,
  state: ToSend,
): Promise<TaskResult | undefined> {
  const { sequence } = context;
  if (sequence === undefined || !isJudged(state)) return undefined;
  const policy = sequence.policyOf(state.registration.docType);
  if (policy === 'off') return undefined;
  const behind = await recordBehind(sequence, task);
  if (behind !== undefined) return behind.stillMs < STILL_MS ? wait(behind) : decided(context, task, unjudged(behind));
  const finding = await sequence.judge(state.registration);
  if (finding === undefined || finding.packCount === 0) return undefined;
  return decided(context, task, { type: policy === 'refuse' ? 'HoldAtGate' : 'WarnAtGate', finding });
}

/**
 * Once, before the first attempt. A member of a group goes with it: an earlier member may change what this one finds.
 * Who waives the wait for earlier documents of the same packs says that their state will be another.
 */
function isJudged({ gate, send, registration: { itemCount, group, waivesItemWait } }: ToSend): boolean {
  const isFirst = send.attempt === 1 && !hasPassed(gate);
  return isFirst && itemCount > 0 && group === undefined && waivesItemWait !== true;
}

type Sequence = NonNullable<TaskContext['sequence']>;

/** How far the record of packs is, where it has not reached what let the document go. */
async function recordBehind(sequence: Sequence, { payload }: TaskOf<'send'>) {
  const neededAt = await sequence.neededAt(payload.requestId, payload.knownFrom);
  const standing = await sequence.behind(neededAt);
  return standing && { ...standing, neededAt };
}

/** Has a send wait for the record of packs; undefined where that has come so far, or has stood still for too long. */
export async function waitForRecord({ sequence }: TaskContext, task: TaskOf<'send'>): Promise<TaskResult | undefined> {
  const behind = sequence && (await recordBehind(sequence, task));
  return behind !== undefined && behind.stillMs < STILL_MS ? wait(behind) : undefined;
}

interface Behind {
  neededAt: bigint;
  position: bigint;
}

const wait = ({ neededAt, position }: Behind): TaskResult => ({
  kind: 'retry',
  delayMs: BEHIND_MS,
  error: `the record of packs has come to position ${position}, and ${neededAt} is needed`,
  countsAsAttempt: false,
});

const unjudged = ({ neededAt, position }: Behind) => ({
  type: 'WarnAtGate' as const,
  finding: { packs: [], packCount: 0, knownAt: String(position), neededAt: String(neededAt) },
});

/** It goes on only where it is still ready: it was warned of, or a person has waived that before. */
export async function decided(
  context: TaskContext,
  task: TaskOf<'send'>,
  command: Extract<GateCommand | StopCommand, { type: `HoldAt${string}` | `HoldFor${string}` | `Warn${string}` }>,
): Promise<TaskResult | undefined> {
  const { state } = await bySystem(context, task, command);
  return state.phase === 'ready' ? undefined : DONE;
}

/** Looks again at the packs of what the gate holds: at longer and longer intervals, for as long as it is held. */
export async function rejudgeAtGate(context: TaskContext, task: TaskOf<'rejudge_at_gate'>): Promise<TaskResult> {
  const { sequence, documents } = context;
  const { requestId, holdKnownAt } = task.payload;
  const state = await documents.stateInLog(requestId);
  if (sequence === undefined || state.phase !== 'waiting' || gateHoldOf(state)?.knownAt !== holdKnownAt) return DONE;
  const finding = await findingNow(sequence, state.registration, holdKnownAt);
  if (finding !== undefined) {
    const command = { type: 'RejudgeAtGate', holdKnownAt, finding } as const;
    const { events } = await documents.execute(requestId, command, causeOf(task, SYSTEM));
    if (events.length > 0) return DONE;
  }
  return rejudgeAgain(task, 'the state of its packs forbids it');
}

/** The next look at what is held. */
export const rejudgeAgain = (task: TaskOf<'rejudge_at_gate' | 'rejudge_suspension'>, error: string): TaskResult =>
  lookTenthLater(task, { since: task.payload.heldAt, firstMs: REJUDGE_FIRST_MS, error });

/** Undefined where nothing is known that was not known when it was held. */
async function findingNow(
  sequence: Sequence,
  registration: Registration,
  holdKnownAt: string,
): Promise<GateFinding | undefined> {
  const isOn = sequence.policyOf(registration.docType) === 'refuse';
  if (!isOn) return { packs: [], packCount: 0, knownAt: holdKnownAt };
  const finding = await sequence.judge(registration);
  return finding !== undefined && BigInt(finding.knownAt) > BigInt(holdKnownAt) ? finding : undefined;
}
