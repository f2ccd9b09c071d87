import { defined, neverReached } from '#kernel';
import {
  ACCOMPLISHED_FACTS,
  type DocumentEvent,
  type DocumentReference,
  type Hold,
  type Registration,
} from './events.js';
import { hasPassed, isStoppedBy, rejudged, rejudgedSuspension, releasedBy } from './gate.js';
import type { GateFinding, GateWarned } from './gate-events.js';
import {
  decidedBy,
  isFreeWithout,
  itemWaitFor,
  lapsing,
  newItemPredecessors,
  NO_WAIT,
  type HoldDecision,
  type ItemWaitNews,
  type Lapse,
} from './hold.js';
import { failed } from './send-attempt.js';
import type { DocumentState } from './state.js';
import type { SuspensionFinding } from './stop-events.js';

/** What is asked of a document, or a group, that waits or is held. */
export type WaitCommand =
  | ({ type: 'WaiveHolds' } & HoldDecision)
  | ({ type: 'EndHeld' } & HoldDecision)
  | ({ type: 'WaitForItems' } & ItemWaitNews)
  | ({ type: 'LapseHolds' } & Lapse)
  /** `requestId` comes after it, by what the commands say: it does not wait for that one by their items. */
  | { type: 'LiftItemWait'; requestId: string }
  /** What it would wait for waits for it. */
  | { type: 'RefuseRing'; ring: DocumentReference[] };

/** What a person decides before a send, and what suspensions say right before each send and while it is held. */
export type StopCommand =
  /** `holds`: how often it had been held when that was asked; absent: not known. */
  | { type: 'HoldByPerson'; by: string; reason: string; holds?: number }
  | { type: 'HoldForSuspension'; finding: SuspensionFinding }
  /** The series of packs are not known, and it goes all the same. */
  | { type: 'WarnOfSuspension'; finding: SuspensionFinding }
  | { type: 'RejudgeSuspension'; holdKnownAt: string; finding: SuspensionFinding };

/** What was found at the sequence gate, right before the first send, and while it is held there. */
export type GateCommand =
  | { type: 'HoldAtGate'; finding: GateFinding }
  | { type: 'WarnAtGate'; finding: GateWarned['data'] }
  | { type: 'RejudgeAtGate'; holdKnownAt: string; finding: GateFinding };

/** What follows for a document that waits, or is held. */
export function decideWait(state: DocumentState, command: WaitCommand | GateCommand | StopCommand): DocumentEvent[] {
  switch (command.type) {
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
    case 'HoldAtGate':
    case 'WarnAtGate':
    case 'RejudgeAtGate':
      return decideGate(state, command);
    case 'HoldByPerson':
    case 'HoldForSuspension':
    case 'WarnOfSuspension':
    case 'RejudgeSuspension':
      return decideStop(state, command);
    default:
      return neverReached(command, 'document command');
  }
}

/** Only before the first attempt: what was tried may have reached the registry. A member goes with its group. */
function decideGate(state: DocumentState, command: GateCommand): DocumentEvent[] {
  if (command.type === 'RejudgeAtGate') return state.phase === 'waiting' ? rejudged(state, command) : [];
  if (state.phase !== 'ready' || state.send.attempt !== 1 || hasPassed(state.gate)) return [];
  if (state.registration.group !== undefined) return [];
  if (command.type === 'WarnAtGate') return [{ type: 'GateWarned', data: command.finding }];
  return [{ type: 'DocumentHeld', data: { hold: { kind: 'gate', ...command.finding } } }];
}

/**
 * Before every attempt: what an earlier one brought is known by then. So what holds it keeps the number of the next.
 * A member of a group is judged when its turn has come.
 */
function decideStop(state: DocumentState, command: StopCommand): DocumentEvent[] {
  if (command.type === 'HoldByPerson') return holdByPerson(state, command);
  if (command.type === 'RejudgeSuspension') return state.phase === 'waiting' ? rejudgedSuspension(state, command) : [];
  if (state.phase !== 'ready' || !isStoppedBy(state.gate, command.finding)) return [];
  if (command.type === 'HoldForSuspension')
    return [{ type: 'DocumentHeld', data: { hold: { kind: 'suspension', ...command.finding } } }];
  return state.gate?.isSuspensionWarned === true ? [] : [{ type: 'SuspensionWarned', data: command.finding }];
}

/**
 * Not a member, whose group would send the next one; and once, until it is released. A task that comes again does not
 * hold it once more.
 */
function holdByPerson(
  state: DocumentState,
  { by, reason, holds }: Extract<StopCommand, { type: 'HoldByPerson' }>,
): DocumentEvent[] {
  if (state.phase !== 'ready' && state.phase !== 'waiting') return [];
  if (state.registration.group !== undefined) return [];
  if (state.phase === 'waiting' && state.holds.some((one) => one.kind === 'person')) return [];
  if (holds !== undefined && (state.gate?.personHold ?? 0) > holds) return [];
  const number = (state.gate?.holds ?? 0) + 1;
  return [{ type: 'DocumentHeld', data: { hold: { kind: 'person', number, by, reason } } }];
}

export function endedFor(registration: Registration, hold: Hold): DocumentEvent[] {
  switch (hold.kind) {
    case 'gate':
      return [{ type: 'DocumentRefused', data: { gate: hold } }, failed(registration, 'packs_forbid')];
    case 'suspension':
      return [{ type: 'DocumentRefused', data: { suspension: hold } }, failed(registration, 'packs_forbid')];
    case 'person':
      return [{ type: 'DocumentRefused', data: { person: hold } }, failed(registration, 'ended_by_person')];
    case 'after':
    case 'items':
  }
  const refused: DocumentEvent = {
    type: 'DocumentRefused',
    data: { predecessor: hold.for, predecessorOutcome: hold.outcome },
  };
  return [refused, failed(registration, 'predecessor_failed')];
}

function waiveHolds(state: DocumentState, command: HoldDecision): DocumentEvent[] {
  const decided = state.phase === 'waiting' ? decidedBy(state, command) : undefined;
  if (state.phase !== 'waiting' || decided === undefined) return [];
  const waived: DocumentEvent = { type: 'HoldWaived', data: decided };
  return isFreeWithout(state, decided) ? [waived, releasedBy(state)] : [waived];
}

function endHeld(state: DocumentState, command: HoldDecision): DocumentEvent[] {
  const decided = state.phase === 'waiting' ? decidedBy(state, command) : undefined;
  if (state.phase !== 'waiting' || decided === undefined) return [];
  const { holds, missing = [] } = decided;
  const [hold] = holds;
  if (hold !== undefined) return endedFor(state.registration, hold);
  return [
    { type: 'DocumentRefused', data: defined({ predecessor: missing[0] }) },
    failed(state.registration, 'predecessor_failed'),
  ];
}

/**
 * Whatever is planned for it, nothing of it is there: earlier attempts surely did not arrive. A member goes with its
 * group.
 */
const isNotThere = (state: DocumentState): state is Extract<DocumentState, { phase: 'waiting' | 'ready' }> =>
  state.phase === 'waiting' || (state.phase === 'ready' && state.registration.group === undefined);

function waitForItems(state: DocumentState, { round, for: named }: ItemWaitNews): DocumentEvent[] {
  if (!isNotThere(state) || round <= (state.itemWaits ?? 0)) return [];
  const predecessors = newItemPredecessors(state.phase === 'waiting' ? state : NO_WAIT, named);
  const { account } = state.registration;
  return [{ type: 'DocumentWaiting', data: { kind: 'items', account, round, for: predecessors } }];
}

function liftItemWait(state: DocumentState, requestId: string): DocumentEvent[] {
  const found = state.phase === 'waiting' ? itemWaitFor(state, requestId) : undefined;
  if (state.phase !== 'waiting' || found === undefined) return [];
  const lifted: DocumentEvent = { type: 'ItemWaitLifted', data: { for: found.for } };
  return found.isLast ? [lifted, releasedBy(state)] : [lifted];
}

function lapseHolds(state: DocumentState, lapse: Lapse): DocumentEvent[] {
  if (state.phase !== 'waiting' || !ACCOMPLISHED_FACTS.includes(state.registration.docType)) return [];
  const data = lapsing(state, lapse);
  if (data === undefined) return [];
  const lapsed: DocumentEvent = { type: 'HoldLapsed', data };
  return isFreeWithout(state, data) ? [lapsed, releasedBy(state)] : [lapsed];
}

function refuseRing(state: DocumentState, ring: DocumentReference[]): DocumentEvent[] {
  const [predecessor] = ring;
  if (!isNotThere(state) || predecessor === undefined) return [];
  return [{ type: 'DocumentRefused', data: { predecessor, ring } }, failed(state.registration, 'waits_in_ring')];
}
