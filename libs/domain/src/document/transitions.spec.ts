import { describe, expect, it } from '@jest/globals';
import type { DocumentEvent } from './events.js';
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
  stateAfter,
  unconfirmed,
} from '../../test/given-document.js';
import { evolve } from './state.js';

const at = { attempt: 1, round: 1 };
const reference = { commandId: 'c-2', requestId: 'r-2' };
const hold = { kind: 'after', for: FIRST, outcome: 'failed' } as const;
const end = { docType: 415, documentSha256: SHA } as const;
const looked = { sinceAttemptEndedMs: 60_000, answerSha256: SHA };

/** One event of each type. */
const EVENTS: DocumentEvent[] = [
  registered([FIRST]),
  { type: 'DocumentWaiting', data: { for: [FIRST] } },
  { type: 'PredecessorConcluded', data: { requestId: FIRST.requestId, outcome: 'failed' } },
  { type: 'DocumentHeld', data: { hold } },
  { type: 'HoldWaived', data: { holds: [hold] } },
  { type: 'HoldLapsed', data: { holds: [{ ...hold, kind: 'items', for: { ...FIRST, items: [], itemCount: 1 } }] } },
  { type: 'DocumentReleased', data: {} },
  { type: 'DocumentRefused', data: { predecessor: FIRST, predecessorOutcome: 'failed' } },
  attempted(1),
  sent(),
  { type: 'SendRefused', data: { attempt: 1, code: '7', text: 'no', answerSha256: SHA } },
  { type: 'SendNotDelivered', data: { attempt: 1, reason: '429', retryAfterMs: 1 } },
  unconfirmed(1),
  missed(1, 1),
  absenceProven(1),
  { type: 'UploadOpened', data: { attempt: 1, documentId: DOCUMENT_ID, foundByLookUp: false } },
  { type: 'UploadFinishAttempted', data: { ...at, documentId: DOCUMENT_ID } },
  { type: 'UploadFinishNotDelivered', data: { ...at, reason: '429', retryAfterMs: 1 } },
  { type: 'UploadFinishUnconfirmed', data: { ...at, reason: 'timeout' } },
  { type: 'UploadRefused', data: { ...at, code: '7', text: 'no', answerSha256: SHA } },
  { type: 'UploadSeenOpen', data: { ...at, lookUp: 1, ...looked } },
  { type: 'UploadProvenOpen', data: { ...at, lookUps: 2, ...looked } },
  { type: 'DuplicateDetected', data: { documentIds: ['a', 'b'], answerSha256: SHA } },
  { type: 'DocumentDownloaded', data: { documentId: DOCUMENT_ID, documentSha256: SHA, sameBytes: true } },
  observed('processed'),
  {
    type: 'ReceiptStored',
    data: {
      documentId: DOCUMENT_ID,
      receiptSha256: SHA,
      result: 'accepted',
      errorCount: 0,
      acceptedAt: '2026-03-01T10:00:00Z',
    },
  },
  { type: 'GateWarned', data: { packs: [], packCount: 0, knownAt: '1' } },
  { type: 'GateHoldLifted', data: { knownAt: '1' } },
  { type: 'SuspensionWarned', data: { series: [], packCount: 0, knownAt: '1' } },
  { type: 'SuspensionHoldLifted', data: { knownAt: '1' } },
  { type: 'DocumentNotProcessed', data: { groupId: 'g-1' } },
  { type: 'DocumentSuperseded', data: { by: reference, groupId: 'g-2' } },
  { type: 'DocumentResent', data: { by: reference } },
  concludedFailed,
  { type: 'ConclusionRevised', data: { outcome: 'accepted', previousOutcome: 'failed', ...end } },
];
const one = (type: DocumentEvent['type']): DocumentEvent =>
  EVENTS.find((event) => event.type === type) as DocumentEvent;

const SENT = [registered(), attempted(1), sent()];
const LATE = ['DuplicateDetected', 'DocumentDownloaded'];
const UPLOAD = EVENTS.map((event) => event.type).filter((type) => /^Upload(?!Opened)/.test(type));

/** Each phase, how it is come to, and every event that may follow in it. */
const TABLE: [string, DocumentEvent[], string[]][] = [
  ['absent', [], ['DocumentRegistered']],
  [
    'ready',
    [registered()],
    [
      ...['DocumentWaiting', 'DocumentRefused', 'SendAttempted', 'DocumentSent', 'UploadOpened'],
      ...['DocumentHeld', 'GateWarned', 'SuspensionWarned', 'DocumentNotProcessed', 'DocumentConcluded', ...LATE],
    ],
  ],
  [
    'waiting',
    [registered([FIRST]), one('DocumentWaiting')],
    [
      ...['DocumentWaiting', 'PredecessorConcluded', 'DocumentHeld', 'HoldWaived', 'HoldLapsed'],
      ...['GateHoldLifted', 'SuspensionHoldLifted', 'DocumentReleased', 'DocumentRefused', 'DocumentSent', ...LATE],
      ...['DocumentNotProcessed', 'DocumentConcluded'],
    ],
  ],
  ['refused', [registered(), attempted(1), one('SendRefused')], ['DocumentConcluded', ...LATE]],
  [
    'sending',
    [registered(), attempted(1)],
    ['DocumentSent', 'SendRefused', 'SendNotDelivered', 'SendUnconfirmed', 'UploadOpened', ...LATE],
  ],
  [
    'unconfirmed',
    [registered(), attempted(1), unconfirmed(1)],
    ['DocumentSent', 'LookUpMissed', 'SendAbsenceProven', 'UploadOpened', ...LATE],
  ],
  [
    'uploading',
    [registered(), attempted(1), one('UploadOpened')],
    ['DocumentSent', 'SendRefused', 'LookUpMissed', 'SendAbsenceProven', ...UPLOAD, ...LATE],
  ],
  ['sent', SENT, ['StatusObserved', 'ReceiptStored', 'DocumentNotProcessed', 'DocumentConcluded', ...LATE]],
  ['received', [...SENT, one('ReceiptStored')], ['DocumentConcluded', 'ConclusionRevised', ...LATE]],
  [
    'concluded',
    [...SENT, concludedFailed],
    ['StatusObserved', 'ReceiptStored', 'DocumentSuperseded', 'DocumentResent', ...LATE],
  ],
];

describe('what may follow in the life of a document', () => {
  it.each(TABLE)('%s: these events and no other', (phase, given, may) => {
    const state = stateAfter(given);
    expect(state.phase).toBe(phase);
    const taken = EVENTS.filter((event) => {
      try {
        evolve(state, event);
        return true;
      } catch (error) {
        const { type } = event;
        const said = phase === 'absent' ? `${type} before DocumentRegistered` : `${type} in phase ${phase}`;
        expect((error as Error).message).toBe(said);
        return false;
      }
    });
    expect(taken.map((event) => event.type).sort()).toEqual([...may].sort());
  });

  it('moves nothing by what is seen late, in any phase', () => {
    for (const [, given] of TABLE.slice(1)) {
      const state = stateAfter(given);
      for (const type of LATE) expect(evolve(state, one(type as DocumentEvent['type']))).toBe(state);
    }
  });
});
