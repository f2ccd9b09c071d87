import { defined, neverReached } from '#kernel';
import { afterEnd, type DocumentReaction, type Ended } from '../document/dependents.js';
import type { Hold } from '../document/events.js';
import { firstSend, lapseHoldsOf } from '../document/first-send.js';
import { later, type DocumentRules, type PlannedGroupTask, type PlannedTask } from '../document/planned-task.js';
import { isOfGroup, type DocumentSagaState, type GroupMemory } from '../document/saga-state.js';
import {
  isAboutStart,
  type GroupConcluded,
  type GroupEvent,
  type GroupHalted,
  type GroupRegistered,
  type StartEvent,
} from './events.js';
import { endPayload, isEndedByPerson } from './halt.js';
import { CHECKS_TO_BELIEVE_A_NO } from './start.js';
import { outcomeForDependents } from './state.js';

interface OwnEvent<State> {
  state: State;
  event: GroupEvent;
  groupId: string;
  at: Date;
  rules: DocumentRules;
  version: number;
}

type Own = OwnEvent<GroupMemory>;
type Reaction = DocumentReaction;

/**
 * What follows from one event of a group. Members are sent one after the other: whichever way a registry counts, that
 * is their order (registry-interface 4.1).
 */
export function reactToOwnGroup(own: OwnEvent<DocumentSagaState>): Reaction {
  const { state, event } = own;
  if (event.type === 'GroupRegistered') return afterRegistration(own, event.data);
  if (event.type === 'GroupConcluded' || event.type === 'GroupConclusionRevised')
    return afterConclusion(own, event.data);
  // Of what is forgotten nothing follows but its end. An event of a type that is not known here stops it too.
  const reaction = reactToOpen({ ...own, state: isOfGroup(state) ? state : NOT_REMEMBERED }, event);
  return isOfGroup(state) ? reaction : { state, tasks: [] };
}

const NOT_REMEMBERED: GroupMemory = {
  ...{ noun: 'group', phase: 'open', account: '' },
  ...{ first: '', checks: 0, looks: 0, attempts: 0 },
};

function reactToOpen(
  own: Own,
  event: Exclude<GroupEvent, { type: 'GroupRegistered' | 'GroupConcluded' | 'GroupConclusionRevised' }>,
): Reaction {
  const { state, at } = own;
  if (isAboutStart(event)) return reactToStart(own, event);
  switch (event.type) {
    case 'GroupReleased':
      return { state, tasks: sendFirst(own), stopsWaiting: true };
    case 'MemberSent':
      return event.data.nextRequestId === undefined
        ? check(own, at)
        : { state, tasks: [firstSend(state.account, event.data.nextRequestId, { dueAt: at })] };
    case 'GroupHalted':
      return afterHalt(own, event.data);
    case 'GroupHeld':
      return { state, tasks: lapseHolds(own, event.data.hold) };
    case 'GroupWaiting':
      return { state, tasks: lapseHolds(own, event.data) };
    case 'GroupPredecessorConcluded':
    case 'GroupHoldWaived':
    case 'GroupHoldLapsed':
    case 'GroupItemWaitLifted':
    case 'MemberConcluded':
    case 'MemberRevised':
    case 'GroupHaltLifted':
    case 'GroupResumed':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'group event');
  }
}

function afterRegistration(
  own: OwnEvent<DocumentSagaState>,
  { account, after, members, resumes }: GroupRegistered['data'],
): Reaction {
  const state: GroupMemory = {
    ...{ noun: 'group', phase: 'open', account },
    ...{ first: members[0]?.requestId ?? '', checks: 0, looks: 0, attempts: 0 },
    ...(resumes === undefined ? {} : { isResend: true }),
  };
  return { state, tasks: after.length === 0 ? sendFirst({ ...own, state }) : [] };
}

/** The first member, unless somebody else decides when it goes. */
const sendFirst = ({ state, rules, at }: Own): PlannedTask[] =>
  rules.itemsDecide === true ? [] : [firstSend(state.account, state.first, { dueAt: at })];

function afterHalt(own: Own, halt: GroupHalted['data']): Reaction {
  const tasks = halt.rest.length === 0 ? [] : [endRest(own, halt)];
  return { state: own.state, tasks, ...(hasWaited(halt) ? { stopsWaiting: true as const } : {}) };
}

/** It waited until then, so nothing of it was sent. */
const hasWaited = ({ cause }: GroupHalted['data']): boolean =>
  cause === 'predecessor_failed' || cause === 'waits_in_ring';

/** A member that failed without a receipt may still turn, and with it the end of the whole; nothing else can. */
export function endOfGroup(concluded: GroupConcluded['data']): Ended {
  const outcome = outcomeForDependents(concluded);
  const mayTurn = outcome === 'failed' && concluded.halt === 'member_failed';
  return { outcome, certainty: mayTurn ? 'turning' : 'final' };
}

function afterConclusion(
  { state, groupId, version, at, rules }: OwnEvent<DocumentSagaState>,
  concluded: GroupConcluded['data'],
): Reaction {
  const ended = afterEnd(state, { ended: endOfGroup(concluded), key: groupId, version, at, rules });
  // Who waits for the group that it resumes is found by the task.
  return 'isResend' in state
    ? { state: ended.state, tasks: [ended.release] }
    : { state: ended.state, tasks: [], tasksForDependents: [ended.release] };
}

/** How much longer a check rests after each no: the registry may still be taking documents of the group in. */
const LONGER = 4;

/** Of the no that is believed the next event tells what follows. */
const afterDenial = (own: Own, { check: noes }: { check: number }): Reaction =>
  noes < CHECKS_TO_BELIEVE_A_NO
    ? check(own, later(own.at, own.rules.statusPollMs * LONGER ** (noes - 1)))
    : { state: own.state, tasks: [] };

function reactToStart(own: Own, event: StartEvent): Reaction {
  const { state, at, rules } = own;
  switch (event.type) {
    case 'GroupCheckPassed':
      return { state, tasks: [start(own, state.attempts + 1, at)] };
    case 'GroupCheckDenied':
      return afterDenial(own, event.data);
    case 'GroupStartNotDelivered':
      return {
        state: { ...state, attempts: event.data.attempt },
        tasks: [start(own, event.data.attempt + 1, later(at, event.data.retryAfterMs))],
      };
    case 'GroupStartAbsenceProven':
      return check({ ...own, state: { ...state, attempts: event.data.attempt } }, at);
    case 'GroupStartUnconfirmed': {
      const ended = { ...state, attemptEndedAt: at.toISOString() };
      return look(
        { ...own, state: ended },
        event.data.attempt,
        later(at, Math.max(rules.lookUpEveryMs, rules.statusAfterSendMs)),
      );
    }
    case 'GroupStartNotSeen': {
      const graceEnd = later(new Date(state.attemptEndedAt ?? at), rules.unknownGraceMs);
      return look(
        own,
        event.data.attempt,
        new Date(Math.max(graceEnd.getTime(), later(at, rules.lookUpEveryMs).getTime())),
      );
    }
    case 'GroupStarted':
      return { state, tasks: event.data.members.map((one) => readStatus(own, one)) };
    case 'GroupStartAttempted':
    case 'GroupStartRefused':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'group event');
  }
}

/** A hold or a wait by items of reports of accomplished facts may lapse. Of what it concerns, the task asks the log. */
const lapseHolds = ({ state, groupId, version, at }: Own, { kind }: { kind?: Hold['kind'] }): PlannedTask[] =>
  kind === 'items' ? [lapseHoldsOf({ requestId: groupId, isGroup: true, account: state.account, version, at })] : [];

/** Its status moves only now, and is read no sooner than after a send. */
function readStatus(
  { state: { account }, at, rules }: Own,
  { requestId, documentId }: { requestId: string; documentId: string },
): PlannedTask {
  const dueAt = new Date(
    Math.ceil(later(at, rules.statusAfterSendMs).getTime() / rules.statusGridMs) * rules.statusGridMs,
  );
  return {
    key: `status:${requestId}:started`,
    kind: 'status',
    lane: `${account}/status`,
    dueAt,
    payload: { requestId, account, documentId },
  };
}

function check({ state, groupId }: Own, dueAt: Date): Reaction {
  const checks = state.checks + 1;
  const { account } = state;
  const task: PlannedGroupTask = {
    key: `group_check:${groupId}:${checks}`,
    kind: 'group_check',
    lane: `${account}/group_check`,
    dueAt,
    payload: { groupId, account },
  };
  return { state: { ...state, checks }, tasks: [task] };
}

function start({ state: { account }, groupId }: Own, attempt: number, dueAt: Date): PlannedGroupTask {
  return {
    key: `group_start:${groupId}:${attempt}`,
    kind: 'group_start',
    lane: `${account}/group_start`,
    dueAt,
    payload: { groupId, account, attempt },
  };
}

function look({ state, groupId }: Own, attempt: number, dueAt: Date): Reaction {
  const looks = state.looks + 1;
  const { account } = state;
  const { attemptEndedAt } = state;
  const payload = { groupId, account, attempt, ...defined({ attemptEndedAt }) };
  return {
    state: { ...state, looks },
    tasks: [{ key: `group_look:${groupId}:${looks}`, kind: 'group_look', lane: `${account}/status`, dueAt, payload }],
  };
}

/**
 * The members after the one that stopped a started group are looked at once more, after a bare FAILED has had its time
 * to turn. Those of a group that was not started are looked at when the status of the last one sent may be asked for.
 * Where a person ended it, a start that lands late has its time first. A group may halt more than once.
 */
function endRest(
  { state: { account }, groupId, version, at, rules }: Own,
  halt: GroupHalted['data'],
): PlannedGroupTask {
  const payload = endPayload({ groupId, account }, halt, at);
  if (halt.started)
    return {
      key: `settle_group:${groupId}:${version}`,
      kind: 'settle_group',
      lane: `${account}/status`,
      dueAt: later(at, rules.failedGraceMs + rules.statusPollMs),
      payload,
    };
  const { unknownGraceMs, statusAfterSendMs } = rules;
  const grace = isEndedByPerson(halt.cause) ? Math.max(unknownGraceMs, statusAfterSendMs) : statusAfterSendMs;
  return {
    key: `conclude_members:${groupId}:${version}`,
    kind: 'conclude_members',
    lane: `${account}/status`,
    dueAt: hasWaited(halt) ? at : later(at, grace),
    payload,
  };
}
