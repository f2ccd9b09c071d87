import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from './decide.js';
import type { DocumentEvent } from './events.js';
import {
  absenceProven,
  attempted,
  concludedFailed,
  DOCUMENT_ID,
  FIRST,
  missed,
  observed,
  OTHER_SHA,
  registered,
  registration,
  SECOND,
  sent,
  SHA,
  stateAfter,
  typesOf,
  unconfirmed,
  when,
} from '../../test/given-document.js';

const beginSend: DocumentCommand = { type: 'BeginSend', signatureSha256: SHA, certificateSha256: OTHER_SHA };
const answerSent = (attempt: number, documentId = DOCUMENT_ID): DocumentCommand => ({
  type: 'RecordSendAnswer',
  attempt,
  answer: { kind: 'sent', documentId, answerSha256: SHA },
});
const lookUp = (attempt: number, documentIds: string[], sinceAttemptEndedMs = 60_000): DocumentCommand => ({
  type: 'RecordLookUp',
  attempt,
  documentIds,
  sinceAttemptEndedMs,
  unknownGraceMs: 60_000,
  answerSha256: SHA,
});
const receipt = (result: 'accepted' | 'partial' | 'rejected'): DocumentCommand => ({
  type: 'RecordReceipt',
  receipt: { receiptSha256: OTHER_SHA, result, acceptedAt: '2026-03-01T10:00:05+03:00', errorCount: 0 },
});
const note = (requestId: string, outcome: 'accepted' | 'partial' | 'rejected' | 'failed'): DocumentCommand => ({
  type: 'NotePredecessor',
  requestId,
  outcome,
});

describe('registering', () => {
  it('a document that comes after nothing is ready', () => {
    expect(when([], { type: 'Register', registration: registration() })).toEqual([registered()]);
    expect(stateAfter([registered()]).phase).toBe('ready');
  });
  it('a document that comes after others waits, and says for which', () => {
    const events = when([], { type: 'Register', registration: registration([FIRST, SECOND]) });
    expect(events).toEqual([registered([FIRST, SECOND]), { type: 'DocumentWaiting', data: { for: [FIRST, SECOND] } }]);
    expect(stateAfter(events)).toMatchObject({ phase: 'waiting', waitingFor: [FIRST, SECOND] });
  });
  it('the same again is a no-op, in every phase', () => {
    for (const given of [[registered()], [registered(), attempted(1)], [registered(), attempted(1), sent()]]) {
      expect(when(given, { type: 'Register', registration: registration() })).toEqual([]);
    }
  });
});

describe('a document that lands after all', () => {
  const given = [registered(), attempted(1), unconfirmed(1), absenceProven(1), attempted(2), sent(2)];

  it('is a duplicate when a look-up finds it beside ours, and also when it finds it alone', () => {
    const duplicate = [{ type: 'DuplicateDetected', data: { documentIds: [DOCUMENT_ID, 'late'], answerSha256: SHA } }];
    expect(when(given, lookUp(2, ['late', DOCUMENT_ID]))).toEqual(duplicate);
    expect(when(given, lookUp(2, ['late']))).toEqual(duplicate);
    expect(when(given, lookUp(2, [DOCUMENT_ID]))).toEqual([]);
    expect(when(given, lookUp(2, []))).toEqual([]);
  });
});

describe('coming after others', () => {
  const waiting: DocumentEvent[] = [
    registered([FIRST, SECOND]),
    { type: 'DocumentWaiting', data: { for: [FIRST, SECOND] } },
  ];
  const firstDone: DocumentEvent = { type: 'PredecessorConcluded', data: { requestId: 'r-1', outcome: 'accepted' } };

  it('is not sent while one of them is open', () => {
    expect(when(waiting, beginSend)).toEqual([]);
    expect(when(waiting, note('r-1', 'accepted'))).toEqual([firstDone]);
    expect(when([...waiting, firstDone], beginSend)).toEqual([]);
  });
  it('is released by the last of them, accepted or partial', () => {
    expect(typesOf(when([...waiting, firstDone], note('r-2', 'partial')))).toEqual([
      'PredecessorConcluded',
      'DocumentReleased',
    ]);
  });
  it('takes each once, and no stranger', () => {
    expect(when([...waiting, firstDone], note('r-1', 'accepted'))).toEqual([]);
    expect(when(waiting, note('r-7', 'failed'))).toEqual([]);
  });
  it('does not wait for ever when one of them is named twice', () => {
    const twice: DocumentEvent[] = [
      registered([FIRST, FIRST]),
      { type: 'DocumentWaiting', data: { for: [FIRST, FIRST] } },
    ];
    expect(typesOf(when(twice, note('r-1', 'accepted')))).toEqual(['PredecessorConcluded', 'DocumentReleased']);
  });
});

describe('sending', () => {
  it('begins with the intent, which names signature and certificate where the account signs', () => {
    expect(when([registered()], { type: 'BeginSend' })).toEqual([
      { type: 'SendAttempted', data: { attempt: 1, account: 'main' } },
    ]);
    expect(when([registered()], beginSend)).toEqual([
      {
        type: 'SendAttempted',
        data: { attempt: 1, account: 'main', signatureSha256: SHA, certificateSha256: OTHER_SHA },
      },
    ]);
  });

  const sending = [registered(), attempted(1)];

  it('records the intent before the call, once', () => {
    expect(when([registered()], beginSend)).toEqual([
      {
        type: 'SendAttempted',
        data: { attempt: 1, account: 'main', signatureSha256: SHA, certificateSha256: OTHER_SHA },
      },
    ]);
    expect(when(sending, beginSend)).toEqual([]);
  });
  it('is sent when the registry took it', () => {
    expect(when(sending, answerSent(1))).toEqual([sent()]);
  });
  it('is looked up when it is refused after an attempt that counted as absent: that one may have landed late', () => {
    const answer = { kind: 'refused', code: '400', text: 'the request_id is known', answerSha256: SHA } as const;
    const twice = [registered(), attempted(1), unconfirmed(1), missed(1, 1), absenceProven(1), attempted(2)];
    const inDoubt = when(twice, { type: 'RecordSendAnswer', attempt: 2, answer });
    expect(inDoubt).toMatchObject([
      { type: 'SendUnconfirmed', data: { attempt: 2, reason: expect.stringContaining('the request_id is known') } },
    ]);
    const found: DocumentCommand = {
      type: 'RecordLookUp',
      attempt: 2,
      documentIds: [DOCUMENT_ID],
      sinceAttemptEndedMs: 0,
      unknownGraceMs: 60_000,
      answerSha256: SHA,
    };
    expect(typesOf(when([...twice, ...inDoubt], found))).toEqual(['DocumentSent']);
    const often = [
      ...twice,
      unconfirmed(2),
      missed(2, 1),
      absenceProven(2),
      attempted(3),
      unconfirmed(3),
      missed(3, 1),
      absenceProven(3),
      attempted(4),
    ];
    expect(typesOf(when(often, { type: 'RecordSendAnswer', attempt: 4, answer }))).toEqual([
      'SendRefused',
      'DocumentConcluded',
    ]);
  });

  it('is concluded when the registry refused to take it', () => {
    const answer = { kind: 'refused', code: '400', text: 'wrong system', answerSha256: SHA } as const;
    expect(when(sending, { type: 'RecordSendAnswer', attempt: 1, answer })).toEqual([
      { type: 'SendRefused', data: { attempt: 1, code: '400', text: 'wrong system', answerSha256: SHA } },
      {
        type: 'DocumentConcluded',
        data: { outcome: 'failed', cause: 'send_refused', docType: 415, documentSha256: SHA },
      },
    ]);
  });
  it('is looked up when a server before the registry may have refused it, and concluded when that goes on', () => {
    const words = { code: 'http_404', text: '404 Not Found', answerSha256: SHA };
    const answer = { kind: 'refused', ...words, mayBeOthers: true } as const;
    const refusedAs = (attempt: number): DocumentCommand => ({ type: 'RecordSendAnswer', attempt, answer });
    expect(when(sending, refusedAs(1))).toEqual([
      {
        type: 'SendUnconfirmed',
        data: { attempt: 1, reason: 'refused, and not in the words of the registry: 404 Not Found', answerSha256: SHA },
      },
    ]);
    const again = [1, 2, 3].flatMap((attempt) => [
      attempted(attempt),
      unconfirmed(attempt),
      missed(attempt, 1),
      absenceProven(attempt),
    ]);
    expect(typesOf(when([registered(), ...again, attempted(4)], refusedAs(4)))).toEqual([
      'SendRefused',
      'DocumentConcluded',
    ]);
  });
  it('may go again when it was surely not taken, under the next number', () => {
    const events = when(sending, {
      type: 'RecordSendAnswer',
      attempt: 1,
      answer: { kind: 'not_delivered', reason: '429', retryAfterMs: 500 },
    });
    expect(events).toEqual([{ type: 'SendNotDelivered', data: { attempt: 1, reason: '429', retryAfterMs: 500 } }]);
    expect(when([...sending, ...events], beginSend)).toMatchObject([{ type: 'SendAttempted', data: { attempt: 2 } }]);
  });
  it('takes one answer per attempt', () => {
    expect(
      when([...sending, unconfirmed(1)], {
        type: 'RecordSendAnswer',
        attempt: 1,
        answer: { kind: 'unconfirmed', reason: 'again' },
      }),
    ).toEqual([]);
    expect(when([...sending, sent()], answerSent(1))).toEqual([]);
    expect(when(sending, answerSent(2))).toEqual([]);
  });
});

describe('an unknown outcome (principles 2.2)', () => {
  const unknown = [registered(), attempted(1), unconfirmed(1)];

  it('is looked up and never simply sent again', () => {
    expect(when(unknown, beginSend)).toEqual([]);
    expect(when([...unknown, missed(1, 1)], beginSend)).toEqual([]);
  });
  it('is sent when the look-up finds it', () => {
    expect(when(unknown, lookUp(1, [DOCUMENT_ID]))).toEqual([
      { type: 'DocumentSent', data: { attempt: 1, documentId: DOCUMENT_ID, answerSha256: SHA, foundByLookUp: true } },
    ]);
  });
  it('is proven absent by the second look-up without a hit, not before the grace has passed', () => {
    expect(when(unknown, lookUp(1, []))).toMatchObject([{ type: 'LookUpMissed', data: { lookUp: 1 } }]);
    expect(when([...unknown, missed(1, 1)], lookUp(1, [], 59_999))).toMatchObject([
      { type: 'LookUpMissed', data: { lookUp: 2 } },
    ]);
    expect(when([...unknown, missed(1, 1)], lookUp(1, []))).toEqual([absenceProven(1)]);
    expect(when([...unknown, missed(1, 1), absenceProven(1)], beginSend)).toMatchObject([
      { type: 'SendAttempted', data: { attempt: 2 } },
    ]);
  });
  it('alarms when the look-up finds more than one, also of a document long sent', () => {
    const two = [DOCUMENT_ID, 'another'];
    const alarm = { type: 'DuplicateDetected', data: { documentIds: two, answerSha256: SHA } };
    expect(typesOf(when(unknown, lookUp(1, two)))).toEqual(['DocumentSent', 'DuplicateDetected']);
    expect(when([registered(), attempted(1), sent()], lookUp(1, two))).toEqual([alarm]);
  });
  it.each([
    ['the one that the registry has not failed', { failed: ['repeat'] }, 'landed'],
    ['the one that it has whole', { uploading: ['repeat'] }, 'landed'],
    ['the open one rather than a failed one', { uploading: ['repeat'], failed: ['landed'] }, 'repeat'],
    ['the first, where all failed', { failed: ['repeat', 'landed'] }, 'repeat'],
  ])('follows, of more than one, %s', (_, told, documentId) => {
    const command = { ...lookUp(1, ['repeat', 'landed']), ...told } as DocumentCommand;
    expect(when(unknown, command)).toMatchObject([{ data: { documentId } }, { type: 'DuplicateDetected' }]);
  });
  it('ignores a look-up of another attempt, and of a document that is not there', () => {
    expect(when([...unknown, missed(1, 1), absenceProven(1), attempted(2), unconfirmed(2)], lookUp(1, []))).toEqual([]);
    expect(when([], lookUp(1, ['one', 'two']))).toEqual([]);
  });
  it('believes the late answer of a send that was given up, so that it does not go twice', () => {
    expect(when(unknown, answerSent(1))).toEqual([sent()]);
    const provenAbsent = [...unknown, missed(1, 1), absenceProven(1)];
    expect(when(provenAbsent, answerSent(1))).toEqual([sent()]);
    expect(when([...provenAbsent, ...when(provenAbsent, answerSent(1))], beginSend)).toEqual([]);
  });
  it('alarms when a send that was given up got through beside the next one', () => {
    const twice = [...unknown, missed(1, 1), absenceProven(1), attempted(2)];
    expect(when([...twice, sent(2, 'd-2')], answerSent(1))).toEqual([
      { type: 'DuplicateDetected', data: { documentIds: ['d-2', DOCUMENT_ID], answerSha256: SHA } },
    ]);
    expect(when([...twice, ...when(twice, answerSent(1))], answerSent(2, 'd-2'))).toEqual([
      { type: 'DuplicateDetected', data: { documentIds: [DOCUMENT_ID, 'd-2'], answerSha256: SHA } },
    ]);
  });
});

describe('status and receipt', () => {
  const open = [registered(), attempted(1), sent()];

  it('records a status when it changed', () => {
    expect(when(open, { type: 'ObserveStatus', status: 'processing', answerSha256: SHA })).toEqual([
      observed('processing'),
    ]);
    expect(
      when([...open, observed('processing')], { type: 'ObserveStatus', status: 'processing', answerSha256: SHA }),
    ).toEqual([]);
    expect(when([registered()], { type: 'ObserveStatus', status: 'processing', answerSha256: SHA })).toEqual([]);
  });
  it.each(['accepted', 'partial', 'rejected'] as const)('concludes %s as the receipt says', (result) => {
    expect(when([...open, observed('processed')], receipt(result))).toEqual([
      {
        type: 'ReceiptStored',
        data: {
          documentId: DOCUMENT_ID,
          receiptSha256: OTHER_SHA,
          result,
          acceptedAt: '2026-03-01T10:00:05+03:00',
          errorCount: 0,
        },
      },
      {
        type: 'DocumentConcluded',
        data: {
          outcome: result,
          docType: 415,
          documentSha256: SHA,
          receiptSha256: OTHER_SHA,
          acceptedAt: '2026-03-01T10:00:05+03:00',
        },
      },
    ]);
  });
  it('concludes failed at once on a bare FAILED', () => {
    expect(when(open, { type: 'ObserveStatus', status: 'failed', answerSha256: SHA })).toEqual([
      observed('failed'),
      concludedFailed,
    ]);
  });
  it('revises a failure when a receipt comes after all, and nothing else', () => {
    const failed = [...open, observed('failed'), concludedFailed];
    expect(typesOf(when(failed, { type: 'ObserveStatus', status: 'processed', answerSha256: SHA }))).toEqual([
      'StatusObserved',
    ]);
    const revised = when([...failed, observed('processed')], receipt('accepted'));
    expect(revised[1]).toMatchObject({
      type: 'ConclusionRevised',
      data: { outcome: 'accepted', previousOutcome: 'failed' },
    });
    expect(when([...failed, observed('processed'), ...revised], receipt('rejected'))).toEqual([]);
    const refused: DocumentEvent = {
      type: 'DocumentConcluded',
      data: { outcome: 'failed', cause: 'predecessor_failed', docType: 415, documentSha256: SHA },
    };
    expect(when([registered(), refused], receipt('accepted'))).toEqual([]);
  });
  it('compares the downloaded copy with what was sent', () => {
    expect(when(open, { type: 'RecordDownload', documentSha256: SHA })).toMatchObject([{ data: { sameBytes: true } }]);
    expect(when(open, { type: 'RecordDownload', documentSha256: OTHER_SHA })).toMatchObject([
      { data: { sameBytes: false } },
    ]);
    expect(when([registered()], { type: 'RecordDownload', documentSha256: SHA })).toEqual([]);
  });
});
