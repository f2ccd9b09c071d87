import { neverReached, type Sha256 } from '#kernel';
import type { AfterHold, DocumentOutcome, FailureCause } from '../document/events.js';
import { decidedHolds, isFreeWithout, judgeNews, type HoldDecision, type PredecessorNews } from '../document/hold.js';
import type { GroupEvent, HaltCause } from './events.js';
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
  | { type: 'RecordCheck'; answer: { canStart: true } | { canStart: false; reason: string }; answerSha256: Sha256 }
  | { type: 'BeginStart' }
  | { type: 'RecordStartAnswer'; attempt: number; answer: StartAnswer }
  | {
      type: 'RecordLook';
      attempt: number;
      /** A member shows that the registry works on the group. */ begun: boolean;
      sinceAttemptEndedMs: number;
      unknownGraceMs: number;
      answerSha256: Sha256;
    }
  | { type: 'NoteResumption'; by: { groupId: string; commandId: string } };

export type StartAnswer =
  | { kind: 'started'; answerSha256: Sha256 }
  | { kind: 'refused'; code: string; text: string; answerSha256: Sha256 }
  | { kind: 'not_delivered'; reason: string; retryAfterMs: number; answerSha256?: Sha256 }
  | { kind: 'unconfirmed'; reason: string; answerSha256?: Sha256 };

/** Looks and denials are believed only from these on (principles 6.8). */
const LOOKS_TO_PROVE_ABSENCE = 2;
const CHECKS_TO_BELIEVE_A_NO = 5;
/**
 * Starts that may have reached the registry; each but the first follows a proof that the one before has not begun the
 * group.
 */
const MAX_STARTS = 10;

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
      return state.phase === 'startable'
        ? [{ type: 'GroupStartAttempted', data: { attempt: state.attempts + 1 } }]
        : [];
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
    data: { requestId, outcome, ...(by === undefined ? {} : { by }) },
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

function noteMemberConcluded(
  state: RegisteredGroup,
  command: Extract<GroupCommand, { type: 'NoteMemberConcluded' }>,
): GroupEvent[] {
  const { requestId, outcome, cause, version } = command;
  const index = state.members.findIndex((one) => one.requestId === requestId);
  const member = state.members[index];
  // Notes are tasks, and tasks may overtake each other: what an earlier event of the member says undoes nothing that a
  // later one said.
  const newerBy = (version ?? 0) - (member?.version ?? 0);
  if (member === undefined || newerBy < 0 || (newerBy === 0 && member.outcome === outcome)) return [];
  if (member.outcome !== undefined) return revised(state, { ...command, index, previousOutcome: member.outcome });
  const concluded: GroupEvent = {
    type: 'MemberConcluded',
    data: { index, requestId, outcome, ...(cause === undefined ? {} : { cause }), ...byVersion(version) },
  };
  const stopped = haltOf(state) !== undefined || state.phase === 'concluded' ? undefined : stops(command);
  const halt =
    stopped === undefined
      ? []
      : [halted(state, stopped, { member: { commandId: member.commandId, requestId, index, outcome } })];
  const ended = state.members.map((one, i) => (i === index ? { ...one, outcome } : one));
  return [concluded, ...halt, ...conclusion(ended, stopped ?? haltOf(state)?.cause)];
}

const byVersion = (version: number | undefined): { memberVersion?: number } =>
  version === undefined ? {} : { memberVersion: version };

/** Why this conclusion stops its group; undefined when the next member's turn comes (registry-interface 3.2). */
function stops({
  outcome,
  cause,
  partialStops,
}: Extract<GroupCommand, { type: 'NoteMemberConcluded' }>): HaltCause | undefined {
  if (outcome === 'accepted') return undefined;
  if (outcome === 'partial') return partialStops ? 'member_partial' : undefined;
  if (outcome === 'rejected') return 'member_rejected';
  return cause === 'send_refused' ? 'member_not_sent' : 'member_failed';
}

function conclusion(members: Pick<Member, 'outcome'>[], halt: HaltCause | undefined): GroupEvent[] {
  if (members.some((one) => one.outcome === undefined)) return [];
  return [{ type: 'GroupConcluded', data: { outcome: outcomeOf(members), ...(halt === undefined ? {} : { halt }) } }];
}

/**
 * A member that counted as failed has a receipt after all. The group goes on if nothing was concluded on its account.
 */
function revised(
  state: RegisteredGroup,
  of: Extract<GroupCommand, { type: 'NoteMemberConcluded' }> & { index: number; previousOutcome: DocumentOutcome },
): GroupEvent[] {
  const { index, requestId, outcome, previousOutcome, version } = of;
  const news: GroupEvent = {
    type: 'MemberRevised',
    data: { index, requestId, outcome, previousOutcome, ...byVersion(version) },
  };
  const members = state.members.map((one, i) => (i === index ? { ...one, outcome } : one));
  if (state.phase === 'concluded') {
    const whole = outcomeOf(members);
    const halt = state.halt === undefined ? {} : { halt: state.halt.cause };
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

function recordCheck(
  state: RegisteredGroup,
  { answer, answerSha256 }: Extract<GroupCommand, { type: 'RecordCheck' }>,
): GroupEvent[] {
  if (state.phase !== 'checking') return [];
  if (answer.canStart) return [{ type: 'GroupCheckPassed', data: { answerSha256 } }];
  const check = state.checks + 1;
  const denied: GroupEvent = { type: 'GroupCheckDenied', data: { check, reason: answer.reason, answerSha256 } };
  if (check < CHECKS_TO_BELIEVE_A_NO) return [denied];
  // After a start of unknown outcome a no may mean that it begins at this moment: the statuses have the last word.
  if (state.doubts !== undefined)
    return mayHaveBegun([denied], { attempt: state.attempts + 1, reason: answer.reason, answerSha256, state });
  return [denied, halted(state, 'check_denied', { text: answer.reason })];
}

function mayHaveBegun(
  events: GroupEvent[],
  of: { attempt: number; reason: string; answerSha256: Sha256; state: RegisteredGroup },
): GroupEvent[] {
  const { attempt, reason, answerSha256, state } = of;
  if ('doubts' in state && (state.doubts ?? 0) + 1 >= MAX_STARTS)
    return [...events, halted(state, 'start_refused', { text: reason })];
  return [...events, { type: 'GroupStartUnconfirmed', data: { attempt, reason, answerSha256 } }];
}

function recordStartAnswer(
  state: RegisteredGroup,
  { attempt, answer }: Extract<GroupCommand, { type: 'RecordStartAnswer' }>,
): GroupEvent[] {
  if (state.phase !== 'starting' || state.attempt !== attempt) {
    // The answer of a start that nobody waited for any more still says that the group has begun.
    const open =
      state.phase === 'unconfirmed' ||
      state.phase === 'checking' ||
      state.phase === 'startable' ||
      state.phase === 'starting';
    return answer.kind === 'started' && open
      ? [started(state, { attempt, seenByStatus: false, answerSha256: answer.answerSha256 })]
      : [];
  }
  switch (answer.kind) {
    case 'started':
      return [started(state, { attempt, seenByStatus: false, answerSha256: answer.answerSha256 })];
    case 'refused': {
      const { kind: _, ...said } = answer;
      const refused: GroupEvent = { type: 'GroupStartRefused', data: { attempt, ...said } };
      const text = answer.text === '' ? answer.code : answer.text;
      // A second start that is refused may have come after a first one that landed late.
      return state.doubts === undefined
        ? [refused, halted(state, 'start_refused', { text })]
        : mayHaveBegun([refused], { attempt, reason: text, answerSha256: answer.answerSha256, state });
    }
    case 'not_delivered': {
      const { kind: _, ...rest } = answer;
      return [{ type: 'GroupStartNotDelivered', data: { attempt, ...rest } }];
    }
    case 'unconfirmed': {
      const { kind: _, ...rest } = answer;
      return [{ type: 'GroupStartUnconfirmed', data: { attempt, ...rest } }];
    }
    default:
      return neverReached(answer, 'start answer');
  }
}

function recordLook(state: RegisteredGroup, command: Extract<GroupCommand, { type: 'RecordLook' }>): GroupEvent[] {
  const { attempt, begun, sinceAttemptEndedMs, answerSha256 } = command;
  if (state.phase !== 'unconfirmed' || state.attempt !== attempt) return [];
  if (begun) return [started(state, { attempt, seenByStatus: true, answerSha256 })];
  const lookUp = state.lookUps + 1;
  const absent = lookUp >= LOOKS_TO_PROVE_ABSENCE && sinceAttemptEndedMs >= command.unknownGraceMs;
  if (!absent) return [{ type: 'GroupStartNotSeen', data: { attempt, lookUp, sinceAttemptEndedMs, answerSha256 } }];
  return [{ type: 'GroupStartAbsenceProven', data: { attempt, lookUps: lookUp, sinceAttemptEndedMs, answerSha256 } }];
}

function started(
  state: RegisteredGroup,
  of: { attempt: number; seenByStatus: boolean; answerSha256: Sha256 },
): GroupEvent {
  const members = state.members.flatMap(({ requestId, documentId }) =>
    documentId === undefined ? [] : [{ requestId, documentId }],
  );
  return { type: 'GroupStarted', data: { ...of, members } };
}

type HaltDetails = Pick<Extract<GroupEvent, { type: 'GroupHalted' }>['data'], 'member' | 'predecessor' | 'text'>;

/**
 * Once it was started, the registry still works on what stands before the member that failed; else nothing of the group
 * is processed.
 */
function halted(state: RegisteredGroup, cause: HaltCause, details: HaltDetails): GroupEvent {
  const begun = state.phase === 'started' || state.phase === 'starting' || state.phase === 'unconfirmed';
  const wasStarted = begun && cause !== 'start_refused';
  const from = wasStarted && details.member !== undefined ? details.member.index + 1 : 0;
  const rest = state.members
    .filter((one, i) => i >= from && one.requestId !== details.member?.requestId && one.outcome === undefined)
    .map((one) => one.requestId);
  return { type: 'GroupHalted', data: { cause, started: wasStarted, ...details, rest } };
}
