import { isAboutStart, type GroupEvent, type GroupHalted, type GroupRegistered, type StartEvent } from '#domain';
import { type RecordedEvent, typedEvent } from '#event-store';
import { defined, neverReached } from '#kernel';
import { changedHolds, waivedIn, withWait } from '../document-outcomes/holds.js';
import { DOCUMENT_GROUP, type GroupRow } from './row.js';

/**
 * The row after one more event of its group. Pure. An event that the row already holds changes nothing. Throws on an
 * event type that it does not know and on an event before the registration.
 */
export function foldGroup(row: GroupRow | undefined, recorded: RecordedEvent): GroupRow {
  const event = typedEvent<GroupEvent>(recorded);
  if (row !== undefined && recorded.position <= row.position) return row;
  if (event.type === 'GroupRegistered') return registered(event, recorded);
  if (row === undefined)
    throw new Error(
      `${recorded.type} at position ${recorded.position} of ${recorded.stream} comes before GroupRegistered`,
    );
  const changes = isAboutStart(event)
    ? startChanges(event, recorded.recordedAt)
    : otherChanges(row, event, recorded.recordedAt);
  return { ...row, ...changes, position: recorded.position };
}

function registered({ data }: GroupRegistered, recorded: RecordedEvent): GroupRow {
  return {
    ...DOCUMENT_GROUP.nulls,
    groupId: data.groupId,
    registeredPosition: recorded.position,
    position: recorded.position,
    commandId: data.commandId,
    reference: data.reference ?? null,
    account: data.account,
    kind: data.kind,
    phase: 'sending',
    waitingFor: [],
    heldFor: [],
    memberCount: data.members.length,
    sentCount: 0,
    endedCount: 0,
    documentSha256: data.original?.documentSha256 ?? null,
    itemCount: data.members.reduce((sum, one) => sum + one.itemCount, 0),
    resumes: data.resumes?.groupId ?? null,
    registeredAt: recorded.recordedAt,
  };
}

function startChanges(event: StartEvent, at: Date): Partial<GroupRow> {
  switch (event.type) {
    case 'GroupCheckPassed':
      return { phase: 'checking', problem: null };
    case 'GroupCheckDenied':
      return { phase: 'checking', problem: event.data.reason };
    case 'GroupStartAttempted':
      return { phase: 'starting', problem: null };
    case 'GroupStarted':
      // Also where a person had ended it, and the registry shows that it has begun.
      return { phase: 'started', problem: null, startedAt: at, halt: null, stoppedBy: null };
    case 'GroupStartRefused':
      return { problem: event.data.text === '' ? event.data.code : event.data.text };
    case 'GroupStartNotDelivered':
      return { phase: 'checking', problem: event.data.reason };
    case 'GroupStartUnconfirmed':
      return { phase: 'unconfirmed', problem: event.data.reason };
    case 'GroupStartNotSeen':
      return {};
    case 'GroupStartAbsenceProven':
      return { phase: 'checking' };
    default:
      return neverReached(event, 'group event');
  }
}

function otherChanges(
  row: GroupRow,
  event: Exclude<GroupEvent, GroupRegistered | StartEvent>,
  at: Date,
): Partial<GroupRow> {
  switch (event.type) {
    case 'GroupWaiting':
      return withWait(row, event.data, at);
    case 'GroupPredecessorConcluded':
      return changedHolds(row, { predecessor: event.data.requestId });
    case 'GroupItemWaitLifted':
      return changedHolds(row, { predecessor: event.data.for.requestId });
    case 'GroupHeld':
      return changedHolds(row, { hold: event.data.hold, at });
    case 'GroupHoldWaived':
    case 'GroupHoldLapsed':
      return changedHolds(row, waivedIn(event.data));
    case 'GroupReleased':
      return { phase: 'sending', waitingFor: [], heldFor: [] };
    case 'MemberSent': {
      const sentCount = row.sentCount + 1;
      return { sentCount, ...(sentCount === row.memberCount && row.phase === 'sending' ? { phase: 'checking' } : {}) };
    }
    case 'MemberConcluded':
      return { endedCount: row.endedCount + 1 };
    case 'MemberRevised':
      return {};
    case 'GroupHalted':
      return halted(event.data);
    case 'GroupHaltLifted':
      return { phase: 'started', halt: null, stoppedBy: null };
    case 'GroupConcluded':
    case 'GroupConclusionRevised':
      return { phase: 'concluded', outcome: event.data.outcome, concludedAt: at };
    case 'GroupResumed':
      return { resumedBy: event.data.by.groupId };
    default:
      return neverReached(event, 'group event');
  }
}

function halted({ cause, member, predecessor, text }: GroupHalted['data']): Partial<GroupRow> {
  const by = member ?? predecessor;
  return {
    phase: 'halted',
    halt: cause,
    waitingFor: [],
    heldFor: [],
    stoppedBy: by === undefined ? null : `${by.commandId} ${by.outcome}`,
    ...defined({ problem: text }),
  };
}
