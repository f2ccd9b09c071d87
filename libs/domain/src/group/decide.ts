import { defined, neverReached } from '#kernel';
import type { LookUpFacts } from '../attempt/decide.js';
import type { AfterHold, DocumentOutcome, FailureCause } from '../document/events.js';
import { decidedHolds, isFreeWithout, judgeNews, type HoldDecision, type PredecessorNews } from '../document/hold.js';
import type { GroupEvent, HaltCause } from './events.js';
import { halted } from './halt.js';
import { beginStart, recordCheck, recordLook, recordStartAnswer, type CheckAnswer, type StartAnswer } from './start.js';
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
  | ({ type: 'WaiveHolds' } & HoldDecision)
  | ({ type: 'EndHeld' } & HoldDecision)
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
  | { type: 'RecordStartAnswer'; attempt: number; answer: StartAnswer }
  /** `begun`: a member shows that the registry works on the group. */
  | ({ type: 'RecordLook'; attempt: number; begun: boolean } & LookUpFacts)
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
    case 'NoteMemberSent':
      return noteMemberSent(state, command);
    case 'NoteMemberConcluded':
      return noteMemberConcluded(state, command);
    case 'RecordCheck':
      return recordCheck(state, command);
    case 'BeginStart':
      return state.phase === 'startable' ? beginStart(state) : [];
    case 'RecordStartAnswer':
      return recordStartAnswer(state, command);
    case 'RecordLook':
      return recordLook(state, command);
    case 'NoteResumption':
      return state.phase === 'concluded' && state.halt !== undefined && state.resumedBy === undefined
        ? [{ type: 'GroupResumed', data: { by: command.by } }]
        : [];
    default:
      return neverReached(command, 'group command');
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
  const endsAtOnce = state.registration.members.every(({ docType }) => endAtOnceDocTypes.includes(docType));
  return [noted, endsAtOnce ? haltedFor(state, hold) : { type: 'GroupHeld', data: { hold } }];
}

const haltedFor = (state: RegisteredGroup, hold: AfterHold): GroupEvent =>
  halted(state, 'predecessor_failed', { predecessor: { ...hold.for, outcome: hold.outcome } });

function waiveHolds(state: RegisteredGroup, command: HoldDecision): GroupEvent[] {
  const holds = state.phase === 'waiting' ? decidedHolds(state, command) : [];
  if (state.phase !== 'waiting' || holds.length === 0) return [];
  const waived: GroupEvent = { type: 'GroupHoldWaived', data: { holds } };
  return isFreeWithout(state, holds) ? [waived, { type: 'GroupReleased', data: {} }] : [waived];
}

function endHeld(state: RegisteredGroup, command: HoldDecision): GroupEvent[] {
  const [hold] = state.phase === 'waiting' ? decidedHolds(state, command) : [];
  return hold === undefined ? [] : [haltedFor(state, hold)];
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
  const stopped = haltOf(state) !== undefined || state.phase === 'concluded' ? undefined : stops(command);
  const halt =
    stopped === undefined
      ? []
      : [halted(state, stopped, { member: { commandId: member.commandId, requestId, index, outcome } })];
  return [concluded, ...halt, ...conclusion(members, stopped ?? haltOf(state)?.cause)];
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
  return cause === 'send_refused' ? 'member_not_sent' : 'member_failed';
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
