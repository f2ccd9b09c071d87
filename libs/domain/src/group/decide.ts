import { defined, neverReached, type Sha256 } from '#kernel';
import type { LookUpFacts } from '../attempt/decide.js';
import type { WaitCommand } from '../document/decide-wait.js';
import {
  ACCOMPLISHED_FACTS,
  type DocumentOutcome,
  type DocumentReference,
  type FailureCause,
  type PredecessorHold,
} from '../document/events.js';
import {
  decidedBy,
  isForPredecessor,
  isFreeWithout,
  judgeNews,
  itemWaitFor,
  lapsing,
  newItemPredecessors,
  NO_WAIT,
  type HoldDecision,
  type ItemWaitNews,
  type Lapse,
  type PredecessorNews,
} from '../document/hold.js';
import type { GroupEvent, GroupHalted, HaltCause } from './events.js';
import { begunAfterEnd, endByPerson, halted, haltedAgain, type PersonEnd } from './halt.js';
import {
  beginStart,
  recordCheck,
  recordLook,
  recordStartAnswer,
  stopStart,
  type CheckAnswer,
  type StartAnswer,
} from './start.js';
import {
  haltOf,
  outcomeOf,
  type GroupRegistration,
  type GroupState,
  type Member,
  type RegisteredGroup,
} from './state.js';

/** What may be asked of a group. Answers of the registry come as commands too: what happened is decided here, once. */
export type GroupCommand =
  | { type: 'Register'; registration: GroupRegistration }
  /** A group is ended at once, and not held, when all of its members are of such types. */
  | ({ type: 'NotePredecessor' } & PredecessorNews & { endAtOnceDocTypes?: readonly number[] })
  | WaitCommand
  | { type: 'NoteMemberSent'; requestId: string; documentId: string }
  /** `partialStops`: the profile's rule whether a partial result stops a group as an error does. */
  | {
      type: 'NoteMemberConcluded';
      requestId: string;
      outcome: DocumentOutcome;
      cause?: FailureCause;
      /** Of the event in the member's stream that says so. */ version?: number;
      partialStops: boolean;
    }
  | ({ type: 'RecordCheck' } & CheckAnswer)
  | { type: 'BeginStart' }
  /** Packs of it are suspended by now: `text` says which. */
  | { type: 'StopStart'; text: string }
  | { type: 'RecordStartAnswer'; attempt: number; answer: StartAnswer }
  /** `begun`: a member shows that the registry works on the group. */
  | ({ type: 'RecordLook'; attempt: number; begun: boolean } & LookUpFacts)
  | ({ type: 'EndByPerson' } & PersonEnd)
  /** After a person ended it: a member shows that the registry works, or has worked, on the group. */
  | { type: 'RecordBegun'; answerSha256: Sha256 }
  | { type: 'NoteResumption'; by: { groupId: string; commandId: string } };

/**
 * The events that follow from a command in a state; none when the command says nothing new, which makes every repeat
 * harmless.
 */
export function decideGroup(state: GroupState, command: GroupCommand): GroupEvent[] {
  if (command.type === 'Register') return state.phase === 'absent' ? register(command.registration) : [];
  if (state.phase === 'absent') return [];
  switch (command.type) {
    case 'NotePredecessor':
      return notePredecessor(state, command);
    case 'WaiveHolds':
      return waiveHolds(state, command);
    case 'EndHeld':
      return endHeld(state, command);
    case 'WaitForItems':
      return waitForItems(state, command);
    case 'LiftItemWait':
      return liftItemWait(state, command.requestId);
    case 'LapseHolds':
      return lapseHolds(state, command);
    case 'RefuseRing':
      return refuseRing(state, command.ring);
    case 'NoteMemberSent':
      return noteMemberSent(state, command);
    case 'NoteMemberConcluded':
      return noteMemberConcluded(state, command);
    case 'RecordCheck':
    case 'BeginStart':
    case 'StopStart':
    case 'RecordStartAnswer':
    case 'RecordLook':
    case 'EndByPerson':
    case 'RecordBegun':
      return decideStart(state, command);
    case 'NoteResumption':
      return state.phase === 'concluded' && state.halt !== undefined && state.resumedBy === undefined
        ? [{ type: 'GroupResumed', data: { by: command.by } }]
        : [];
    default:
      return neverReached(command, 'group command');
  }
}

type StartCommand = Extract<
  GroupCommand,
  { type: `Record${'Check' | 'StartAnswer' | 'Look' | 'Begun'}` | 'BeginStart' | 'StopStart' | 'EndByPerson' }
>;

/** Whether it begins, and what is said of that. */
function decideStart(state: RegisteredGroup, command: StartCommand): GroupEvent[] {
  switch (command.type) {
    case 'RecordCheck':
      return recordCheck(state, command);
    case 'BeginStart':
      return state.phase === 'startable' ? beginStart(state) : [];
    case 'StopStart':
      return state.phase === 'startable' ? [stopStart(state, command.text)] : [];
    case 'RecordStartAnswer':
      return recordStartAnswer(state, command);
    case 'RecordLook':
      return recordLook(state, command);
    case 'EndByPerson':
      return endByPerson(state, command);
    case 'RecordBegun':
      return begunAfterEnd(state, { seenByStatus: true, answerSha256: command.answerSha256 });
    default:
      return neverReached(command, 'command about a start');
  }
}

function register(registration: GroupRegistration): GroupEvent[] {
  const registered: GroupEvent = { type: 'GroupRegistered', data: registration };
  return registration.after.length === 0
    ? [registered]
    : [registered, { type: 'GroupWaiting', data: { for: registration.after } }];
}

function notePredecessor(
  state: RegisteredGroup,
  command: Extract<GroupCommand, { type: 'NotePredecessor' }>,
): GroupEvent[] {
  const judged = state.phase === 'waiting' ? judgeNews(state, command) : undefined;
  if (judged === undefined) return [];
  const { requestId, outcome, by, endAtOnceDocTypes = [] } = command;
  const noted: GroupEvent = {
    type: 'GroupPredecessorConcluded',
    data: { requestId, outcome, ...defined({ by }) },
  };
  if (judged.kind === 'lifted') return judged.isLast ? [noted, { type: 'GroupReleased', data: {} }] : [noted];
  const { hold } = judged;
  const endsAtOnce =
    hold.kind === 'after' && state.registration.members.every(({ docType }) => endAtOnceDocTypes.includes(docType));
  return [noted, endsAtOnce ? haltedFor(state, hold) : { type: 'GroupHeld', data: { hold } }];
}

const haltedFor = (state: RegisteredGroup, hold: PredecessorHold): GroupEvent =>
  halted(state, 'predecessor_failed', { predecessor: { ...referenceOf(hold.for), outcome: hold.outcome } });

const referenceOf = ({ commandId, requestId }: DocumentReference): DocumentReference => ({ commandId, requestId });

/** Whatever is planned for it, no member was sent. */
const isUntried = (state: RegisteredGroup): state is Extract<RegisteredGroup, { phase: 'waiting' | 'sending' }> =>
  state.phase === 'waiting' ||
  (state.phase === 'sending' &&
    state.members.every(({ documentId, outcome }) => (documentId ?? outcome) === undefined));

function waitForItems(state: RegisteredGroup, { round, for: named }: ItemWaitNews): GroupEvent[] {
  if (!isUntried(state) || round <= (state.itemWaits ?? 0)) return [];
  const predecessors = newItemPredecessors(state.phase === 'waiting' ? state : NO_WAIT, named);
  const { account } = state.registration;
  return [{ type: 'GroupWaiting', data: { kind: 'items', account, round, for: predecessors } }];
}

function liftItemWait(state: RegisteredGroup, requestId: string): GroupEvent[] {
  const found = state.phase === 'waiting' ? itemWaitFor(state, requestId) : undefined;
  if (found === undefined) return [];
  const lifted: GroupEvent = { type: 'GroupItemWaitLifted', data: { for: found.for } };
  return found.isLast ? [lifted, { type: 'GroupReleased', data: {} }] : [lifted];
}

/** Only where every member reports an accomplished fact: a document that was split, for one. */
function lapseHolds(state: RegisteredGroup, lapse: Lapse): GroupEvent[] {
  const isFact = state.registration.members.every(({ docType }) => ACCOMPLISHED_FACTS.includes(docType));
  const data = state.phase === 'waiting' && isFact ? lapsing(state, lapse) : undefined;
  if (state.phase !== 'waiting' || data === undefined) return [];
  const lapsed: GroupEvent = { type: 'GroupHoldLapsed', data };
  return isFreeWithout(state, data) ? [lapsed, { type: 'GroupReleased', data: {} }] : [lapsed];
}

function refuseRing(state: RegisteredGroup, ring: DocumentReference[]): GroupEvent[] {
  if (!isUntried(state)) return [];
  const text = `it would wait for itself: ${ring.map(({ commandId }) => commandId).join(', ')} wait for it`;
  return [halted(state, 'waits_in_ring', { text })];
}

function waiveHolds(state: RegisteredGroup, command: HoldDecision): GroupEvent[] {
  const decided = state.phase === 'waiting' ? decidedBy(state, command) : undefined;
  if (state.phase !== 'waiting' || decided === undefined) return [];
  const data = { ...decided, holds: decided.holds.filter(isForPredecessor) };
  const waived: GroupEvent = { type: 'GroupHoldWaived', data };
  return isFreeWithout(state, data) ? [waived, { type: 'GroupReleased', data: {} }] : [waived];
}

function endHeld(state: RegisteredGroup, command: HoldDecision): GroupEvent[] {
  const decided = state.phase === 'waiting' ? decidedBy(state, command) : undefined;
  const [hold] = decided?.holds.filter(isForPredecessor) ?? [];
  if (hold !== undefined) return [haltedFor(state, hold)];
  const [missing] = decided?.missing ?? [];
  if (missing === undefined) return [];
  return [halted(state, 'predecessor_failed', { text: `${missing.commandId} never came` })];
}

function noteMemberSent(
  state: RegisteredGroup,
  { requestId, documentId }: { requestId: string; documentId: string },
): GroupEvent[] {
  const index = state.members.findIndex((one) => one.requestId === requestId);
  if (index < 0 || state.members[index]?.documentId !== undefined) return [];
  const next = state.members[index + 1];
  return [
    {
      type: 'MemberSent',
      data: { index, requestId, documentId, ...(next === undefined ? {} : { nextRequestId: next.requestId }) },
    },
  ];
}

type NoteMemberConcluded = Extract<GroupCommand, { type: 'NoteMemberConcluded' }>;

function noteMemberConcluded(state: RegisteredGroup, command: NoteMemberConcluded): GroupEvent[] {
  const { requestId, outcome, cause, version: memberVersion } = command;
  const index = state.members.findIndex((one) => one.requestId === requestId);
  const member = state.members[index];
  if (member === undefined || !isNews(member, command)) return [];
  const members = state.members.with(index, { ...member, outcome });
  if (member.outcome !== undefined)
    return revised(state, { ...command, index, members, previousOutcome: member.outcome });
  const concluded: GroupEvent = {
    type: 'MemberConcluded',
    data: { index, requestId, outcome, ...defined({ cause, memberVersion }) },
  };
  const before = haltOf(state);
  const halt = before === undefined && state.phase !== 'concluded' ? haltAt(state, command, index) : undefined;
  return [concluded, ...(halt === undefined ? [] : [halt]), ...conclusion(members, (halt?.data ?? before)?.cause)];
}

/** The halt that follows when this member ends so. What ended with a halt that is over by now brings that back. */
function haltAt(state: RegisteredGroup, command: NoteMemberConcluded, index: number): GroupHalted | undefined {
  const { requestId, outcome, cause } = command;
  if (cause === 'not_processed' && state.phase === 'started' && state.lifted !== undefined)
    return haltedAgain(state, state.lifted, requestId);
  const { commandId } = state.members[index] as Member;
  const why = stops(command);
  return why && halted(state, why, { member: { commandId, requestId, index, outcome } });
}

/**
 * Notes are tasks, and tasks may overtake each other: what an earlier event of the member says undoes nothing that a
 * later one said.
 */
function isNews(member: Member, { version = 0, outcome }: NoteMemberConcluded): boolean {
  const newerBy = version - (member.version ?? 0);
  return newerBy > 0 || (newerBy === 0 && member.outcome !== outcome);
}

/** Why this conclusion stops its group; undefined when the next member's turn comes (registry-interface 3.2). */
function stops({ outcome, cause, partialStops }: NoteMemberConcluded): HaltCause | undefined {
  if (outcome === 'accepted') return undefined;
  if (outcome === 'partial') return partialStops ? 'member_partial' : undefined;
  if (outcome === 'rejected') return 'member_rejected';
  return cause === 'send_refused' || cause === 'packs_forbid' ? 'member_not_sent' : 'member_failed';
}

function conclusion(members: Pick<Member, 'outcome'>[], halt: HaltCause | undefined): GroupEvent[] {
  if (members.some((one) => one.outcome === undefined)) return [];
  return [{ type: 'GroupConcluded', data: { outcome: outcomeOf(members), ...defined({ halt }) } }];
}

/**
 * A member that counted as failed has a receipt after all. The group goes on if nothing was concluded on its account.
 */
function revised(
  state: RegisteredGroup,
  of: NoteMemberConcluded & { index: number; members: Member[]; previousOutcome: DocumentOutcome },
): GroupEvent[] {
  const { index, requestId, outcome, previousOutcome, version: memberVersion } = of;
  const news: GroupEvent = {
    type: 'MemberRevised',
    data: { index, requestId, outcome, previousOutcome, ...defined({ memberVersion }) },
  };
  if (state.phase === 'concluded') {
    const whole = outcomeOf(of.members);
    const halt = defined({ halt: state.halt?.cause });
    return whole === state.outcome
      ? [news]
      : [news, { type: 'GroupConclusionRevised', data: { outcome: whole, previousOutcome: state.outcome, ...halt } }];
  }
  const lifted =
    state.phase === 'halted' &&
    state.halt.member?.requestId === requestId &&
    stops(of) === undefined &&
    state.members.every((one) => one.cause !== 'not_processed');
  return lifted ? [news, { type: 'GroupHaltLifted', data: { requestId, outcome } }] : [news];
}
