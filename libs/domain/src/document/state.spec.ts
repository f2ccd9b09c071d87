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
  registration,
  sent,
  SHA,
  stateAfter,
  unconfirmed,
} from '../../test/given-document.js';
import { ABSENT, evolve } from './state.js';

describe('the state of a document', () => {
  it.each<[string, DocumentEvent[], object]>([
    ['ready', [registered()], { phase: 'ready', send: { step: 'open', attempt: 1 } }],
    [
      'waiting',
      [registered([FIRST]), { type: 'DocumentWaiting', data: { for: [FIRST] } }],
      { phase: 'waiting', waitingFor: [FIRST] },
    ],
    [
      'released',
      [
        registered([FIRST]),
        { type: 'DocumentWaiting', data: { for: [FIRST] } },
        { type: 'DocumentReleased', data: {} },
      ],
      { phase: 'ready', send: { step: 'open', attempt: 1 } },
    ],
    ['sending', [registered(), attempted(1)], { phase: 'sending', send: { step: 'calling', attempt: 1 } }],
    [
      'not delivered',
      [registered(), attempted(1), { type: 'SendNotDelivered', data: { attempt: 1, reason: '429', retryAfterMs: 1 } }],
      { phase: 'ready', send: { step: 'open', attempt: 2 } },
    ],
    [
      'unconfirmed',
      [registered(), attempted(1), unconfirmed(1)],
      { phase: 'unconfirmed', send: { step: 'doubtful', attempt: 1, lookUps: 0 } },
    ],
    [
      'looked up',
      [registered(), attempted(1), unconfirmed(1), missed(1, 1)],
      { phase: 'unconfirmed', send: { step: 'doubtful', attempt: 1, lookUps: 1 } },
    ],
    [
      'proven absent',
      [registered(), attempted(1), unconfirmed(1), absenceProven(1)],
      { phase: 'ready', send: { step: 'open', attempt: 2 } },
    ],
    ['sent', [registered(), attempted(1), sent()], { phase: 'sent', documentId: DOCUMENT_ID, status: undefined }],
    ['observed', [registered(), attempted(1), sent(), observed('processing')], { phase: 'sent', status: 'processing' }],
    [
      'concluded',
      [registered(), attempted(1), sent(), observed('failed'), concludedFailed],
      { phase: 'concluded', outcome: 'failed', documentId: DOCUMENT_ID, status: 'failed' },
    ],
  ])('%s', (_, events, state) => {
    expect(stateAfter(events)).toMatchObject({
      ...state,
      registration: registration(events[0]?.type === 'DocumentRegistered' ? events[0].data.after : []),
    });
  });

  it('throws on a stream that is damaged or newer than this program', () => {
    expect(() => evolve(ABSENT, attempted(1))).toThrow('SendAttempted before DocumentRegistered');
    expect(() => stateAfter([registered(), registered()])).toThrow('DocumentRegistered in phase ready');
    expect(() => stateAfter([registered(), observed('processed')])).toThrow('StatusObserved in phase ready');
    expect(() =>
      stateAfter([registered(), { type: 'DocumentForgotten', data: {} } as unknown as DocumentEvent]),
    ).toThrow('unknown document event');
  });

  it('keeps no trace of a notice that changes nothing', () => {
    const before = stateAfter([registered(), attempted(1), sent()]);
    expect(evolve(before, { type: 'DuplicateDetected', data: { documentIds: ['a', 'b'], answerSha256: SHA } })).toBe(
      before,
    );
    expect(
      evolve(before, {
        type: 'DocumentDownloaded',
        data: { documentId: DOCUMENT_ID, documentSha256: SHA, sameBytes: true },
      }),
    ).toBe(before);
  });
});
