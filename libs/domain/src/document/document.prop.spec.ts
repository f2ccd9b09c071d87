import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { decide, type DocumentCommand } from './decide.js';
import type { DocumentEvent, DocumentReference } from './events.js';
import { FIRST, OTHER_SHA, registration, SECOND, SHA } from '../../test/given-document.js';
import { ABSENT, evolve, type DocumentState } from './state.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);
const RUNS = sized({ test: 300, soak: 1_000 });
const UNKNOWN_GRACE_MS = 60_000;

// Weights lead runs into the far corners: most answers leave the outcome open, most look-ups find nothing.
const attempt = fc.oneof(
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 3, arbitrary: fc.constant(2) },
  { weight: 1, arbitrary: fc.constantFrom(3, 4) },
);
const documentId = fc.constantFrom('d-1', 'd-2', 'd-3');
const outcome = fc.constantFrom('accepted' as const, 'partial' as const, 'rejected' as const, 'failed' as const);
const status = fc.constantFrom(
  'uploading' as const,
  'processing' as const,
  'processed' as const,
  'failed_result_ready' as const,
  'failed' as const,
);
const after = fc.constantFrom<DocumentReference[]>([], [], [FIRST], [FIRST, SECOND], [FIRST, FIRST]);

const answer = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('sent' as const), documentId, answerSha256: fc.constant(SHA) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'refused' as const, code: '400', text: 'no', answerSha256: SHA }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'not_delivered' as const, reason: '429', retryAfterMs: 100 }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'unconfirmed' as const, reason: 'timeout' }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('announced' as const), documentId }) },
);
const round = fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.constantFrom(2, 3));
const uploadAnswer = fc.oneof(
  fc.record({ kind: fc.constant('sent' as const), documentId, answerSha256: fc.constant(SHA) }),
  fc.constant({ kind: 'refused' as const, code: '400', text: 'no', answerSha256: SHA }),
  fc.constant({ kind: 'not_delivered' as const, reason: '429', retryAfterMs: 100 }),
  { weight: 2, arbitrary: fc.constant({ kind: 'unconfirmed' as const, reason: 'timeout' }) },
);

const uploadCommands = [
  fc.record({ type: fc.constant('BeginFinish' as const), attempt: fc.constant(1), round }),
  fc.record({
    type: fc.constant('RecordUploadAnswer' as const),
    attempt: fc.constant(1),
    round,
    answer: uploadAnswer.filter((one) => one.kind !== 'sent'),
  }),
  fc.record({
    type: fc.constant('RecordLookUp' as const),
    attempt: fc.constant(1),
    round,
    documentIds: fc.constantFrom<string[]>(['d-1'], ['d-1'], []),
    uploading: fc.constant<string[]>(['d-1']),
    sinceAttemptEndedMs: fc.constantFrom(0, UNKNOWN_GRACE_MS),
    unknownGraceMs: fc.constant(UNKNOWN_GRACE_MS),
    answerSha256: fc.constant(SHA),
  }),
];

const command: fc.Arbitrary<DocumentCommand> = fc.oneof(
  fc.record({ type: fc.constant('Register' as const), registration: after.map(registration) }),
  fc.record({
    type: fc.constant('NotePredecessor' as const),
    requestId: fc.constantFrom('r-1', 'r-2', 'r-3'),
    outcome,
  }),
  {
    weight: 4,
    arbitrary: fc.constant<DocumentCommand>({ type: 'BeginSend', signatureSha256: SHA, certificateSha256: SHA }),
  },
  { weight: 2, arbitrary: fc.constant<DocumentCommand>({ type: 'BeginSend', upload: true }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('BeginFinish' as const), attempt, round }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('RecordUploadAnswer' as const), attempt, round, answer: uploadAnswer }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('RecordSendAnswer' as const), attempt, answer }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('RecordLookUp' as const),
      attempt,
      documentIds: fc.oneof(
        { weight: 12, arbitrary: fc.constant<string[]>([]) },
        fc.uniqueArray(documentId, { maxLength: 3 }),
      ),
      uploading: fc.uniqueArray(documentId, { maxLength: 3 }),
      round,
      sinceAttemptEndedMs: fc.constantFrom(
        0,
        UNKNOWN_GRACE_MS - 1,
        UNKNOWN_GRACE_MS,
        UNKNOWN_GRACE_MS,
        UNKNOWN_GRACE_MS * 2,
      ),
      unknownGraceMs: fc.constant(UNKNOWN_GRACE_MS),
      answerSha256: fc.constant(SHA),
    }),
  },
  fc.record({ type: fc.constant('ObserveStatus' as const), status, answerSha256: fc.constant(SHA) }),
  fc.record({
    type: fc.constant('RecordReceipt' as const),
    receipt: fc.record({
      receiptSha256: fc.constant(OTHER_SHA),
      result: fc.constantFrom('accepted' as const, 'partial' as const, 'rejected' as const),
      acceptedAt: fc.constant('2026-03-01T10:00:00Z'),
      errorCount: fc.nat({ max: 3 }),
    }),
  }),
  fc.record({ type: fc.constant('RecordDownload' as const), documentSha256: fc.constantFrom(SHA, OTHER_SHA) }),
);

/** Most runs begin with a registration, some of those waiting; a few begin without one. */
const commands = fc
  .tuple(
    fc.constantFrom('plain', 'plain', 'plain', 'plain', 'waiting', 'none'),
    fc.array(command, { minLength: 20, maxLength: 60, size: 'max' }),
  )
  .map(([begin, rest]): DocumentCommand[] =>
    begin === 'none'
      ? rest
      : [{ type: 'Register', registration: registration(begin === 'waiting' ? [FIRST] : []) }, ...rest],
  );

/** Each batch of events that a command led to, with the state before it. Throws when `decide` or `evolve` does. */
function run(
  sequence: DocumentCommand[],
): { before: DocumentState; command: DocumentCommand; events: DocumentEvent[] }[] {
  let state = ABSENT;
  return sequence.map((one) => {
    const before = state;
    const events = decide(before, one);
    state = events.reduce(evolve, before);
    return { before, command: one, events };
  });
}

const history = (sequence: DocumentCommand[]): DocumentEvent[] => run(sequence).flatMap((step) => step.events);

function check(property: (sequence: DocumentCommand[]) => void): void {
  fc.assert(fc.property(commands, property), { seed: SEED, numRuns: RUNS, verbose: fc.VerbosityLevel.None });
}

/** What counted as absent was not looked up there; another one, open there, takes the place of the next attempt. */
function expectNotSeen(before: DocumentState, cause: DocumentCommand, [, next]: DocumentEvent[]): void {
  if (cause.type !== 'RecordLookUp') throw new Error(`absent by ${cause.type}`);
  const [other] = cause.documentIds;
  if (other === undefined) return;
  expect(before).toMatchObject({ phase: 'uploading', documentId: expect.not.stringMatching(`^${other}$`) });
  expect(next).toMatchObject({ type: 'UploadOpened', data: { documentId: other } });
}

/** Events that, seen after an attempt, prove that it did not reach the registry. */
const NON_DELIVERY = ['SendNotDelivered', 'SendAbsenceProven'];

describe(`any sequence of commands to one document (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('never throws, and never leads to an event that evolve refuses', () => {
    check((sequence) => void run(sequence));
  });

  it('never sends while an earlier attempt may have landed (principles 2.2)', () => {
    let resends = 0;
    check((sequence) => {
      let openAttempt: number | undefined;
      for (const event of history(sequence)) {
        if (event.type === 'SendAttempted') {
          expect(openAttempt).toBeUndefined();
          openAttempt = event.data.attempt;
          if (openAttempt > 1) resends += 1;
        }
        // A late answer tells where the bytes go: that is the attempt from then on.
        if (event.type === 'UploadOpened') openAttempt = event.data.attempt;
        if (NON_DELIVERY.includes(event.type)) {
          expect((event.data as { attempt: number }).attempt).toBe(openAttempt);
          openAttempt = undefined;
        }
      }
    });
    // Without a second attempt anywhere the property would hold of nothing.
    expect(resends).toBeGreaterThan(RUNS / 20);
  });

  it('never tells the end of an upload while an earlier one may land', () => {
    let again = 0;
    const inUpload = fc.array(fc.oneof(...uploadCommands, command), { minLength: 20, maxLength: 60, size: 'max' });
    const property = fc.property(inUpload, (rest) => {
      let open = false;
      const sequence: DocumentCommand[] = [
        { type: 'Register', registration: registration([]) },
        { type: 'BeginSend', upload: true },
        { type: 'RecordSendAnswer', attempt: 1, answer: { kind: 'announced', documentId: 'd-1' } },
        ...rest,
      ];
      for (const event of history(sequence)) {
        if (event.type === 'UploadFinishAttempted') {
          expect(open).toBe(false);
          open = true;
          if (event.data.round > 1) again += 1;
        }
        if (['UploadFinishNotDelivered', 'UploadProvenOpen', 'SendAbsenceProven'].includes(event.type)) open = false;
      }
    });
    fc.assert(property, { seed: SEED, numRuns: RUNS });
    expect(again).toBeGreaterThan(0);
  });

  it('never sends what the registry has, what was refused, or what is held', () => {
    check((sequence) => {
      const over = new Set(['DocumentSent', 'SendRefused', 'DocumentRefused', 'DocumentConcluded']);
      const events = history(sequence);
      const end = events.findIndex((event) => over.has(event.type));
      if (end >= 0) expect(events.slice(end).filter((event) => event.type === 'SendAttempted')).toEqual([]);
      const held = events.findIndex((event) => event.type === 'DocumentWaiting');
      const released = events.findIndex((event) => event.type === 'DocumentReleased');
      const first = events.findIndex((event) => event.type === 'SendAttempted');
      if (held >= 0 && first >= 0) expect(released).toBeGreaterThan(held);
      if (held >= 0 && first >= 0) expect(first).toBeGreaterThan(released);
    });
  });

  it(
    'leaves sending or unconfirmed for ready only with proof: two look-ups without a hit, the last after the ' +
      'grace, or surely not delivered',
    () => {
      let proofs = 0;
      check((sequence) => {
        let missedSinceUnconfirmed = 0;
        for (const { before, command: cause, events } of run(sequence)) {
          const next = events.reduce(evolve, before);
          if ((before.phase === 'sending' || before.phase === 'unconfirmed') && next.phase === 'ready') {
            expect(events).toHaveLength(1);
            expect(NON_DELIVERY).toContain(events[0]?.type);
          }
          if (events[0]?.type === 'SendUnconfirmed') missedSinceUnconfirmed = 0;
          if (events[0]?.type === 'SendAbsenceProven') {
            proofs += 1;
            expect(missedSinceUnconfirmed).toBeGreaterThanOrEqual(1);
            expectNotSeen(before, cause, events);
            expect(events[0].data.sinceAttemptEndedMs).toBeGreaterThanOrEqual(UNKNOWN_GRACE_MS);
          }
          if (events[0]?.type === 'LookUpMissed') missedSinceUnconfirmed += 1;
        }
      });
      expect(proofs).toBeGreaterThan(RUNS / 100);
    },
  );

  it('concludes at most once; a revision follows a failure, with a receipt, at most once', () => {
    let conclusions = 0;
    let revisions = 0;
    check((sequence) => {
      const events = history(sequence);
      const concluded = events.filter((event) => event.type === 'DocumentConcluded');
      const revised = events.filter((event) => event.type === 'ConclusionRevised');
      expect(concluded.length).toBeLessThanOrEqual(1);
      expect(revised.length).toBeLessThanOrEqual(concluded.length);
      for (const event of revised) {
        expect(event.data.previousOutcome).toBe('failed');
        expect(event.data.receiptSha256).toBe(OTHER_SHA);
      }
      conclusions += concluded.length;
      revisions += revised.length;
    });
    expect(conclusions).toBeGreaterThan(RUNS / 20);
    expect(revisions).toBeGreaterThan(0);
  });

  it('says nothing new when the last command is repeated, alarms and downloads apart', () => {
    check((sequence) => {
      let state = ABSENT;
      for (const one of sequence) {
        state = decide(state, one).reduce(evolve, state);
        // A repeated look-up is another look-up, a repeated begin after a proof another attempt; every other command is
        // idempotent.
        if (one.type === 'RecordLookUp' || one.type === 'RecordDownload') continue;
        const again = decide(state, one).filter((event) => event.type !== 'DuplicateDetected');
        expect(again).toEqual([]);
      }
    });
  });
});
