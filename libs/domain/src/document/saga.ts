import { defined, neverReached } from '#kernel';
import { afterEnd, endOfDocument, lateReads, type DocumentReaction } from './dependents.js';
import type {
  ConclusionRevised,
  DocumentConcluded,
  DocumentEvent,
  DocumentRegistered,
  DocumentReleased,
  Hold,
} from './events.js';
import { firstSend, lapseHoldsOf, rejudge } from './first-send.js';
import { later, onGrid, type DocumentRules, type PlannedGroupTask, type PlannedTask } from './planned-task.js';
import { isOfDocument, type DocumentMemory, type DocumentSagaState } from './saga-state.js';
import { isAboutWaiting, type WaitEvent } from './hold.js';
import { standsFor } from './state.js';
import { isAboutUpload, type UploadEvent } from './upload-events.js';

type Reaction = DocumentReaction;

interface OwnEvent<State> {
  state: State;
  event: DocumentEvent;
  requestId: string;
  at: Date;
  rules: DocumentRules;
  version: number;
}
type Own = OwnEvent<DocumentMemory>;

/**
 * What follows from one event of a document for that document itself. Of what is forgotten, its own end is told
 * whatever is known of it; what else still comes (another look at its status, its successor) moves nothing.
 */
export function reactToOwn(own: OwnEvent<DocumentSagaState>): Reaction {
  const { state, event } = own;
  if (event.type === 'DocumentRegistered') return afterRegistration(own, event);
  if (event.type === 'DocumentConcluded' || event.type === 'ConclusionRevised') return afterConclusion(own, event);
  // An event of a type that is not known here stops what is forgotten too.
  const reaction = reactToOpen({ ...own, state: isOfDocument(state) ? state : NOT_REMEMBERED }, event);
  return isOfDocument(state) ? reaction : { state, tasks: [] };
}

const NOT_REMEMBERED: DocumentMemory = { noun: 'document', phase: 'open', account: '', receiptsAsked: 0 };

function reactToOpen(
  own: Own,
  event: Exclude<DocumentEvent, DocumentRegistered | DocumentConcluded | ConclusionRevised>,
): Reaction {
  const { state, at } = own;
  if (isAboutUpload(event)) return reactToUpload(own, event);
  if (isAboutWaiting(event)) return reactToWaiting(own, event);
  switch (event.type) {
    case 'SendNotDelivered':
      return { state, tasks: [send(own, event.data.attempt + 1, later(at, event.data.retryAfterMs))] };
    case 'SendAbsenceProven':
      return sendAnew(own, event.data.attempt + 1);
    case 'SendUnconfirmed':
      return doubt(own, event.data.attempt);
    case 'LookUpMissed':
      return lookAgain(own, event.data);
    case 'DocumentSent':
      return afterSent({ ...own, event });
    case 'StatusObserved':
      return afterStatus({ ...own, event });
    case 'SendAttempted':
    case 'SendRefused':
    case 'DuplicateDetected':
    case 'ReceiptStored':
    case 'DocumentDownloaded':
    case 'DocumentNotProcessed':
    case 'DocumentSuperseded':
    case 'DocumentResent':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'document event');
  }
}

/** Nothing is waited for any more once it was released or refused. */
function reactToWaiting(own: Own, event: WaitEvent): Reaction {
  const { state, requestId, version, at } = own;
  switch (event.type) {
    case 'DocumentReleased':
      return { state, tasks: sendFirst(own, event.data), stopsWaiting: true };
    case 'DocumentRefused':
      return { state, tasks: [], stopsWaiting: true };
    case 'DocumentHeld':
      return { state, tasks: afterHold({ requestId, account: state.account, version, at }, event.data.hold) };
    case 'DocumentWaiting':
      return {
        state,
        tasks: event.data.kind === 'items' ? [lapseHoldsOf({ requestId, account: state.account, version, at })] : [],
      };
    case 'PredecessorConcluded':
    case 'HoldWaived':
    case 'HoldLapsed':
    case 'ItemWaitLifted':
    case 'GateHoldLifted':
    case 'GateWarned':
    case 'SuspensionHoldLifted':
    case 'SuspensionWarned':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'event of a waiting document');
  }
}

function afterHold(held: Parameters<typeof lapseHoldsOf>[0], hold: Hold): PlannedTask[] {
  if (hold.kind === 'items') return [lapseHoldsOf(held)];
  if (hold.kind === 'suspension') return [rejudge('rejudge_suspension', held, hold)];
  return hold.kind === 'gate' ? [rejudge('rejudge_at_gate', held, hold)] : [];
}

const sendFirst = ({ state, requestId, at, rules }: Own, released: DocumentReleased['data'] = {}): PlannedTask[] =>
  rules.itemsDecide === true ? [] : [firstSend(state.account, requestId, { dueAt: at, ...released })];

function reactToUpload(own: Own, event: UploadEvent): Reaction {
  switch (event.type) {
    case 'UploadOpened':
    case 'UploadFinishNotDelivered':
    case 'UploadProvenOpen':
      return upload({ ...own, event });
    case 'UploadFinishUnconfirmed':
    case 'UploadRefused':
      return doubt(own, event.data.attempt);
    case 'UploadSeenOpen':
      return lookAgain(own, event.data);
    case 'UploadFinishAttempted':
      return { state: own.state, tasks: [] };
    default:
      return neverReached(event, 'upload event');
  }
}

function send({ state: { account }, requestId }: Own, attempt: number, dueAt: Date): PlannedTask {
  return {
    key: `send:${requestId}:${attempt}`,
    kind: 'send',
    lane: `${account}/send`,
    dueAt,
    payload: { requestId, account, attempt },
  };
}

function afterRegistration(own: OwnEvent<DocumentSagaState>, { data }: DocumentRegistered): Reaction {
  const { account, group, after } = data;
  const isResend = standsFor(data) === undefined ? undefined : (true as const);
  const state: DocumentMemory = {
    ...{ noun: 'document', phase: 'open', account, receiptsAsked: 0 },
    ...defined({ isResend, memberOf: group?.groupId }),
  };
  // A member is sent when its group says so.
  return { state, tasks: group === undefined && after.length === 0 ? sendFirst({ ...own, state }) : [] };
}

function sendAnew(own: Own, attempt: number): Reaction {
  const { round: _, ...anew } = own.state;
  return { state: anew, tasks: [send(own, attempt, own.at)] };
}

/** Nobody knows what became of the attempt: it is looked up. */
function doubt({ state, requestId, at, rules }: Own, attempt: number): Reaction {
  const ended = { ...state, attemptEndedAt: at.toISOString() };
  const dueAt = later(at, rules.lookUpEveryMs);
  return { state: ended, tasks: [lookUp({ state: ended, requestId, attempt, number: 1, dueAt })] };
}

/** The last look-up is no sooner than the grace after the attempt's end, for only then its silence proves anything. */
function lookAgain(
  { state, requestId, at, rules }: Own,
  { attempt, lookUp: lookUps }: { attempt: number; lookUp: number },
): Reaction {
  const graceEnd = later(new Date(state.attemptEndedAt ?? at), rules.unknownGraceMs);
  const dueAt = new Date(Math.max(graceEnd.getTime(), later(at, rules.lookUpEveryMs).getTime()));
  return { state, tasks: [lookUp({ state, requestId, attempt, number: lookUps + 1, dueAt })] };
}

function afterConclusion(own: OwnEvent<DocumentSagaState>, event: DocumentConcluded | ConclusionRevised): Reaction {
  const { state, requestId } = own;
  const { outcome, cause } = event.data;
  // The same outcome may come again after another: a revision is told under its own number.
  const what = event.type === 'DocumentConcluded' ? outcome : `${outcome}@${own.version}`;
  const news = { outcome, version: own.version, ...defined({ cause }) };
  const told = isOfDocument(state) ? tellGroup({ state, requestId }, what, news) : [];
  const end = endOfDocument(event.data);
  const ended = afterEnd(state, { ...own, ended: end, key: requestId });
  const reads = end.certainty === 'turning' ? lateReads(state, own) : [];
  // Who waits for the document that it stands for is found by the task.
  if ('isResend' in state) return { state: ended.state, tasks: [...told, ended.release], tasksForDependents: reads };
  return { state: ended.state, tasks: told, tasksForDependents: [ended.release, ...reads] };
}

/** A member's status moves only when its group was started: until then the group alone is told. */
function afterSent({
  state,
  event,
  requestId,
  at,
  rules,
}: Own & { event: Extract<DocumentEvent, { type: 'DocumentSent' }> }): Reaction {
  const { attempt, documentId, foundByLookUp } = event.data;
  const { account } = state;
  const known = { ...state, documentId, ...(foundByLookUp ? { compareCopy: true as const } : {}) };
  const dueAt = onGrid(later(at, rules.statusAfterSendMs), rules.statusGridMs);
  const status: PlannedTask = {
    key: `status:${requestId}:${attempt}`,
    kind: 'status',
    lane: `${account}/status`,
    dueAt,
    payload: { requestId, account, documentId },
  };
  const next = state.memberOf === undefined ? [status] : tellGroup({ state, requestId }, 'sent', { documentId });
  return {
    state: known,
    tasks:
      state.attemptEndedAt === undefined
        ? next
        : [...next, verify({ state, requestId, attempt, dueAt: later(at, rules.unknownGraceMs) })],
  };
}

/** The task that tells the group of a member how the member goes. `what` is new each time it is told. */
function tellGroup(
  { state, requestId }: { state: DocumentMemory; requestId: string },
  what: string,
  news: Partial<PlannedGroupTask['payload']>,
): PlannedGroupTask[] {
  const { memberOf: groupId, account } = state;
  if (groupId === undefined) return [];
  return [
    {
      key: `note_member:${groupId}:${requestId}:${what}`,
      kind: 'note_member',
      lane: 'internal',
      dueAt: new Date(0),
      payload: { groupId, account, requestId, ...news },
    },
  ];
}

/**
 * After an attempt of unknown outcome one more look: an attempt that lands late makes a second document, and that must
 * be seen.
 */
const verify = (of: Omit<Parameters<typeof lookUp>[0], 'number'>): PlannedTask => ({
  ...lookUp({ ...of, number: 1 }),
  key: `look_up:${of.requestId}:${of.attempt}:verify`,
});

/** Parts and end of a large document: in a lane of their own, for they take long. */
function upload(of: {
  state: DocumentMemory;
  event: Extract<DocumentEvent, { type: 'UploadOpened' | 'UploadFinishNotDelivered' | 'UploadProvenOpen' }>;
  requestId: string;
  at: Date;
}) {
  const { state, event, requestId, at } = of;
  const { account } = state;
  const { attempt } = event.data;
  const round = event.type === 'UploadOpened' ? 1 : event.data.round + 1;
  const dueAt = event.type === 'UploadFinishNotDelivered' ? later(at, event.data.retryAfterMs) : at;
  const task: PlannedTask = {
    key: `upload:${requestId}:${attempt}:${round}`,
    kind: 'upload',
    lane: `${account}/upload`,
    dueAt,
    payload: { requestId, account, attempt, round },
  };
  return { state: { ...state, round }, tasks: [task] };
}

function lookUp(of: {
  state: DocumentMemory;
  requestId: string;
  attempt: number;
  /** The how manieth of this attempt, or of this round of an upload, from 1. */
  number: number;
  dueAt: Date;
}): PlannedTask {
  const { account, attemptEndedAt, round } = of.state;
  const inRound = round === undefined ? '' : `round-${round}:`;
  return {
    key: `look_up:${of.requestId}:${of.attempt}:${inRound}${of.number}`,
    kind: 'look_up',
    lane: `${account}/find_by_request_id`,
    dueAt: of.dueAt,
    payload: {
      requestId: of.requestId,
      account,
      attempt: of.attempt,
      ...defined({ attemptEndedAt, round }),
    },
  };
}

function afterStatus({
  state,
  event,
  requestId,
  at,
  rules,
}: Own & { event: Extract<DocumentEvent, { type: 'StatusObserved' }> }): Reaction {
  const { account } = state;
  const { status, documentId } = event.data;
  const task = (kind: 'receipt' | 'download' | 'status', key: string | number, dueAt: Date): PlannedTask => ({
    key: `${kind}:${requestId}${key === '' ? '' : `:${key}`}`,
    kind,
    lane: `${account}/${kind}`,
    dueAt,
    payload: { requestId, account, documentId },
  });
  if (status === 'processed' || status === 'failed_result_ready') {
    const receiptsAsked = state.receiptsAsked + 1;
    const receipt = task('receipt', receiptsAsked, later(at, rules.receiptAfterStatusMs));
    return {
      state: { ...state, receiptsAsked },
      tasks: state.compareCopy === true ? [receipt, task('download', '', at)] : [receipt],
    };
  }
  // A bare FAILED can still turn out otherwise: it is read once more after the grace (public-facts 4).
  const isReadAgain = status === 'failed' && rules.failedGraceMs > 0;
  return { state, tasks: isReadAgain ? [task('status', 'after-failed', later(at, rules.failedGraceMs))] : [] };
}
