import { describe, expect, it } from '@jest/globals';
import type { DocumentCommand } from './decide.js';
import type { DocumentEvent } from './events.js';
import {
  DOCUMENT_ID,
  observed,
  registered,
  registration,
  SHA,
  stateAfter,
  typesOf,
  unconfirmed,
  when,
} from '../../test/given-document.js';
import type { DocumentRules } from './planned-task.js';
import { DOCUMENT_SAGA, reactToDocumentEvent } from '../saga/document-saga.js';

const GRACE_MS = 60_000;
const announcing: DocumentEvent = { type: 'SendAttempted', data: { attempt: 1, account: 'main', upload: true } };
const opened: DocumentEvent = {
  type: 'UploadOpened',
  data: { attempt: 1, documentId: DOCUMENT_ID, foundByLookUp: false },
};
const finishing = (round = 1): DocumentEvent => ({
  type: 'UploadFinishAttempted',
  data: { attempt: 1, round, documentId: DOCUMENT_ID },
});
const doubtful: DocumentEvent = { type: 'UploadFinishUnconfirmed', data: { attempt: 1, round: 1, reason: 'timeout' } };
const refused: DocumentEvent = {
  type: 'UploadRefused',
  data: { attempt: 1, round: 1, code: '400', text: 'no', answerSha256: SHA },
};
const seenOpen: DocumentEvent = {
  type: 'UploadSeenOpen',
  data: { attempt: 1, round: 1, lookUp: 1, sinceAttemptEndedMs: 0, answerSha256: SHA },
};
const provenOpen: DocumentEvent = {
  type: 'UploadProvenOpen',
  data: { attempt: 1, round: 1, lookUps: 2, sinceAttemptEndedMs: GRACE_MS, answerSha256: SHA },
};

const OPEN = [registered(), announcing, opened];
const answered = (
  answer: Extract<DocumentCommand, { type: 'RecordUploadAnswer' }>['answer'],
  round = 1,
): DocumentCommand => ({ type: 'RecordUploadAnswer', attempt: 1, round, answer });
const FINISHED = { kind: 'sent', documentId: DOCUMENT_ID, answerSha256: SHA } as const;
const NO = { kind: 'refused', code: '400', text: 'no', answerSha256: SHA } as const;
const lookUp = (seen: 'open' | 'taken' | 'absent', sinceAttemptEndedMs = GRACE_MS, round = 1): DocumentCommand => ({
  type: 'RecordLookUp',
  attempt: 1,
  round,
  documentIds: seen === 'absent' ? [] : [DOCUMENT_ID],
  uploading: seen === 'open' ? [DOCUMENT_ID] : [],
  sinceAttemptEndedMs,
  unknownGraceMs: GRACE_MS,
  answerSha256: SHA,
});

describe('a large document', () => {
  it('is announced with an intent that says so, and then awaits its bytes', () => {
    expect(when([registered()], { type: 'BeginSend', upload: true })).toEqual([announcing]);
    expect(
      when([registered(), announcing], {
        type: 'RecordSendAnswer',
        attempt: 1,
        answer: { kind: 'announced', documentId: DOCUMENT_ID },
      }),
    ).toEqual([opened]);
  });

  it('is sent when the registry has heard the end, and not before', () => {
    expect(stateAfter(OPEN)).toMatchObject({ phase: 'uploading', finish: { step: 'open', attempt: 1 } });
    expect(when(OPEN, { type: 'BeginFinish', attempt: 1, round: 1 })).toEqual([finishing()]);
    expect(typesOf(when([...OPEN, finishing()], answered(FINISHED)))).toEqual(['DocumentSent']);
  });

  it('tells the end once in a round', () => {
    for (const given of [
      [...OPEN, finishing()],
      [...OPEN, finishing(), doubtful],
      [...OPEN, finishing(), doubtful, provenOpen],
    ]) {
      expect(when(given, { type: 'BeginFinish', attempt: 1, round: 1 })).toEqual([]);
    }
    expect(when([...OPEN, finishing(), doubtful, provenOpen], { type: 'BeginFinish', attempt: 1, round: 2 })).toEqual([
      finishing(2),
    ]);
  });

  it('whose end has no answer is finished again only after two look-ups that saw it open, the last after the grace', () => {
    const given = [...OPEN, finishing(), doubtful];
    expect(typesOf(when(given, lookUp('open')))).toEqual(['UploadSeenOpen']);
    expect(typesOf(when([...given, seenOpen], lookUp('open', GRACE_MS - 1)))).toEqual(['UploadSeenOpen']);
    expect(typesOf(when([...given, seenOpen], lookUp('open')))).toEqual(['UploadProvenOpen']);
    expect(typesOf(when(given, lookUp('taken', 0)))).toEqual(['DocumentSent']);
  });

  it('that was refused is looked at once, goes up anew when it is still open, and is given up the third time', () => {
    expect(typesOf(when(OPEN, answered(NO)))).toEqual(['UploadRefused']);
    expect(typesOf(when([...OPEN, refused], lookUp('open', 0)))).toEqual(['UploadProvenOpen']);
    expect(typesOf(when([...OPEN, refused], lookUp('taken', 0)))).toEqual(['DocumentSent']);
    const twice = [
      ...OPEN,
      refused,
      provenOpen,
      { ...refused, data: { ...refused.data, round: 2 } } as DocumentEvent,
      { ...provenOpen, data: { ...provenOpen.data, round: 2 } } as DocumentEvent,
    ];
    expect(typesOf(when(twice, answered(NO, 3)))).toEqual(['SendRefused', 'DocumentConcluded']);
  });

  it('that a server before the registry may have refused is looked at past the grace, and believed the fourth time', () => {
    const others = { ...NO, mayBeOthers: true } as const;
    const by = (round: number) =>
      ({ ...refused, data: { ...refused.data, round, mayBeOthers: true } }) as DocumentEvent;
    expect(when(OPEN, answered(others))).toMatchObject([{ type: 'UploadRefused', data: { mayBeOthers: true } }]);
    expect(typesOf(when([...OPEN, by(1)], lookUp('open', 0)))).toEqual(['UploadSeenOpen']);
    const before = (rounds: number) =>
      Array.from({ length: rounds }, (_, n) => [
        by(n + 1),
        { ...provenOpen, data: { ...provenOpen.data, round: n + 1 } } as DocumentEvent,
      ]).flat();
    expect(typesOf(when([...OPEN, ...before(2)], answered(others, 3)))).toEqual(['UploadRefused']);
    expect(typesOf(when([...OPEN, ...before(3)], answered(others, 4)))).toEqual(['SendRefused', 'DocumentConcluded']);
  });

  it(
    'in whose place the registry shows another under its request_id is not announced again, however often it is ' +
      'looked up',
    () => {
      const missed: DocumentEvent = {
        type: 'LookUpMissed',
        data: { attempt: 1, lookUp: 1, sinceAttemptEndedMs: 0, answerSha256: SHA },
      };
      const given = [...OPEN, finishing(), doubtful, missed];
      const other = (uploading: string[]): DocumentCommand =>
        ({ ...lookUp('absent'), documentIds: ['another'], uploading }) as DocumentCommand;
      expect(typesOf(when(given, lookUp('absent')))).toEqual(['SendAbsenceProven']);
      // No announcement: the bytes go up to the one that is there, as another attempt, and only when this one is proven
      // absent. Else it would be looked up for ever.
      expect(typesOf(when([...OPEN, finishing(), doubtful], other(['another'])))).toEqual([
        'LookUpMissed',
        'DuplicateDetected',
      ]);
      expect(
        typesOf(when(given, { ...other(['another']), sinceAttemptEndedMs: GRACE_MS - 1 } as DocumentCommand)),
      ).toEqual(['LookUpMissed', 'DuplicateDetected']);
      const adopted = when(given, other(['another']));
      expect(adopted).toMatchObject([
        { type: 'SendAbsenceProven' },
        { type: 'UploadOpened', data: { attempt: 2, documentId: 'another', foundByLookUp: true } },
        { type: 'DuplicateDetected' },
      ]);
      expect(stateAfter([...given, ...adopted])).toMatchObject({
        phase: 'uploading',
        attempt: 2,
        finish: { step: 'open', attempt: 1 },
        documentId: 'another',
      });
      expect(when([...given, ...adopted], { type: 'BeginSend' })).toEqual([]);
      expect(when(given, other([]))).toMatchObject([
        { type: 'DocumentSent', data: { documentId: 'another', foundByLookUp: true } },
        { type: 'DuplicateDetected' },
      ]);
    },
  );

  it(
    'in a group, that was refused after an end without an answer, was finished by that: until the group is started ' +
      'the registry shows no difference',
    () => {
      const group = { groupId: 'g-1', index: 0, of: 2, kind: 'given' } as const;
      const member = { type: 'DocumentRegistered', data: { ...registration(), group } } as DocumentEvent;
      const inDoubt = [
        member,
        announcing,
        opened,
        finishing(),
        doubtful,
        provenOpen,
        finishing(2),
        { ...refused, data: { ...refused.data, round: 2 } } as DocumentEvent,
      ];
      expect(when(inDoubt, lookUp('open', 0, 2))).toMatchObject([
        { type: 'DocumentSent', data: { documentId: DOCUMENT_ID, foundByLookUp: true } },
      ]);
      expect(typesOf(when([member, announcing, opened, finishing(), refused], lookUp('open', 0)))).toEqual([
        'UploadProvenOpen',
      ]);
      expect(typesOf(when([registered(), ...inDoubt.slice(1)], lookUp('open', 0, 2)))).toEqual(['UploadProvenOpen']);
    },
  );

  it('that the registry no longer knows is announced anew, with proof', () => {
    const given = [...OPEN, finishing(), doubtful];
    const missed = when(given, lookUp('absent', 0));
    expect(typesOf(missed)).toEqual(['LookUpMissed']);
    expect(typesOf(when([...given, ...missed], lookUp('absent', GRACE_MS - 1)))).toEqual(['LookUpMissed']);
    expect(typesOf(when([...given, ...missed], lookUp('absent')))).toEqual(['SendAbsenceProven']);
    expect(stateAfter([...given, ...missed, ...when([...given, ...missed], lookUp('absent'))])).toMatchObject({
      phase: 'ready',
      send: { step: 'open', attempt: 2 },
    });
  });

  it('whose announcement has no answer goes on where the look-up finds it', () => {
    const given = [registered(), announcing, unconfirmed(1)];
    expect(when(given, lookUp('open'))).toEqual([
      { type: 'UploadOpened', data: { attempt: 1, documentId: DOCUMENT_ID, foundByLookUp: true, answerSha256: SHA } },
    ]);
    expect(typesOf(when(given, lookUp('taken')))).toEqual(['DocumentSent']);
  });

  it('takes no answer and no look-up of an earlier round, but good news whenever it comes', () => {
    const given = [...OPEN, finishing(), doubtful, provenOpen];
    expect(when(given, answered({ kind: 'unconfirmed', reason: 'late' }))).toEqual([]);
    expect(
      when([...given, finishing(2)], answered({ kind: 'not_delivered', reason: 'late', retryAfterMs: 1 })),
    ).toEqual([]);
    expect(
      when(
        [...given, finishing(2), { ...doubtful, data: { ...doubtful.data, round: 2 } } as DocumentEvent],
        lookUp('open', GRACE_MS, 1),
      ),
    ).toEqual([]);
    expect(typesOf(when(given, answered(FINISHED)))).toEqual(['DocumentSent']);
  });

  it('is sent where its end was heard after all, though it had counted as absent, and is not sent again', () => {
    const absent: DocumentEvent = {
      type: 'SendAbsenceProven',
      data: { attempt: 1, lookUps: 2, sinceAttemptEndedMs: GRACE_MS, answerSha256: SHA },
    };
    const given = [...OPEN, finishing(), doubtful, absent];
    const sent = when(given, answered(FINISHED));
    expect(sent).toMatchObject([{ type: 'DocumentSent', data: { attempt: 1, documentId: DOCUMENT_ID } }]);
    expect(when([...given, ...sent], { type: 'BeginSend', upload: true })).toEqual([]);
    expect(when(given, answered({ kind: 'unconfirmed', reason: 'late' }))).toEqual([]);
    const again: DocumentEvent[] = [
      { type: 'SendAttempted', data: { attempt: 2, account: 'main', upload: true } },
      { type: 'UploadOpened', data: { attempt: 2, documentId: 'd-2', foundByLookUp: false } },
    ];
    expect(when([...given, ...again], answered(FINISHED))).toMatchObject(sent);
    const twice: DocumentEvent = {
      type: 'DocumentSent',
      data: { attempt: 2, documentId: 'd-2', answerSha256: SHA, foundByLookUp: false },
    };
    expect(when([...given, ...again, twice], answered(FINISHED))).toMatchObject([
      { type: 'DuplicateDetected', data: { documentIds: ['d-2', DOCUMENT_ID] } },
    ]);
  });

  it('does not take a status for its own before it is sent', () => {
    expect(when(OPEN, { type: 'ObserveStatus', status: 'failed', answerSha256: SHA })).toEqual([]);
    expect(() => stateAfter([...OPEN, observed('processed')])).toThrow('StatusObserved in phase uploading');
    expect(() => stateAfter([registered(), finishing()])).toThrow('UploadFinishAttempted in phase ready');
  });
});

describe('the tasks of a large document', () => {
  const RULES: DocumentRules = {
    statusPollMs: 2_000,
    statusAfterSendMs: 3_000,
    receiptAfterStatusMs: 5_000,
    failedGraceMs: 0,
    unknownGraceMs: GRACE_MS,
    statusGridMs: 1_000,
    lookUpEveryMs: 5_000,
  };
  const keysFor = (...events: DocumentEvent[]): string[] => {
    let state = DOCUMENT_SAGA.initial;
    return events.flatMap((event, version) => {
      const after = reactToDocumentEvent(RULES)(
        state,
        { ...event, stream: 'document-r-9', version, handledAt: new Date(0) },
        'r-9',
      );
      state = after.state;
      return after.tasks.map((task) => task.key);
    });
  };

  it('have a key for each round and each look-up', () => {
    const later = { ...doubtful, data: { ...doubtful.data, round: 2 } } as DocumentEvent;
    expect(keysFor(...OPEN, finishing(), doubtful, seenOpen, provenOpen, finishing(2), later)).toEqual([
      ...[
        'send:r-9:1',
        'upload:r-9:1:1',
        'look_up:r-9:1:round-1:1',
        'look_up:r-9:1:round-1:2',
        'upload:r-9:1:2',
        'look_up:r-9:1:round-2:1',
      ],
    ]);
  });

  it('have one for bytes that go to another upload, beside a send that finds nothing to do', () => {
    const adopted: DocumentEvent[] = [
      { type: 'SendAbsenceProven', data: { attempt: 1, lookUps: 2, sinceAttemptEndedMs: GRACE_MS, answerSha256: SHA } },
      { type: 'UploadOpened', data: { attempt: 2, documentId: 'another', foundByLookUp: true, answerSha256: SHA } },
    ];
    expect(keysFor(...OPEN, finishing(), doubtful, ...adopted).slice(-2)).toEqual(['send:r-9:2', 'upload:r-9:2:1']);
  });
});
