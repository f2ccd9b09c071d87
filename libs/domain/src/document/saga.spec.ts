import { describe, expect, it } from '@jest/globals';
import { documentStream, type DocumentEvent } from './events.js';
import {
  absenceProven,
  attempted,
  concludedFailed,
  DOCUMENT_ID,
  FIRST,
  missed,
  observed,
  registered,
  sent,
  SHA,
  unconfirmed,
} from '../../test/given-document.js';
import type { DocumentRules, PlannedGroupTask, PlannedTask } from './planned-task.js';
import type { DocumentSagaState } from './saga-state.js';
import { DOCUMENT_SAGA, reactToDocumentEvent } from '../saga/document-saga.js';

const RULES: DocumentRules = {
  statusAfterSendMs: 3_000,
  receiptAfterStatusMs: 5_000,
  statusPollMs: 2_000,
  failedGraceMs: 0,
  unknownGraceMs: 60_000,
  statusGridMs: 1_000,
  lookUpEveryMs: 2_000,
};
const START_MS = Date.parse('2026-03-01T10:00:00.250Z');

/** Given these events of r-9, a second apart: the state, and the tasks that followed from the last one. */
function after(
  events: DocumentEvent[],
  rules: DocumentRules = RULES,
): { state: DocumentSagaState; tasks: (PlannedTask | PlannedGroupTask)[] } {
  return events.reduce<{ state: DocumentSagaState; tasks: (PlannedTask | PlannedGroupTask)[] }>(
    ({ state }, event, i) => reactToDocumentEvent(rules)(state, recorded(event, i), 'r-9'),
    { state: DOCUMENT_SAGA.initial, tasks: [] },
  );
}
const recorded = (event: DocumentEvent, i: number) => ({
  ...event,
  stream: documentStream('r-9'),
  version: i,
  handledAt: new Date(START_MS + i * 1_000),
});
const at = (i: number, plusMs = 0) => new Date(START_MS + i * 1_000 + plusMs);

describe('what follows from an event of a document', () => {
  it('a registered document is sent at once; a waiting one when it is released', () => {
    expect(after([registered()]).tasks).toEqual([
      {
        key: 'send:r-9:1',
        kind: 'send',
        lane: 'main/send',
        dueAt: at(0),
        payload: { requestId: 'r-9', account: 'main', attempt: 1 },
      },
    ]);
    const waiting: DocumentEvent[] = [registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }];
    expect(after(waiting.slice(0, 1)).tasks).toEqual([]);
    expect(after(waiting).tasks).toEqual([]);
    expect(after([...waiting, { type: 'DocumentReleased', data: {} }]).tasks).toMatchObject([
      { key: 'send:r-9:1', dueAt: at(2) },
    ]);
  });

  it('what was not delivered is resent under the next key, no sooner than told', () => {
    const events: DocumentEvent[] = [
      registered(),
      attempted(1),
      { type: 'SendNotDelivered', data: { attempt: 1, reason: '429', retryAfterMs: 400 } },
    ];
    expect(after(events).tasks).toMatchObject([{ key: 'send:r-9:2', dueAt: at(2, 400), payload: { attempt: 2 } }]);
  });

  it('an unknown outcome is looked up twice, the second time after the grace, and only then sent again', () => {
    const events = [registered(), attempted(1), unconfirmed(1)];
    expect(after(events).tasks).toMatchObject([
      {
        key: 'look_up:r-9:1:1',
        lane: 'main/find_by_request_id',
        dueAt: at(2, 2_000),
        payload: { attemptEndedAt: at(2).toISOString() },
      },
    ]);
    expect(after([...events, missed(1, 1)]).tasks).toMatchObject([
      { key: 'look_up:r-9:1:2', dueAt: at(2, 60_000), payload: { attemptEndedAt: at(2).toISOString() } },
    ]);
    expect(after([...events, missed(1, 1), missed(1, 2)], { ...RULES, unknownGraceMs: 0 }).tasks).toMatchObject([
      { key: 'look_up:r-9:1:3', dueAt: at(4, 2_000) },
    ]);
    expect(after([...events, missed(1, 1), absenceProven(1)]).tasks).toMatchObject([
      { key: 'send:r-9:2', dueAt: at(4) },
    ]);
  });

  it('once sent after an unknown outcome, one more look follows the grace: an attempt that lands late must be seen', () => {
    const events = [registered(), attempted(1), unconfirmed(1), missed(1, 1), absenceProven(1), attempted(2), sent(2)];
    expect(after(events).tasks).toMatchObject([
      { kind: 'status' },
      { key: 'look_up:r-9:2:verify', kind: 'look_up', lane: 'main/find_by_request_id', dueAt: at(6, 60_000) },
    ]);
    expect(after([registered(), attempted(1), sent()]).tasks.map((task) => task.kind)).toEqual(['status']);
  });

  it('a document that was found by a look-up is fetched and compared, once its status is final', () => {
    const found: DocumentEvent = {
      type: 'DocumentSent',
      data: { attempt: 1, documentId: DOCUMENT_ID, answerSha256: SHA, foundByLookUp: true },
    };
    const tasks = after([registered(), attempted(1), unconfirmed(1), found, observed('processed')]).tasks;
    expect(tasks.map((task) => [task.kind, task.lane])).toEqual([
      ['receipt', 'main/receipt'],
      ['download', 'main/download'],
    ]);
    expect(after([registered(), attempted(1), sent(), observed('processed')]).tasks.map((task) => task.kind)).toEqual([
      'receipt',
    ]);
  });

  it('the look-ups of a second unknown outcome begin anew', () => {
    const events = [
      registered(),
      attempted(1),
      unconfirmed(1),
      missed(1, 1),
      absenceProven(1),
      attempted(2),
      unconfirmed(2),
    ];
    expect(after(events).tasks).toMatchObject([
      { key: 'look_up:r-9:2:1', payload: { attempt: 2, attemptEndedAt: at(6).toISOString() } },
    ]);
  });

  it('the status is read no sooner than 3 s after the send, on the grid', () => {
    const [task] = after([registered(), attempted(1), sent()]).tasks;
    expect(task).toMatchObject({
      key: 'status:r-9:1',
      lane: 'main/status',
      dueAt: new Date('2026-03-01T10:00:06.000Z'),
      payload: { documentId: DOCUMENT_ID },
    });
    expect((task?.dueAt.getTime() ?? 0) - at(2).getTime()).toBeGreaterThanOrEqual(3_000);
  });

  it.each(['processed', 'failed_result_ready'] as const)('the receipt is asked for 5 s after %s', (status) => {
    expect(after([registered(), attempted(1), sent(), observed(status)]).tasks).toMatchObject([
      { key: 'receipt:r-9:1', lane: 'main/receipt', dueAt: at(3, 5_000) },
    ]);
  });

  it('no receipt is asked for in any other status', () => {
    expect(after([registered(), attempted(1), sent(), observed('processing')]).tasks).toEqual([]);
    expect(after([registered(), attempted(1), sent(), observed('failed')]).tasks).toEqual([]);
  });

  it('a bare FAILED is read again after the grace, and its receipt is asked for when it turned out otherwise', () => {
    const rules = { ...RULES, failedGraceMs: 1_200_000 };
    const failed = [registered(), attempted(1), sent(), observed('failed')];
    expect(after(failed, rules).tasks).toMatchObject([{ key: 'status:r-9:after-failed', dueAt: at(3, 1_200_000) }]);
    expect(after([...failed, concludedFailed, observed('processed')], rules).tasks).toMatchObject([
      { key: 'receipt:r-9:1' },
    ]);
  });
});
