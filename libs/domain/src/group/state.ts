import { defined, neverReached } from '#kernel';
import { evolveAttempt, FIRST_ATTEMPT, type Attempt } from '../attempt/attempt.js';
import type { DocumentOutcome, FailureCause } from '../document/events.js';
import { endedBadly, NO_WAIT, withHold, withoutDecided, withoutPredecessor, type Waiting } from '../document/hold.js';
import {
  isAboutStart,
  startStepOf,
  type GroupEvent,
  type GroupHalted,
  type GroupRegistered,
  type GroupWaiting,
  type HaltCause,
  type MemberConcluded,
  type MemberRevised,
  type StartEvent,
} from './events.js';

export type GroupRegistration = GroupRegistered['data'];
export type Halt = GroupHalted['data'];

export interface Member {
  requestId: string;
  commandId: string;
  documentId?: string;
  outcome?: DocumentOutcome;
  cause?: FailureCause;
  /** Of the event in its own stream by which it ended so. */
  version?: number;
}

interface Registered {
  registration: GroupRegistration;
  members: Member[];
}

/** Where a group stands, as a union of named phases. */
export type GroupState =
  | { phase: 'absent' }
  | (Registered & Waiting & { phase: 'waiting'; itemWaits?: number })
  /** Its members are sent, one after the other. */
  | (Registered & { phase: 'sending'; /** How often it was to wait for its items. */ itemWaits?: number })
  /** The registry has all members and is asked whether it can begin. */
  | (Registered & { phase: 'checking'; checks: number; start: Attempt })
  /** The phase names the step of the start; while it is `unconfirmed`, the members' statuses tell. */
  | (Registered & { phase: 'startable' | 'starting' | 'unconfirmed'; start: Attempt })
  | (Registered & { phase: 'started'; /** A halt that is over. */ lifted?: Halt })
  | (Registered & { phase: 'halted'; halt: Halt })
  | (Registered & {
      phase: 'concluded';
      outcome: DocumentOutcome;
      halt: Halt | undefined;
      resumedBy?: { groupId: string; commandId: string };
    });

export const NO_GROUP: GroupState = { phase: 'absent' };

export type RegisteredGroup = Exclude<GroupState, { phase: 'absent' }>;

/**
 * The state after one event. Throws on an event that cannot follow: the stream is damaged and must not be worked on.
 */
export function evolveGroup(state: GroupState, event: GroupEvent): GroupState {
  if (event.type === 'GroupRegistered') {
    if (state.phase !== 'absent') throw new Error(`GroupRegistered in phase ${state.phase}`);
    const members = event.data.members.map(({ requestId, commandId }) => ({ requestId, commandId }));
    return { phase: 'sending', registration: event.data, members };
  }
  if (state.phase === 'absent') throw new Error(`${event.type} before GroupRegistered`);
  return evolveRegistered(state, event);
}

function evolveRegistered(state: RegisteredGroup, event: Exclude<GroupEvent, GroupRegistered>): GroupState {
  const { registration, members } = state;
  const group = { registration, members };
  if (isAboutStart(event)) return evolveStart(state, event);
  switch (event.type) {
    case 'GroupWaiting':
      return waiting(state, event.data);
    case 'GroupPredecessorConcluded':
    case 'GroupHeld':
    case 'GroupHoldWaived':
    case 'GroupHoldLapsed':
    case 'GroupItemWaitLifted':
      return state.phase === 'waiting' ? { ...state, ...evolveWaiting(state, event) } : state;
    case 'GroupReleased':
      return { ...group, phase: 'sending', ...itemWaitsOf(state) };
    case 'MemberSent':
      return afterSent(withMember(state, event.data.index, { documentId: event.data.documentId }));
    case 'MemberConcluded':
      return withMember(state, event.data.index, endOf(event.data));
    case 'MemberRevised':
      return withRevised(state, event.data);
    case 'GroupHaltLifted':
      return { ...group, phase: 'started', ...defined({ lifted: haltOf(state) }) };
    case 'GroupHalted':
      return { ...group, phase: 'halted', halt: event.data };
    case 'GroupConcluded':
    case 'GroupConclusionRevised':
      return {
        ...group,
        phase: 'concluded',
        outcome: event.data.outcome,
        halt: haltOf(state),
        ...(state.phase === 'concluded' ? defined({ resumedBy: state.resumedBy }) : {}),
      };
    case 'GroupResumed':
      return state.phase === 'concluded' ? { ...state, resumedBy: event.data.by } : state;
    default:
      return neverReached(event, 'group event');
  }
}

const itemWaitsOf = (state: RegisteredGroup): { itemWaits?: number } =>
  'itemWaits' in state ? defined({ itemWaits: state.itemWaits }) : {};

/** A wait by items may come on top of another. */
function waiting(state: RegisteredGroup, wait: GroupWaiting['data']): GroupState {
  const { registration, members } = state;
  const { waitingFor, holds } = state.phase === 'waiting' ? state : NO_WAIT;
  return {
    registration,
    members,
    phase: 'waiting',
    waitingFor: [...waitingFor, ...wait.for],
    holds,
    ...(wait.kind === 'items' ? { itemWaits: wait.round } : itemWaitsOf(state)),
  };
}

function evolveWaiting(
  waiting: Waiting,
  event: Extract<
    GroupEvent,
    { type: 'GroupPredecessorConcluded' | 'GroupHeld' | 'GroupHoldWaived' | 'GroupHoldLapsed' | 'GroupItemWaitLifted' }
  >,
): Waiting {
  switch (event.type) {
    case 'GroupPredecessorConcluded':
      return withoutPredecessor(waiting, event.data.requestId);
    case 'GroupItemWaitLifted':
      return withoutPredecessor(waiting, event.data.for.requestId);
    case 'GroupHeld':
      return withHold(waiting, event.data.hold);
    case 'GroupHoldWaived':
    case 'GroupHoldLapsed':
      return withoutDecided(waiting, event.data);
    default:
      return neverReached(event, 'event of a waiting group');
  }
}

function evolveStart(state: RegisteredGroup, event: StartEvent): GroupState {
  const { registration, members } = state;
  const group = { registration, members };
  const before = 'start' in state ? state.start : FIRST_ATTEMPT;
  switch (event.type) {
    case 'GroupCheckPassed':
      return { ...group, phase: 'startable', start: before };
    case 'GroupCheckDenied':
      return { ...group, phase: 'checking', checks: event.data.check, start: before };
    case 'GroupStarted':
      return { ...group, phase: 'started', ...defined({ lifted: haltOf(state) }) };
    case 'GroupStartRefused':
      return state;
    case 'GroupStartAbsenceProven':
      return { ...group, phase: 'checking', checks: 0, start: evolveAttempt(before, startStepOf(event)) };
    case 'GroupStartAttempted':
    case 'GroupStartNotDelivered':
    case 'GroupStartUnconfirmed':
    case 'GroupStartNotSeen': {
      const start = evolveAttempt(before, startStepOf(event));
      return { ...group, phase: PHASES[start.step], start };
    }
    default:
      return neverReached(event, 'group event');
  }
}

const PHASES = { open: 'startable', calling: 'starting', doubtful: 'unconfirmed' } as const;

function withMember(state: RegisteredGroup, index: number, news: Partial<Member>): RegisteredGroup {
  return { ...state, members: state.members.map((one, i) => (i === index ? { ...one, ...news } : one)) };
}

/** It did not end by what it had counted as failed for. */
function withRevised(state: RegisteredGroup, data: MemberRevised['data']): RegisteredGroup {
  const { cause: _, ...member } = state.members[data.index] as Member;
  return { ...state, members: state.members.with(data.index, { ...member, ...endOf(data) }) };
}

const endOf = ({
  outcome,
  cause,
  memberVersion: version,
}: Pick<MemberConcluded['data'], 'outcome' | 'cause' | 'memberVersion'>): Pick<
  Member,
  'outcome' | 'cause' | 'version'
> => ({
  outcome,
  ...defined({ cause, version }),
});

const afterSent = (state: RegisteredGroup): GroupState =>
  state.phase === 'sending' && state.members.every((one) => one.documentId !== undefined)
    ? { phase: 'checking', registration: state.registration, members: state.members, checks: 0, start: FIRST_ATTEMPT }
    : state;

export const haltOf = (state: RegisteredGroup): Halt | undefined => ('halt' in state ? state.halt : undefined);

/**
 * How the whole ended. One of its members counts for it only as it would for a document of which some items were
 * refused.
 */
export function outcomeOf(members: readonly { outcome?: DocumentOutcome }[]): DocumentOutcome {
  const outcomes = members.map((one) => one.outcome);
  if (outcomes.every((one) => one === 'accepted')) return 'accepted';
  if (outcomes.some((one) => one === 'accepted' || one === 'partial')) return 'partial';
  return outcomes.includes('rejected') ? 'rejected' : 'failed';
}

/**
 * What those that come after a group are told: a group that halted has not succeeded, unless every member turned out
 * accepted in the end.
 */
export const outcomeForDependents = ({
  outcome,
  halt,
}: {
  outcome: DocumentOutcome;
  halt?: HaltCause;
}): DocumentOutcome => (halt === undefined || outcome === 'rejected' || outcome === 'accepted' ? outcome : 'failed');

/**
 * Whether a resumption takes on all of a group that did not end well: the member that stopped it, and what was not
 * processed. Any other bad end takes a person to mend.
 */
export const isWhollyResumable = ({
  members,
  halt,
}: Pick<Extract<GroupState, { phase: 'concluded' }>, 'members' | 'halt'>): boolean =>
  members.every(
    ({ outcome, cause }, index) =>
      outcome === undefined || !endedBadly(outcome) || index === halt?.member?.index || cause === 'not_processed',
  );

/**
 * The member at which a halted group stopped, and as what it counts now; none where no member stopped it, or where that
 * one turned out well since.
 */
export function stopperOf({
  members,
  halt,
}: Pick<Extract<GroupState, { phase: 'concluded' }>, 'members' | 'halt'>): Halt['member'] {
  if (halt?.member === undefined) return undefined;
  const { outcome = halt.member.outcome } = members[halt.member.index] ?? {};
  return endedBadly(outcome) || halt.cause === 'member_partial' ? { ...halt.member, outcome } : undefined;
}

/** Whether a member that stopped its group, which is over, has turned out well since. */
function hasTurnedTooLate(state: GroupState): boolean {
  const stopper = state.phase === 'concluded' ? state.halt?.member : undefined;
  if (state.phase !== 'concluded' || stopper === undefined) return false;
  const { outcome = stopper.outcome } = state.members[stopper.index] ?? {};
  return !endedBadly(outcome) && outcome !== stopper.outcome;
}

/**
 * Members of a group that is over, which were ended as not processed and may be processed all the same: the one that
 * stopped it has turned, or a person ended it after a start of unknown outcome.
 */
export const endedAnyway = (state: GroupState): Member[] =>
  state.phase === 'concluded' && (hasTurnedTooLate(state) || state.halt?.attempt !== undefined) ? endedIn(state) : [];

const endedIn = ({ members }: Pick<RegisteredGroup, 'members'>): Member[] =>
  members.filter((one) => one.cause === 'not_processed' && one.documentId !== undefined);

/**
 * Whether the registry may still process what was ended when a person ended the group: that it does not is the word of
 * that person, or a receipt of another member shows that the group has begun after all.
 */
export const mayBeProcessedYet = ({
  members,
  halt,
}: Pick<Extract<GroupState, { phase: 'concluded' }>, 'members' | 'halt'>): boolean =>
  members.some((one) => one.cause === 'not_processed') &&
  (halt?.cause === 'ended_in_work' ||
    (halt?.cause === 'ended_by_person' && members.some((one) => (one.outcome ?? 'failed') !== 'failed')));

/** Whether a resumption sends this member again, or its correction: it stopped the group, or was not processed. */
export const isResumed = (
  group: Pick<Extract<GroupState, { phase: 'concluded' }>, 'members' | 'halt'>,
  index: number,
): boolean => index === stopperOf(group)?.index || group.members[index]?.cause === 'not_processed';
