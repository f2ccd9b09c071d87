import { neverReached } from '#kernel';
import type { DocumentOutcome, FailureCause } from '../document/events.js';
import { endedBadly, withHold, withoutHolds, withoutPredecessor, type Waiting } from '../document/hold.js';
import {
  isAboutStart,
  type GroupEvent,
  type GroupHalted,
  type GroupRegistered,
  type HaltCause,
  type MemberConcluded,
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

/**
 * Starts before the present one that may have reached the registry, and were proven not to have begun the group; absent
 * for none.
 */
interface Doubts {
  doubts?: number;
}

/** Where a group stands, as a union of named phases. */
export type GroupState =
  | { phase: 'absent' }
  | (Registered & Waiting & { phase: 'waiting' })
  /** Its members are sent, one after the other. */
  | (Registered & { phase: 'sending' })
  /**
   * The registry has all members and is asked whether it can begin. `attempts` counts starts that were tried, none of
   * which can still begin it.
   */
  | (Registered & Doubts & { phase: 'checking'; checks: number; attempts: number })
  | (Registered & Doubts & { phase: 'startable'; attempts: number })
  | (Registered & Doubts & { phase: 'starting'; attempt: number })
  /** Nobody knows whether it has begun; the members' statuses tell. */
  | (Registered & Doubts & { phase: 'unconfirmed'; attempt: number; lookUps: number })
  | (Registered & { phase: 'started' })
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
      return { ...group, phase: 'waiting', waitingFor: event.data.for, holds: [] };
    case 'GroupPredecessorConcluded':
    case 'GroupHeld':
    case 'GroupHoldWaived':
      return state.phase === 'waiting' ? { ...state, ...evolveWaiting(state, event) } : state;
    case 'GroupReleased':
      return { ...group, phase: 'sending' };
    case 'MemberSent':
      return afterSent(withMember(state, event.data.index, { documentId: event.data.documentId }));
    case 'MemberConcluded':
    case 'MemberRevised':
      return withMember(state, event.data.index, endOf(event.data));
    case 'GroupHaltLifted':
      return { ...group, phase: 'started' };
    case 'GroupHalted':
      return { ...group, phase: 'halted', halt: event.data };
    case 'GroupConcluded':
    case 'GroupConclusionRevised':
      return {
        ...group,
        phase: 'concluded',
        outcome: event.data.outcome,
        halt: haltOf(state),
        ...(state.phase === 'concluded' && state.resumedBy !== undefined ? { resumedBy: state.resumedBy } : {}),
      };
    case 'GroupResumed':
      return state.phase === 'concluded' ? { ...state, resumedBy: event.data.by } : state;
    default:
      return neverReached(event, 'group event');
  }
}

function evolveWaiting(
  waiting: Waiting,
  event: Extract<GroupEvent, { type: 'GroupPredecessorConcluded' | 'GroupHeld' | 'GroupHoldWaived' }>,
): Waiting {
  switch (event.type) {
    case 'GroupPredecessorConcluded':
      return withoutPredecessor(waiting, event.data.requestId);
    case 'GroupHeld':
      return withHold(waiting, event.data.hold);
    case 'GroupHoldWaived':
      return withoutHolds(waiting, event.data.holds);
    default:
      return neverReached(event, 'event of a waiting group');
  }
}

function evolveStart(state: RegisteredGroup, event: StartEvent): GroupState {
  const { registration, members } = state;
  const group = { registration, members, ...doubtsOf(state) };
  switch (event.type) {
    case 'GroupCheckPassed':
      return { ...group, phase: 'startable', attempts: attemptsOf(state) };
    case 'GroupCheckDenied':
      return { ...group, phase: 'checking', checks: event.data.check, attempts: attemptsOf(state) };
    case 'GroupStartAttempted':
      return { ...group, phase: 'starting', attempt: event.data.attempt };
    case 'GroupStarted':
      return { registration, members, phase: 'started' };
    case 'GroupStartNotDelivered':
      return { ...group, phase: 'startable', attempts: event.data.attempt };
    case 'GroupStartAbsenceProven':
      return {
        ...group,
        phase: 'checking',
        checks: 0,
        attempts: event.data.attempt,
        doubts: (doubtsOf(state).doubts ?? 0) + 1,
      };
    case 'GroupStartUnconfirmed':
      return { ...group, phase: 'unconfirmed', attempt: event.data.attempt, lookUps: 0 };
    case 'GroupStartNotSeen':
      return { ...group, phase: 'unconfirmed', attempt: event.data.attempt, lookUps: event.data.lookUp };
    case 'GroupStartRefused':
      return state;
    default:
      return neverReached(event, 'group event');
  }
}

function withMember(state: RegisteredGroup, index: number, news: Partial<Member>): RegisteredGroup {
  return { ...state, members: state.members.map((one, i) => (i === index ? { ...one, ...news } : one)) };
}

const endOf = ({ outcome, cause, memberVersion: version }: MemberConcluded['data']): Partial<Member> => ({
  outcome,
  ...(cause === undefined ? {} : { cause }),
  ...(version === undefined ? {} : { version }),
});

const afterSent = (state: RegisteredGroup): GroupState =>
  state.phase === 'sending' && state.members.every((one) => one.documentId !== undefined)
    ? { phase: 'checking', registration: state.registration, members: state.members, checks: 0, attempts: 0 }
    : state;

const doubtsOf = (state: RegisteredGroup): Doubts =>
  'doubts' in state && state.doubts !== undefined ? { doubts: state.doubts } : {};
const attemptsOf = (state: RegisteredGroup): number => ('attempts' in state ? state.attempts : 0);
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
