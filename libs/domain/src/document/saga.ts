import { neverReached } from '#kernel';
import { DOCUMENT_STREAM_PREFIX, requestIdOfStream, type DocumentEvent, type DocumentOutcome } from './events.js';

/** The registry's times, from the profile (interface section 8, DESIGN section 6). All in milliseconds. */
export interface DocumentRules {
  statusAfterSendMs: number;
  receiptAfterStatusMs: number;
  failedGraceMs: number;
  unknownGraceMs: number;
  /** Status reads are put on this grid, so that one page of the outgoing list serves all that are due together. */
  statusGridMs: number;
  /** Least time between two look-ups of one document. */
  lookUpEveryMs: number;
}

/** A task as the saga plans it; the task table's shape. */
export interface PlannedTask {
  key: string;
  kind: 'send' | 'look_up' | 'status' | 'receipt' | 'download' | 'note_predecessor';
  lane: string;
  dueAt: Date;
  payload: { requestId: string; account: string; attempt?: number; predecessor?: string; outcome?: DocumentOutcome; documentId?: string; attemptEndedAt?: string };
}

/** What is remembered between events of one document: who sends it, how it ended, and who waits for that. */
export interface DocumentSagaState {
  account: string;
  concluded: DocumentOutcome | undefined;
  dependents: { requestId: string; account: string }[];
  lookUps: number;
  attemptEndedAt: string | undefined;
  receiptsAsked: number;
  /** We learnt by a look-up that the registry has the document: its copy is then fetched and compared with what we sent. */
  compareCopy: boolean;
}

interface SagaEvent {
  stream: string;
  type: string;
  data: object;
  recordedAt: Date;
}

export const DOCUMENT_SAGA = {
  name: 'document',
  filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX] },
  initial: { account: '', concluded: undefined, dependents: [], lookUps: 0, attemptEndedAt: undefined, receiptsAsked: 0, compareCopy: false } as DocumentSagaState,
};

/** The instances an event concerns: its own document and, at registration, the documents that it comes after. */
export function keysOfDocumentEvent(recorded: SagaEvent): string[] {
  const own = requestIdOfStream(recorded.stream);
  const event = recorded as unknown as DocumentEvent;
  return event.type === 'DocumentRegistered' ? [own, ...event.data.after.map((one) => one.requestId)] : [own];
}

const later = (at: Date, delayMs: number): Date => new Date(at.getTime() + delayMs);
const onGrid = (at: Date, gridMs: number): Date => new Date(Math.ceil(at.getTime() / gridMs) * gridMs);

/**
 * What follows from one event. Due times count from the moment the event was recorded, by the database's clock, which is after the
 * answer arrived; tasks are judged by the same clock, so that no skew between machines can make a call too early.
 */
export function reactToDocumentEvent(rules: DocumentRules) {
  return (state: DocumentSagaState, recorded: SagaEvent, key: string): { state: DocumentSagaState; tasks: PlannedTask[] } => {
    const own = requestIdOfStream(recorded.stream);
    const event = recorded as unknown as DocumentEvent;
    if (key !== own) return registeredAfterMe(state, event, { key, own });
    return reactToOwn({ state, event, requestId: own, at: recorded.recordedAt, rules });
  };
}

function registeredAfterMe(state: DocumentSagaState, event: DocumentEvent, ids: { key: string; own: string }) {
  if (event.type !== 'DocumentRegistered') throw new Error(`${event.type} routed to another document`);
  const dependent = { requestId: ids.own, account: event.data.account };
  if (state.concluded === undefined) return { state: { ...state, dependents: [...state.dependents, dependent] }, tasks: [] };
  return { state, tasks: [notePredecessor(dependent, ids.key, state.concluded)] };
}

function notePredecessor(dependent: { requestId: string; account: string }, predecessor: string, outcome: DocumentOutcome): PlannedTask {
  return {
    key: `note_predecessor:${dependent.requestId}:${predecessor}`,
    kind: 'note_predecessor',
    lane: 'internal',
    dueAt: new Date(0),
    payload: { ...dependent, predecessor, outcome },
  };
}

interface Own {
  state: DocumentSagaState;
  event: DocumentEvent;
  requestId: string;
  at: Date;
  rules: DocumentRules;
}

function reactToOwn({ state, event, requestId, at, rules }: Own): { state: DocumentSagaState; tasks: PlannedTask[] } {
  const { account } = state;
  const send = (attempt: number, dueAt: Date, by = account): PlannedTask => ({
    key: `send:${requestId}:${attempt}`,
    kind: 'send',
    lane: `${by}/send`,
    dueAt,
    payload: { requestId, account: by, attempt },
  });
  switch (event.type) {
    case 'DocumentRegistered': {
      const mine = { ...state, account: event.data.account };
      return { state: mine, tasks: event.data.after.length === 0 ? [send(1, at, mine.account)] : [] };
    }
    case 'DocumentReleased':
      return { state, tasks: [send(1, at)] };
    case 'SendNotDelivered':
      return { state, tasks: [send(event.data.attempt + 1, later(at, event.data.retryAfterMs))] };
    case 'SendAbsenceProven':
      return { state, tasks: [send(event.data.attempt + 1, at)] };
    case 'SendUnconfirmed': {
      const ended = { ...state, lookUps: 0, attemptEndedAt: at.toISOString() };
      return { state: ended, tasks: [lookUp({ state: ended, requestId, attempt: event.data.attempt, dueAt: later(at, rules.lookUpEveryMs) })] };
    }
    case 'LookUpMissed': {
      const asked = { ...state, lookUps: event.data.lookUp };
      const graceEnd = later(new Date(state.attemptEndedAt ?? at), rules.unknownGraceMs);
      const dueAt = new Date(Math.max(graceEnd.getTime(), later(at, rules.lookUpEveryMs).getTime()));
      return { state: asked, tasks: [lookUp({ state: asked, requestId, attempt: event.data.attempt, dueAt })] };
    }
    case 'DocumentSent': {
      const dueAt = onGrid(later(at, rules.statusAfterSendMs), rules.statusGridMs);
      const { attempt, documentId } = event.data;
      const status: PlannedTask = { key: `status:${requestId}:${attempt}`, kind: 'status', lane: `${account}/status`, dueAt, payload: { requestId, account, documentId } };
      const known = event.data.foundByLookUp ? { ...state, compareCopy: true } : state;
      return { state: known, tasks: state.attemptEndedAt === undefined ? [status] : [status, verify({ state, requestId, attempt, dueAt: later(at, rules.unknownGraceMs) })] };
    }
    case 'StatusObserved':
      return afterStatus({ state, event, requestId, at, rules });
    case 'DocumentConcluded':
    case 'ConclusionRevised': {
      const { outcome } = event.data;
      const tasks = event.type === 'DocumentConcluded' ? state.dependents.map((one) => notePredecessor(one, requestId, outcome)) : [];
      return { state: { ...state, concluded: outcome, dependents: [] }, tasks };
    }
    case 'DocumentWaiting':
    case 'PredecessorConcluded':
    case 'DocumentRefused':
    case 'SendAttempted':
    case 'SendRefused':
    case 'DuplicateDetected':
    case 'ReceiptStored':
    case 'DocumentDownloaded':
      return { state, tasks: [] };
    default:
      return neverReached(event, 'document event');
  }
}

/** After an attempt of unknown outcome one more look: an attempt that lands late makes a second document, and that must be seen. */
const verify = (of: { state: DocumentSagaState; requestId: string; attempt: number; dueAt: Date }): PlannedTask => ({ ...lookUp(of), key: `look_up:${of.requestId}:${of.attempt}:verify` });

function lookUp(of: { state: DocumentSagaState; requestId: string; attempt: number; dueAt: Date }): PlannedTask {
  const { account, lookUps, attemptEndedAt } = of.state;
  return {
    key: `look_up:${of.requestId}:${of.attempt}:${lookUps + 1}`,
    kind: 'look_up',
    lane: `${account}/find_by_request_id`,
    dueAt: of.dueAt,
    payload: { requestId: of.requestId, account, attempt: of.attempt, ...(attemptEndedAt === undefined ? {} : { attemptEndedAt }) },
  };
}

function afterStatus({ state, event, requestId, at, rules }: Own & { event: Extract<DocumentEvent, { type: 'StatusObserved' }> }) {
  const { account } = state;
  const { status, documentId } = event.data;
  const payload = { requestId, account, documentId };
  if (status === 'processed' || status === 'failed_result_ready') {
    const asked = { ...state, receiptsAsked: state.receiptsAsked + 1 };
    const key = `receipt:${requestId}:${asked.receiptsAsked}`;
    const receipt: PlannedTask = { key, kind: 'receipt', lane: `${account}/receipt`, dueAt: later(at, rules.receiptAfterStatusMs), payload };
    const download: PlannedTask = { key: `download:${requestId}`, kind: 'download', lane: `${account}/download`, dueAt: at, payload };
    return { state: asked, tasks: state.compareCopy ? [receipt, download] : [receipt] };
  }
  if (status === 'failed' && rules.failedGraceMs > 0) {
    // A bare FAILED can still turn out otherwise: it is read once more after the grace (public-facts 4).
    return { state, tasks: [{ key: `status:${requestId}:after-failed`, kind: 'status' as const, lane: `${account}/status`, dueAt: later(at, rules.failedGraceMs), payload }] };
  }
  return { state, tasks: [] };
}
