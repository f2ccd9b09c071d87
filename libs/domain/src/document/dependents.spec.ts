import { describe, expect, it } from '@jest/globals';
import { documentStream, type DocumentEvent } from './events.js';
import { attempted, concludedFailed, DOCUMENT_ID, observed, registered, sent, SHA } from '../../test/given-document.js';
import type { DocumentRules } from './planned-task.js';
import { fromFlags, type DocumentSagaState, type FlaggedState } from './saga-state.js';
import type { DocumentReaction } from './dependents.js';
import { DOCUMENT_SAGA, keysOfDocumentEvent, reactToDocumentEvent } from '../saga/document-saga.js';

const GRACE_MS = 1_200_000;
const RULES: DocumentRules = {
  statusAfterSendMs: 3_000,
  receiptAfterStatusMs: 5_000,
  statusPollMs: 2_000,
  failedGraceMs: GRACE_MS,
  unknownGraceMs: 60_000,
  statusGridMs: 1_000,
  lookUpEveryMs: 2_000,
};
const START_MS = Date.parse('2026-03-01T10:00:00.000Z');
const at = (i: number, plusMs = 0) => new Date(START_MS + i * 1_000 + plusMs);
const recorded = (event: DocumentEvent, i: number, requestId = 'r-9') => ({
  ...event,
  stream: documentStream(requestId),
  version: i,
  handledAt: at(i),
});
const react = reactToDocumentEvent(RULES);

const dependent = registered([{ commandId: 'c-9', requestId: 'r-9' }]);
const failure = (cause: 'registry_failed' | 'send_refused' | 'not_processed' | 'predecessor_failed'): DocumentEvent =>
  ({ ...concludedFailed, data: { ...concludedFailed.data, cause } }) as DocumentEvent;
const ended = (outcome: 'accepted' | 'rejected'): DocumentEvent => ({
  type: 'DocumentConcluded',
  data: { outcome, docType: 415, documentSha256: SHA },
});
const revised: DocumentEvent = {
  type: 'ConclusionRevised',
  data: { outcome: 'accepted', previousOutcome: 'failed', docType: 415, documentSha256: SHA },
};
const SENT = [registered(), attempted(1), sent(), observed('failed')];

/** What follows from the last of these events of r-9, as the runner keeps it: what is done is forgotten. */
function after(events: DocumentEvent[], from: DocumentSagaState = DOCUMENT_SAGA.initial): DocumentReaction {
  return events.reduce<DocumentReaction>(
    (before, event, i) => {
      const reaction = react(before.state, recorded(event, i), 'r-9');
      return DOCUMENT_SAGA.isDone(reaction.state) ? { ...reaction, state: DOCUMENT_SAGA.initial } : reaction;
    },
    { state: from, tasks: [] },
  );
}
const registeredAfter = (events: DocumentEvent[]): DocumentReaction =>
  react(after(events).state, recorded(dependent, 10, 'r-10'), 'r-9');
const ROW = { dependent: 'r-10', data: { account: 'main' } };
const late = (more: object) => ({
  key: 'note_predecessor:r-10:r-9',
  kind: 'note_predecessor',
  lane: 'internal',
  payload: { requestId: 'r-10', account: 'main', predecessor: 'r-9' },
  ...more,
});

describe('a document that registers after another one', () => {
  it('concerns both instances, and leaves a row and not a state', () => {
    expect(keysOfDocumentEvent(recorded(dependent, 0, 'r-10'))).toEqual(['r-10', 'r-9']);
    const { state } = after([registered()]);
    const reaction = react(state, recorded(dependent, 1, 'r-10'), 'r-9');
    expect(reaction).toEqual({ state, tasks: [], dependents: [ROW] });
    expect(reaction.state).toBe(state);
  });

  it('has the log asked where the other one is not known here, and told only what nothing can revise', () => {
    const payload = { requestId: 'r-10', account: 'main', predecessor: 'r-9', finalOnly: true };
    expect(registeredAfter([])).toEqual({
      state: DOCUMENT_SAGA.initial,
      tasks: [late({ dueAt: new Date(0), payload })],
      dependents: [ROW],
    });
    expect(registeredAfter([registered(), ended('accepted')])).toMatchObject({
      tasks: [late({ payload })],
      dependents: [ROW],
    });
  });

  it('hears of a bare FAILED when its grace is over, and of another failure that stays known at once', () => {
    const [told, ...reads] = registeredAfter([...SENT, concludedFailed]).tasks;
    expect(told).toEqual(late({ dueAt: at(4, GRACE_MS) }));
    // Nobody waited when it ended: its status is read again for this one's sake.
    expect(reads.map(({ key, dueAt }) => [key, dueAt])).toEqual(
      [2, 4, 8, 16, 32, 63].map((times) => [`status:r-9:late-${times}`, at(10, times * GRACE_MS)]),
    );
    expect(registeredAfter([registered(), failure('not_processed')]).tasks).toEqual([late({ dueAt: at(1) })]);
    expect(registeredAfter([...SENT, failure('not_processed')]).tasks).toEqual([late({ dueAt: at(4) })]);
  });

  it('is no longer looked for once it is released or ended', () => {
    const own = (event: DocumentEvent) =>
      react(after([registered([{ commandId: 'c-1', requestId: 'r-1' }])]).state, recorded(event, 2), 'r-9')
        .stopsWaiting;
    expect(own({ type: 'DocumentReleased', data: {} })).toBe(true);
    expect(
      own({
        type: 'DocumentRefused',
        data: { predecessor: { commandId: 'c-1', requestId: 'r-1' }, predecessorOutcome: 'failed' },
      }),
    ).toBe(true);
    expect(
      own({
        type: 'DocumentHeld',
        data: { hold: { kind: 'after', for: { commandId: 'c-1', requestId: 'r-1' }, outcome: 'failed' } },
      }),
    ).toBeUndefined();
  });

  it('is no stranger: another event that is routed here is a broken invariant, and an unknown one stops the saga', () => {
    expect(() => react(DOCUMENT_SAGA.initial, recorded(attempted(1), 0, 'r-10'), 'r-9')).toThrow(
      'routed to another document',
    );
    expect(() =>
      react(
        after([registered()]).state,
        recorded({ type: 'DocumentForgotten', data: {} } as unknown as DocumentEvent, 0),
        'r-9',
      ),
    ).toThrow('unknown document event');
  });
});

describe('the end of a document', () => {
  const release = {
    key: 'release_dependents:r-9:4',
    kind: 'release_dependents',
    lane: 'internal',
    payload: { requestId: 'r-9', account: 'main', predecessor: 'r-9' },
  };

  it('is told by one task, where anybody waits', () => {
    expect(after([...SENT, ended('accepted')])).toMatchObject({
      tasks: [],
      tasksForDependents: [{ ...release, dueAt: at(4) }],
    });
    expect(after([...SENT, ended('rejected')]).tasksForDependents).toMatchObject([{ ...release, dueAt: at(4) }]);
    expect(after([...SENT, failure('send_refused')]).tasksForDependents).toMatchObject([{ ...release, dueAt: at(4) }]);
  });

  it('waits for the grace when it is a bare FAILED, and its status is read again a few times', () => {
    const [told, ...reads] = after([...SENT, concludedFailed]).tasksForDependents ?? [];
    expect(told).toMatchObject({ ...release, dueAt: at(4, GRACE_MS) });
    expect(reads.map(({ key, dueAt }) => [key, (dueAt.getTime() - at(4).getTime()) / GRACE_MS])).toEqual(
      [2, 4, 8, 16, 32, 63].map((times) => [`status:r-9:late-${times}`, times]),
    );
    expect(reads[0]).toMatchObject({
      kind: 'status',
      lane: 'main/status',
      payload: { requestId: 'r-9', account: 'main', documentId: DOCUMENT_ID },
    });
  });

  it('is told anew when it is revised, at once', () => {
    expect(after([...SENT, concludedFailed, observed('processed'), revised]).tasksForDependents).toMatchObject([
      { key: 'release_dependents:r-9:6', dueAt: at(6) },
    ]);
  });

  it('of a document that was sent in place of another is told in any case: others may wait for that one', () => {
    const resend = {
      ...registered(),
      data: { ...registered().data, resendOf: { commandId: 'c-1', requestId: 'r-1' } },
    } as DocumentEvent;
    expect(after([resend, ended('accepted')]).tasks).toMatchObject([{ key: 'release_dependents:r-9:1' }]);
    const member = {
      ...registered(),
      data: {
        ...registered().data,
        group: { groupId: 'g-2', index: 0, of: 1, kind: 'resumption' },
        supersedes: { commandId: 'c-1', requestId: 'r-1' },
      },
    } as DocumentEvent;
    expect(after([member, ended('accepted')]).tasks).toMatchObject([
      { kind: 'note_member' },
      { key: 'release_dependents:r-9:1' },
    ]);
  });

  it('is forgotten when nothing can revise it, and kept when something can', () => {
    for (const last of [ended('accepted'), ended('rejected'), failure('send_refused'), failure('predecessor_failed')])
      expect(after([...SENT, last]).state).toBe(DOCUMENT_SAGA.initial);
    expect(after([...SENT, concludedFailed, revised]).state).toBe(DOCUMENT_SAGA.initial);
    for (const cause of ['registry_failed', 'not_processed'] as const)
      expect(after([...SENT, failure(cause)]).state).toMatchObject({ end: { outcome: 'failed' }, account: 'main' });
  });

  it('is not undone by what still comes when it is forgotten', () => {
    const still: DocumentEvent[] = [
      observed('processing'),
      observed('processed'),
      { type: 'DocumentResent', data: { by: { commandId: 'c-2', requestId: 'r-2' } } },
      { type: 'DuplicateDetected', data: { documentIds: ['a', 'b'], answerSha256: SHA } },
    ];
    for (const event of still)
      expect(after([...SENT, ended('accepted'), event])).toEqual({ state: DOCUMENT_SAGA.initial, tasks: [] });
  });
});

describe('a state that a version before wrote', () => {
  const stored = (more: Partial<FlaggedState> = {}): FlaggedState => ({
    account: 'main',
    receiptsAsked: 0,
    compareCopy: false,
    documentId: DOCUMENT_ID,
    ...more,
  });
  const dependents = [
    { requestId: 'r-10', account: 'main' },
    { requestId: 'g-1', account: 'main', kind: 'group' as const },
  ];
  const rows = [ROW, { dependent: 'g-1', data: { account: 'main', kind: 'group' } }];

  it('gives its dependents to rows with its next event, whichever that is, and keeps the rest', () => {
    const old = stored({ dependents });
    const reaction = react(old, recorded(ended('accepted'), 4), 'r-9');
    expect(reaction).toMatchObject({ dependents: rows, tasksForDependents: [{ key: 'release_dependents:r-9:4' }] });
    expect(react(old, recorded(dependent, 4, 'r-11'), 'r-9')).toMatchObject({
      dependents: [...rows, { dependent: 'r-11' }],
      tasks: [],
    });
    const { state } = react(old, recorded(observed('processed'), 4), 'r-9');
    expect(state).toEqual({
      ...{ noun: 'document', phase: 'open', account: 'main', documentId: DOCUMENT_ID, receiptsAsked: 1 },
    });
  });

  it('that counts as failed, without saying why, is treated as one that may turn', () => {
    const failed = stored({ concluded: 'failed' });
    expect(react(failed, recorded(dependent, 10, 'r-10'), 'r-9').tasks).toEqual([late({ dueAt: at(10, GRACE_MS) })]);
    const accepted = stored({ concluded: 'accepted' });
    expect(react(accepted, recorded(dependent, 10, 'r-10'), 'r-9').tasks).toEqual([late({ dueAt: new Date(0) })]);
  });

  it('goes on in its phase, with all that it remembers', () => {
    const known = { account: 'main', isResend: true as const };
    const doubted = { attemptEndedAt: at(2).toISOString(), round: 2 };
    expect(fromFlags(stored({ ...known, ...doubted, memberOf: 'g-1', compareCopy: true }))).toEqual({
      ...{ ...known, ...doubted, memberOf: 'g-1', compareCopy: true, documentId: DOCUMENT_ID },
      ...{ noun: 'document', phase: 'open', receiptsAsked: 0 },
    });
    const tellFrom = at(9).toISOString();
    const ends = [
      [{ mayTurn: true }, 'turning'],
      [{ isFinal: true }, 'final'],
      [{}, 'revisable'],
    ] as const;
    for (const [flag, certainty] of ends)
      expect(fromFlags(stored({ concluded: 'failed', tellFrom, ...flag }))).toMatchObject({
        phase: 'ended',
        end: { outcome: 'failed', tellFrom, certainty },
      });
    const group = { first: 'r-1', checks: 3, looks: 1, attempts: 2, attemptEndedAt: at(2).toISOString() };
    expect(fromFlags(stored({ group }))).toEqual({ noun: 'group', phase: 'open', account: 'main', ...group });
  });

  it('of which nothing was known but its end, or nothing at all, is no open one', () => {
    expect(fromFlags(stored({ account: '' }))).toBe(DOCUMENT_SAGA.initial);
    const revised = fromFlags(stored({ account: '', concluded: 'partial' }));
    expect(revised).toEqual({ phase: 'revised', end: { outcome: 'partial', certainty: 'revisable' } });
    expect(react(revised, recorded(observed('processed'), 4), 'r-9')).toEqual({ state: revised, tasks: [] });
  });
});
