import { describe, expect, it } from '@jest/globals';
import type { DocumentEvent } from '#domain';
import { LogOfTest, pack } from '../../test/fixture.js';
import { foldDocumentOutcome, tallyChange } from './fold.js';
import type { DocumentOutcomeRow } from './row.js';
import { ENDED_IN_WORK } from '../wording.js';

const SHA = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);
const after = [
  { commandId: 'c-1', requestId: 'r-1' },
  { commandId: 'c-2', requestId: 'r-2' },
];

/** The row after a registered and sent document (or only registered) and these events. */
function given(events: DocumentEvent[], options: { sent?: boolean } = {}): DocumentOutcomeRow {
  const log = new LogOfTest();
  const requestId = log.send({ docType: 415, items: [pack(1), pack(2)], reference: 'ERP-1' });
  if (options.sent === false) log.events.splice(1);
  for (const event of events) log.add(requestId, event);
  return log.events.reduce<DocumentOutcomeRow | undefined>(foldDocumentOutcome, undefined) as DocumentOutcomeRow;
}

describe('a row of the document list', () => {
  it('begins with the registration, ready', () => {
    expect(given([], { sent: false })).toMatchObject({
      phase: 'ready',
      attempts: 0,
      itemCount: 2,
      reference: 'ERP-1',
      registeredPosition: 1n,
      position: 1n,
      outcome: null,
    });
  });

  it('waits for its predecessors, one by one, and is released', () => {
    const waiting: DocumentEvent = { type: 'DocumentWaiting', data: { for: after } };
    const noted: DocumentEvent = { type: 'PredecessorConcluded', data: { requestId: 'r-1', outcome: 'accepted' } };
    expect(given([waiting], { sent: false })).toMatchObject({ phase: 'waiting', waitingFor: after });
    expect(given([waiting, noted], { sent: false })).toMatchObject({
      phase: 'waiting',
      waitingFor: [{ commandId: 'c-2', requestId: 'r-2' }],
    });
    expect(given([waiting, { type: 'DocumentReleased', data: {} }], { sent: false })).toMatchObject({
      phase: 'ready',
      waitingFor: [],
    });
  });

  it('is held by nothing when its group has ended it', () => {
    const held: DocumentEvent = {
      type: 'DocumentHeld',
      data: { hold: { kind: 'person', number: 1, by: 'anna', reason: 'quality looks' } },
    };
    const ended: DocumentEvent = { type: 'DocumentNotProcessed', data: { groupId: 'g-1' } };
    expect(given([held], { sent: false }).heldFor).toHaveLength(1);
    expect(given([held, ended], { sent: false }).heldFor).toEqual([]);
  });

  it('says that a person ended its group, where the registry showed it as in work', () => {
    const ended = (data: object) =>
      given([{ type: 'DocumentNotProcessed', data: { groupId: 'g-1', ...data } }]).problem;
    const failed = { commandId: 'c-0', requestId: 'r-0', outcome: 'rejected' };
    expect([ended({}), ended({ failed }), ended({ inWork: true })]).toEqual([null, 'c-0 rejected', ENDED_IN_WORK]);
  });

  it('counts attempts and keeps the problem until the registry has the document', () => {
    const unconfirmed: DocumentEvent = { type: 'SendUnconfirmed', data: { attempt: 1, reason: 'timeout' } };
    const proven: DocumentEvent = {
      type: 'SendAbsenceProven',
      data: { attempt: 1, lookUps: 2, sinceAttemptEndedMs: 60_000, answerSha256: SHA },
    };
    const again: DocumentEvent = {
      type: 'SendAttempted',
      data: { attempt: 2, account: 'main', signatureSha256: SHA, certificateSha256: SHA },
    };
    const sent: DocumentEvent = {
      type: 'DocumentSent',
      data: { attempt: 2, documentId: 'd-2', answerSha256: SHA, foundByLookUp: false },
    };
    expect(given([unconfirmed])).toMatchObject({ phase: 'unconfirmed', attempts: 1, problem: 'timeout' });
    expect(given([unconfirmed, proven])).toMatchObject({ phase: 'ready', problem: 'timeout' });
    expect(given([unconfirmed, proven, again])).toMatchObject({ phase: 'sending', attempts: 2, problem: 'timeout' });
    expect(given([unconfirmed, proven, again, sent])).toMatchObject({
      phase: 'sent',
      documentId: 'd-2',
      problem: null,
    });
  });

  it('marks a duplicate, whatever comes after', () => {
    const duplicate: DocumentEvent = {
      type: 'DuplicateDetected',
      data: { documentIds: ['d-1', 'd-2'], answerSha256: SHA },
    };
    const status: DocumentEvent = {
      type: 'StatusObserved',
      data: { documentId: 'd-1', status: 'processing', answerSha256: SHA },
    };
    expect(given([duplicate, status])).toMatchObject({ duplicate: true, status: 'processing', phase: 'sent' });
  });

  it('concludes with the receipt, and is revised', () => {
    const acceptedAt = '2026-03-01T10:00:00+03:00';
    const failed: DocumentEvent = {
      type: 'DocumentConcluded',
      data: { outcome: 'failed', cause: 'registry_failed', docType: 415, documentSha256: SHA },
    };
    const receipt: DocumentEvent = {
      type: 'ReceiptStored',
      data: { documentId: 'd-1', receiptSha256: OTHER, result: 'partial', acceptedAt, errorCount: 1 },
    };
    const revised: DocumentEvent = {
      type: 'ConclusionRevised',
      data: {
        outcome: 'partial',
        previousOutcome: 'failed',
        docType: 415,
        documentSha256: SHA,
        receiptSha256: OTHER,
        acceptedAt,
      },
    };
    expect(given([failed])).toMatchObject({
      phase: 'concluded',
      outcome: 'failed',
      cause: 'registry_failed',
      acceptedAt: null,
    });
    // Between the receipt and the revision the document never looks unfinished again.
    expect(given([failed, receipt])).toMatchObject({ phase: 'concluded', outcome: 'failed' });
    expect(given([failed, receipt, revised])).toMatchObject({
      phase: 'concluded',
      outcome: 'partial',
      cause: null,
      errorCount: 1,
      receiptSha256: OTHER,
      acceptedAt: new Date('2026-03-01T07:00:00Z'),
    });
  });

  it('takes no event twice, and none of a stream without its beginning or of an unknown type', () => {
    const log = new LogOfTest();
    const requestId = log.send({ docType: 415, items: [pack(1)] });
    const row = log.events.reduce<DocumentOutcomeRow | undefined>(foldDocumentOutcome, undefined);
    for (const event of log.events) expect(foldDocumentOutcome(row, event)).toBe(row);
    expect(() => foldDocumentOutcome(undefined, log.events[1]!)).toThrow(
      /SendAttempted at position 2 .* before DocumentRegistered/,
    );
    log.add(requestId, { type: 'DocumentForgotten', data: {} } as unknown as DocumentEvent);
    expect(() => foldDocumentOutcome(row, log.events.at(-1)!)).toThrow(/unknown document event/);
  });
});

describe('the tally', () => {
  it('is the difference that a page made', () => {
    const open = given([]);
    const failed: DocumentEvent = {
      type: 'DocumentConcluded',
      data: { outcome: 'failed', cause: 'registry_failed', docType: 415, documentSha256: SHA },
    };
    const done = given([failed]);
    expect(tallyChange([], [open, done])).toEqual({
      documents: 2n,
      accepted: 0n,
      partial: 0n,
      rejected: 0n,
      failed: 1n,
    });
    expect(tallyChange([open], [done])).toEqual({ documents: 0n, accepted: 0n, partial: 0n, rejected: 0n, failed: 1n });
    expect(tallyChange([done], [{ ...done, outcome: 'accepted' }])).toEqual({
      documents: 0n,
      accepted: 1n,
      partial: 0n,
      rejected: 0n,
      failed: -1n,
    });
  });
});
