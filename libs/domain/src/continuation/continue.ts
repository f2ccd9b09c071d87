import { defined, neverReached } from '#kernel';
import { notePredecessor } from '../document/dependents.js';
import type { DocumentReference } from '../document/events.js';
import { afterHolds } from '../document/first-send.js';
import { gateHoldOf, suspensionHoldOf } from '../document/gate.js';
import type { Waiting } from '../document/hold.js';
import type { Dependent } from '../document/planned-task.js';
import type { DocumentState, ToSend } from '../document/state.js';
import type { Uploading } from '../document/upload.js';
import { endPayload } from '../group/halt.js';
import type { GroupState, Member } from '../group/state.js';
import type { PayloadOf, PlannedTask, TaskKind } from '../task/task.js';

/** Under which keys an operator's re-planning goes, and when its tasks are due. */
export interface Replanning {
  /** New each time: an old key is a silent no-op for ever. */
  id: string;
  at: Date;
}

/**
 * The tasks that carry a document on from where it stands, for one whose tasks were lost: the same that its saga plans,
 * under new keys. One that waits asks how what it comes after has ended. None for a member whose group has its turn,
 * and none after the end. Pure.
 */
export function continueDocument(state: DocumentState, { id, at }: Replanning): PlannedTask[] {
  if (state.phase === 'absent') return [];
  const { requestId, account, group } = state.registration;
  const own = { requestId, account };
  const planned = placed(requestId, { id, at });
  const task = <Kind extends TaskKind>(kind: Kind) => planned(kind, `${account}/${kind}`);
  const lookUp = (place: { attempt: number; round?: number }): PlannedTask[] => [
    {
      ...planned('look_up', `${account}/find_by_request_id`),
      // The grace counts from here: when the attempt ended is not known any more.
      payload: { ...own, attemptEndedAt: at.toISOString(), ...place },
    },
  ];
  switch (state.phase) {
    case 'ready':
      return group !== undefined && state.send.attempt === 1 ? [] : [sendOf(state, { id, at })];
    case 'sending':
      return [sendOf(state, { id, at })];
    case 'unconfirmed':
      return lookUp({ attempt: state.send.attempt });
    case 'uploading':
      return state.finish.step === 'doubtful'
        ? lookUp(placeOf(state))
        : [{ ...task('upload'), payload: { ...own, ...placeOf(state) } }];
    case 'sent':
      return [{ ...task(isFinal(state) ? 'receipt' : 'status'), payload: { ...own, documentId: state.documentId } }];
    case 'waiting':
      return [...askPredecessors(own, state.waitingFor, { id, at }), ...askAtGate(own, state, { id, at })];
    case 'refused':
    case 'received':
    case 'concluded':
      return [];
    default:
      return neverReached(state, 'document state');
  }
}

/** What the tasks of one owner have in common: keys that were never used before, and all due at once. */
const placed =
  (owner: string, { id, at }: Replanning) =>
  <Kind extends TaskKind>(kind: Kind, lane: string): { key: string; kind: Kind; lane: string; dueAt: Date } => ({
    key: `${kind}:${owner}:replanned:${id}`,
    kind,
    lane,
    dueAt: at,
  });

/** It counts as planned after all the holds so far. */
function sendOf({ registration, send: { attempt }, gate }: ToSend, replanning: Replanning): PlannedTask<'send'> {
  const { requestId, account } = registration;
  const { key, ...task } = placed(requestId, replanning)('send', `${account}/send`);
  return { ...task, key: `${key}${afterHolds(gate?.holds ?? 0)}`, payload: { requestId, account, attempt } };
}

/** Each of these asks the log, and says nothing while its predecessor has not ended. */
function askPredecessors(dependent: Dependent, waitingFor: DocumentReference[], { id, at }: Replanning): PlannedTask[] {
  return waitingFor.map((one) => {
    const task = notePredecessor(dependent, one.requestId, { dueAt: at });
    return { ...task, key: `${task.key}:replanned:${id}` };
  });
}

/** Looks again at what the sequence gate, or a suspension, holds it for. */
function askAtGate(
  own: { requestId: string; account: string },
  waiting: Waiting,
  { id, at }: Replanning,
): PlannedTask[] {
  const task = placed(own.requestId, { id, at });
  const payloadOf = ({ knownAt }: { knownAt: string }) => ({ ...own, holdKnownAt: knownAt, heldAt: at.toISOString() });
  const gate = gateHoldOf(waiting);
  const suspension = suspensionHoldOf(waiting);
  return [
    ...(gate === undefined ? [] : [{ ...task('rejudge_at_gate', 'internal'), payload: payloadOf(gate) }]),
    ...(suspension === undefined
      ? []
      : [{ ...task('rejudge_suspension', 'internal'), payload: payloadOf(suspension) }]),
  ];
}

const placeOf = ({ attempt, finish }: Uploading): { attempt: number; round: number } => ({
  attempt,
  round: finish.attempt,
});
const isFinal = ({ status }: Extract<DocumentState, { phase: 'sent' }>): boolean =>
  status === 'processed' || status === 'failed_result_ready';

/** A member of a group with its own state. */
export interface MemberState {
  requestId: string;
  state: DocumentState;
  /** Version of its newest event. */
  version: number;
}

/**
 * The tasks that carry a group on, and those of its members whose turn it is. What a member's stream says and the group
 * has not heard is told to it first; the rest follows from that. Pure.
 */
export function continueGroup(state: GroupState, members: MemberState[], { id, at }: Replanning): PlannedTask[] {
  if (state.phase === 'absent') return [];
  const { groupId, account } = state.registration;
  const untold = state.members.flatMap((member) =>
    tellingOf(state.registration, { member, own: stateOf(members, member), id }),
  );
  if (untold.length > 0) return untold;
  const own = { groupId, account };
  const task = placed(groupId, { id, at });
  const carryOn = (those: MemberState[]) => those.flatMap(({ state: one }) => continueDocument(one, { id, at }));
  switch (state.phase) {
    case 'sending':
      return nextToSend(state.members, members, { id, at });
    case 'checking':
      return [{ ...task('group_check', `${account}/group_check`), payload: own }];
    case 'startable':
    case 'starting':
      return [{ ...task('group_start', `${account}/group_start`), payload: { ...own, attempt: state.start.attempt } }];
    case 'unconfirmed':
      return [
        {
          ...task('group_look', `${account}/status`),
          payload: { ...own, attempt: state.start.attempt, attemptEndedAt: at.toISOString() },
        },
      ];
    case 'started':
      return carryOn(members);
    case 'halted':
      return [
        ...carryOn(members.filter(({ requestId }) => !state.halt.rest.includes(requestId))),
        endOfRest(state, { id, at }),
      ];
    case 'waiting':
      return askPredecessors({ requestId: groupId, account, kind: 'group' }, state.waitingFor, { id, at });
    case 'concluded':
      return [];
    default:
      return neverReached(state, 'group state');
  }
}

/** The task that ends the members behind the halt. */
function endOfRest({ registration, halt }: Extract<GroupState, { phase: 'halted' }>, now: Replanning): PlannedTask {
  const { groupId, account } = registration;
  const end = placed(groupId, now)(halt.started ? 'settle_group' : 'conclude_members', `${account}/status`);
  return { ...end, payload: endPayload(registration, halt, now.at) };
}

const stateOf = (members: MemberState[], { requestId }: Member): MemberState | undefined =>
  members.find((one) => one.requestId === requestId);

/** What the group has not heard of a member: that the registry has it, how it ended, or that it ended otherwise. */
function tellingOf(
  { groupId, account }: { groupId: string; account: string },
  of: { member: Member; own: MemberState | undefined; id: string },
): PlannedTask[] {
  const { member, own, id } = of;
  if (own === undefined || !('registration' in own.state)) return [];
  const { requestId, state, version } = own;
  const task = (what: string, news: Partial<PayloadOf<'note_member'>>): PlannedTask => ({
    key: `note_member:${groupId}:${requestId}:${what}:replanned:${id}`,
    kind: 'note_member',
    lane: 'internal',
    dueAt: new Date(0),
    payload: { groupId, account, requestId, ...news },
  });
  const documentId = 'documentId' in state && state.phase !== 'uploading' ? state.documentId : undefined;
  const sent = documentId !== undefined && member.documentId === undefined ? [task('sent', { documentId })] : [];
  if (state.phase !== 'concluded' || member.outcome === state.outcome) return sent;
  const { outcome, cause } = state;
  return [...sent, task(outcome, { outcome, version, ...defined({ cause }) })];
}

/** Members are sent one after the other: the first that the registry has not. */
function nextToSend(inGroup: Member[], members: MemberState[], replanning: Replanning): PlannedTask[] {
  const next = inGroup.find((one) => one.documentId === undefined);
  const own = next === undefined ? undefined : stateOf(members, next);
  if (own === undefined || own.state.phase === 'absent') return [];
  if (own.state.phase !== 'ready' || own.state.send.attempt > 1) return continueDocument(own.state, replanning);
  return [sendOf(own.state, replanning)];
}
