import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { evolveAttempt, FIRST_ATTEMPT, type Attempt, type AttemptFact, type CallAnswer } from './attempt.js';
import { decideAttempt, TWO_PAST_GRACE, type AttemptCommand, type AttemptPolicy } from './decide.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_122);
const RUNS = 500;
const GRACE_MS = 60_000;
const SHA = 'a'.repeat(64);

/** A policy like each of those in use: refusals doubted after a doubt, or the first few of them. */
const policy: fc.Arbitrary<AttemptPolicy> = fc.record({
  believes: fc.constantFrom<AttemptPolicy['believes']>(
    (_, { doubts }) => doubts === 0 || doubts >= 3,
    (refusal, { refusals }) => refusal.kind === 'account_refused' || refusals >= 2,
  ),
  proof: fc.constantFrom(TWO_PAST_GRACE, { lookUps: 3, isPastGrace: true }),
  proofAfterRefusal: fc.constantFrom(TWO_PAST_GRACE, { lookUps: 1, isPastGrace: false }),
});

const answer = fc.constantFrom<CallAnswer | { kind: 'done'; answerSha256: string }>(
  { kind: 'refused', code: '400', text: 'no', answerSha256: SHA },
  { kind: 'account_refused', cause: 'signature', code: '401', text: '', retryAfterMs: 500, answerSha256: SHA },
  { kind: 'not_delivered', reason: '429', retryAfterMs: 100 },
  { kind: 'unconfirmed', reason: 'timeout' },
  { kind: 'unconfirmed', reason: 'timeout' },
  { kind: 'unconfirmed', reason: 'timeout' },
);
/** Which call an answer or a look-up is about: the newest, or another. */
const about = fc.constantFrom(0, 0, 0, 0, 0, 0, -1, 1);
type Asked = { command: AttemptCommand; about: number };
const command: fc.Arbitrary<AttemptCommand> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<AttemptCommand>({ type: 'Begin' }) },
  { weight: 3, arbitrary: answer.map((one): AttemptCommand => ({ type: 'RecordAnswer', attempt: 0, answer: one })) },
  {
    weight: 1,
    arbitrary: fc.constant<AttemptCommand>({
      type: 'RefuseAhead',
      refusal: { kind: 'refused', code: '7', text: '', answerSha256: SHA },
    }),
  },
  {
    weight: 5,
    arbitrary: fc.constantFrom(0, GRACE_MS - 1, GRACE_MS, GRACE_MS).map((sinceAttemptEndedMs): AttemptCommand => ({
      type: 'RecordLookUp',
      attempt: 0,
      isDone: false,
      sinceAttemptEndedMs,
      unknownGraceMs: GRACE_MS,
      answerSha256: SHA,
    })),
  },
);
const commands = fc.array(fc.record({ command, about }), { minLength: 20, maxLength: 80, size: 'max' });

interface Lived {
  before: Attempt;
  command: AttemptCommand;
  fact: AttemptFact;
}

/** The facts of one attempt after the other until one ends it, each with what led to it. */
function live(sequence: Asked[], by: AttemptPolicy): Lived[] {
  const lived: Lived[] = [];
  let state = FIRST_ATTEMPT;
  for (const { command: asked, about: offset } of sequence) {
    const one = 'attempt' in asked ? { ...asked, attempt: state.attempt + offset } : asked;
    const fact = decideAttempt(state, one, by);
    if (fact === undefined) continue;
    lived.push({ before: state, command: one, fact });
    if (fact.type === 'done' || fact.type === 'refused') break;
    state = evolveAttempt(state, fact);
  }
  return lived;
}

const check = (property: (lived: Lived[], by: AttemptPolicy, sequence: Asked[]) => void): void =>
  fc.assert(
    fc.property(commands, policy, (sequence, by) => property(live(sequence, by), by, sequence)),
    { seed: SEED, numRuns: RUNS, verbose: fc.VerbosityLevel.None },
  );

describe(`any sequence of commands to an uncertain call (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  it('never makes a call while an earlier one may still land (principles 2.2)', () => {
    let again = 0;
    check((lived) => {
      let open: number | undefined;
      for (const { fact } of lived) {
        if (fact.type === 'begun') {
          expect(open).toBeUndefined();
          open = fact.data.attempt;
          if (open > 1) again += 1;
        }
        if (fact.type === 'not_delivered' || fact.type === 'proven_undone') open = undefined;
      }
    });
    expect(again).toBeGreaterThan(RUNS / 10);
  });

  it('takes a call for undone only after as many look-ups as the policy wants, the last past the grace', () => {
    let proofs = 0;
    check((lived, by) => {
      let lookUps = 0;
      let wasRefused = false;
      for (const { fact, command: asked } of lived) {
        if (fact.type === 'unconfirmed' || fact.type === 'doubted') lookUps = 0;
        if (fact.type === 'unconfirmed' || fact.type === 'doubted') wasRefused = fact.type === 'doubted';
        if (asked.type === 'RecordLookUp') lookUps += 1;
        if (fact.type !== 'proven_undone') continue;
        proofs += 1;
        const proof = wasRefused ? by.proofAfterRefusal : by.proof;
        expect(lookUps).toBe(fact.data.lookUps);
        expect(lookUps).toBeGreaterThanOrEqual(proof.lookUps);
        if (proof.isPastGrace) expect(fact.data.sinceAttemptEndedMs).toBeGreaterThanOrEqual(GRACE_MS);
      }
    });
    expect(proofs).toBeGreaterThan(RUNS / 10);
  });

  it('takes a refusal for the last word only where the policy believes it, and looks it up elsewhere', () => {
    const seen = { refused: 0, doubted: 0 };
    check((lived, by) => {
      for (const { fact, before } of lived) {
        if (fact.type === 'refused') expect(by.believes({ kind: 'refused', ...fact.data }, before)).toBe(true);
        if (fact.type === 'doubted') expect(by.believes(fact.data.refusal, before)).toBe(false);
        if (fact.type === 'refused' || fact.type === 'doubted') seen[fact.type] += 1;
      }
    });
    expect(Math.min(seen.refused, seen.doubted)).toBeGreaterThan(RUNS / 20);
  });

  it('counts calls without a gap, and says nothing of a call that is not the newest', () => {
    check((lived) => {
      let newest = 0;
      for (const { fact } of lived) {
        if (fact.type === 'begun') expect(fact.data.attempt).toBeGreaterThan(newest);
        expect(fact.data.attempt - newest).toBeLessThanOrEqual(1);
        newest = Math.max(newest, fact.data.attempt);
        expect(fact.data.attempt).toBe(newest);
      }
    });
  });

  it('hears that it is done whenever that comes', () => {
    check((lived, by) => {
      for (const { before } of lived) {
        const done = { type: 'RecordAnswer', attempt: 1, answer: { kind: 'done', answerSha256: SHA } } as const;
        expect(decideAttempt(before, done, by)).toEqual({
          type: 'done',
          data: { attempt: 1, answerSha256: SHA, foundByLookUp: false },
        });
      }
    });
  });

  it('says nothing new when a command is repeated, look-ups apart', () => {
    check((lived, by) => {
      for (const { before, command: asked, fact } of lived) {
        if (asked.type === 'RecordLookUp' || fact.type === 'done' || fact.type === 'refused') continue;
        expect(decideAttempt(evolveAttempt(before, fact), asked, by)).toBeUndefined();
      }
    });
  });
});
