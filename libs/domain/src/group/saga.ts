import { defined, neverReached } from '#kernel';
import { afterEnd, type DocumentReaction, type Ended } from '../document/dependents.js';
import type { Hold } from '../document/events.js';
import { firstSend, lapseHoldsOf } from '../document/first-send.js';
import type {
  DocumentRules,
  DocumentSagaState,
  GroupSagaState,
  PlannedGroupTask,
  PlannedTask,
} from '../document/planned-task.js';
import {
  isAboutStart,
  type GroupConcluded,
  type GroupEvent,
  type GroupHalted,
  type GroupRegistered,
  type StartEvent,
} from './events.js';
import { outcomeForDependents } from './state.js';

export interface OwnGroupEvent {
  state: DocumentSagaState;
  event: GroupEvent;
  groupId: string;
  at: Date;
  rules: DocumentRules;
  version: number;
}

type Reaction = DocumentReaction;

const later = (at: Date, delayMs: number): Date => new Date(at.getTime() + delayMs);

/**
 * What follows from one event of a group. Members are sent one after the other: whichever way a registry counts, that
 * is their order (registry-interface 4.1).
 */
export function reactToOwnGroup(own: OwnGroupEvent): Reaction {
  const { state, event, at } = own;
  if (isAboutStart(event)) return reactToStart(own, event);
  switch (event.type) {
    case 'GroupRegistered':
      return afterRegistration(own, event.data);
    case 'GroupReleased':
      return { state, tasks: sendFirst(own), stopsWaiting: true };
    case 'MemberSent':
      return event.data.nextRequestId === undefined
        ? check(own, at)
        : { state, tasks: [firstSend(state.account, event.data.nextRequestId, { dueAt: at })] };
    case 'GroupHalted':
      return afterHalt(own, event.data);
    case 'GroupConcluded':
    case 'GroupConclusionRevised':
      return afterConclusion(own, event.data);
    case 'GroupHeld':
      return { state, tasks: lapseHolds(own, event.data.hold) };
    case 'GroupWaiting':
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
  own: OwnGroupEvent,
  { account, after, members, resumes }: GroupRegistered['data'],
): Reaction {
  const group: GroupSagaState = { first: members[0]?.requestId ?? '', checks: 0, looks: 0, attempts: 0 };
  const isResend = resumes === undefined ? {} : { isResend: true as const };
  const state = { ...own.state, account, group, ...isResend };
  return { state, tasks: after.length === 0 ? sendFirst({ ...own, state }) : [] };
}

/** The first member, unless somebody else decides when it goes. */
const sendFirst = ({ state, rules, at }: OwnGroupEvent): PlannedTask[] =>
  rules.itemsDecide === true ? [] : [firstSend(state.account, groupOf(state).first, { dueAt: at })];

function afterHalt(own: OwnGroupEvent, { cause, started, member, rest }: GroupHalted['data']): Reaction {
  const tasks = rest.length === 0 ? [] : [endRest(own, started, member?.requestId)];
  const waited = cause === 'predecessor_failed' || cause === 'waits_in_ring';
  return { state: own.state, tasks, ...(waited ? { stopsWaiting: true as const } : {}) };
}

/** A member that failed without a receipt may still turn, and with it the end of the whole; nothing else can. */
export function endOfGroup(concluded: GroupConcluded['data']): Ended {
  const outcome = outcomeForDependents(concluded);
  const mayTurn = outcome === 'failed' && concluded.halt === 'member_failed';
  return { outcome, isFinal: !mayTurn, mayTurn };
}

function afterConclusion(
  { state, groupId, version, at, rules }: OwnGroupEvent,
  concluded: GroupConcluded['data'],
): Reaction {
  const ended = afterEnd(state, { ...endOfGroup(concluded), key: groupId, version, at, rules });
  // Who waits for the group that it resumes is found by the task.
  return state.isResend === true
    ? { state: ended.state, tasks: [ended.release] }
    : { state: ended.state, tasks: [], tasksForDependents: [ended.release] };
}

function reactToStart(own: OwnGroupEvent, event: StartEvent): Reaction {
  const { state, at, rules } = own;
  switch (event.type) {
    case 'GroupCheckPassed':
      return { state, tasks: [start(own, groupOf(state).attempts + 1, at)] };
    case 'GroupCheckDenied':
      return check(own, later(at, rules.statusPollMs));
    case 'GroupStartNotDelivered':
      return {
        state: withGroup(state, { attempts: event.data.attempt }),
        tasks: [start(own, event.data.attempt + 1, later(at, event.data.retryAfterMs))],
      };
    case 'GroupStartAbsenceProven':
      return check({ ...own, state: withGroup(state, { attempts: event.data.attempt }) }, at);
    case 'GroupStartUnconfirmed': {
      const ended = withGroup(state, { attemptEndedAt: at.toISOString() });
      return look(
        { ...own, state: ended },
        event.data.attempt,
        later(at, Math.max(rules.lookUpEveryMs, rules.statusAfterSendMs)),
      );
    }
    case 'GroupStartNotSeen': {
      const graceEnd = later(new Date(groupOf(state).attemptEndedAt ?? at), rules.unknownGraceMs);
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

const groupOf = (state: DocumentSagaState): GroupSagaState =>
  state.group ?? { first: '', checks: 0, looks: 0, attempts: 0 };
const withGroup = (state: DocumentSagaState, news: Partial<GroupSagaState>): DocumentSagaState => ({
  ...state,
  group: { ...groupOf(state), ...news },
});

/** An item hold of reports of accomplished facts lapses. Of what it holds, the task asks the log. */
const lapseHolds = ({ state, groupId, version, at }: OwnGroupEvent, { kind }: Hold): PlannedTask[] =>
  kind === 'items' ? [lapseHoldsOf({ requestId: groupId, isGroup: true, account: state.account, version, at })] : [];

/** Its status moves only now, and is read no sooner than after a send. */
function readStatus(
  { state: { account }, at, rules }: OwnGroupEvent,
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

function check({ state, groupId }: OwnGroupEvent, dueAt: Date): Reaction {
  const checks = groupOf(state).checks + 1;
  const { account } = state;
  const task: PlannedGroupTask = {
    key: `group_check:${groupId}:${checks}`,
    kind: 'group_check',
    lane: `${account}/group_check`,
    dueAt,
    payload: { groupId, account },
  };
  return { state: withGroup(state, { checks }), tasks: [task] };
}

function start({ state: { account }, groupId }: OwnGroupEvent, attempt: number, dueAt: Date): PlannedGroupTask {
  return {
    key: `group_start:${groupId}:${attempt}`,
    kind: 'group_start',
    lane: `${account}/group_start`,
    dueAt,
    payload: { groupId, account, attempt },
  };
}

function look({ state, groupId }: OwnGroupEvent, attempt: number, dueAt: Date): Reaction {
  const looks = groupOf(state).looks + 1;
  const { account } = state;
  const { attemptEndedAt } = groupOf(state);
  const payload = { groupId, account, attempt, ...defined({ attemptEndedAt }) };
  return {
    state: withGroup(state, { looks }),
    tasks: [{ key: `group_look:${groupId}:${looks}`, kind: 'group_look', lane: `${account}/status`, dueAt, payload }],
  };
}

/**
 * The members after the one that stopped a started group are looked at once more, after a bare FAILED has had its time
 * to turn.
 */
function endRest(
  { state: { account }, groupId, at, rules }: OwnGroupEvent,
  started: boolean,
  stoppedBy = 'none',
): PlannedGroupTask {
  const payload = { groupId, account };
  return started
    ? {
        key: `settle_group:${groupId}:${stoppedBy}`,
        kind: 'settle_group',
        lane: `${account}/status`,
        dueAt: later(at, rules.failedGraceMs + rules.statusPollMs),
        payload,
      }
    : { key: `conclude_members:${groupId}`, kind: 'conclude_members', lane: 'internal', dueAt: at, payload };
}
