import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sized } from '../../../../test/support/sized.js';
import { decide, type DocumentCommand } from './decide.js';
import type { DocumentEvent } from './events.js';
import type { GateFinding } from './gate-events.js';
import { FIRST, registration, SHA } from '../../test/given-document.js';
import { ABSENT, evolve } from './state.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const RUNS = sized({ test: 400, soak: 4_000 });

const knownAt = fc.integer({ min: 1, max: 6 }).map(String);
const finding: fc.Arbitrary<GateFinding> = fc.record({
  packs: fc.constant([]),
  packCount: fc.constantFrom(0, 1, 2),
  knownAt,
});
const forbidding = finding.map((one) => ({ ...one, packCount: one.packCount + 1 }));
const outcome = fc.constantFrom('accepted' as const, 'rejected' as const);
const predecessors: fc.Arbitrary<string[]> = fc.oneof(
  fc.constant<string[]>(['r-1']),
  knownAt.map((one) => [`gate@${one}`]),
);

const command: fc.Arbitrary<DocumentCommand> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('HoldAtGate' as const), finding: forbidding }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('WarnAtGate' as const), finding: forbidding }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('RejudgeAtGate' as const), holdKnownAt: knownAt, finding }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('WaiveHolds' as const), predecessors }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('EndHeld' as const), predecessors }) },
  { weight: 2, arbitrary: fc.constant<DocumentCommand>({ type: 'BeginSend' }) },
  fc.record({ type: fc.constant('NotePredecessor' as const), requestId: fc.constant('r-1'), outcome }),
  fc.integer({ min: 1, max: 3 }).map((round): DocumentCommand => {
    const met = { ...FIRST, items: [], itemCount: 0 };
    return { type: 'WaitForItems', round, for: [met] };
  }),
  fc.constant<DocumentCommand>({
    type: 'RecordSendAnswer',
    attempt: 1,
    answer: { kind: 'not_delivered', reason: '429', retryAfterMs: 1, answerSha256: SHA },
  }),
);
const lives = fc.array(command, { minLength: 5, maxLength: 40, size: 'max' });

const isGateHold = (event: DocumentEvent): boolean => event.type === 'DocumentHeld' && event.data.hold.kind === 'gate';

describe(`any life of a document at the gate (seed ${SEED}; repeat with PROPERTY_SEED)`, () => {
  const check = (property: (events: DocumentEvent[]) => void): void => {
    const life = fc.property(lives, fc.boolean(), (commands, isLate) => {
      const events: DocumentEvent[] = [];
      let state = ABSENT;
      const given: DocumentCommand[] = [
        { type: 'Register', registration: registration(isLate ? [FIRST] : []) },
        ...commands,
      ];
      for (const one of given) {
        const next = decide(state, one);
        state = next.reduce(evolve, state);
        expect(decide(state, one)).toEqual([]);
        events.push(...next);
      }
      property(events);
    });
    fc.assert(life, { seed: SEED, numRuns: RUNS });
  };

  it('sends nothing between a hold and the release, and releases only what nothing holds', () => {
    let sends = 0;
    check((events) => {
      let isHeld = false;
      for (const event of events) {
        if (isGateHold(event)) isHeld = true;
        if (event.type === 'GateHoldLifted') isHeld = false;
        if (event.type === 'HoldWaived' && event.data.holds.some((one) => one.kind === 'gate')) isHeld = false;
        if (event.type !== 'DocumentReleased' && event.type !== 'SendAttempted') continue;
        expect(isHeld).toBe(false);
        if (event.type === 'SendAttempted') sends += 1;
      }
    });
    expect(sends).toBeGreaterThan(RUNS / 20);
  });

  it('gives each release after a hold a number that no release before it had', () => {
    let releases = 0;
    check((events) => {
      const used: number[] = [];
      let heldSince = false;
      for (const event of events) {
        if (isGateHold(event)) heldSince = true;
        if (event.type !== 'DocumentReleased') continue;
        const number = event.data.gateHolds ?? 0;
        if (heldSince) expect(used.every((one) => one < number)).toBe(true);
        if (heldSince) releases += 1;
        used.push(number);
        heldSince = false;
      }
    });
    expect(releases).toBeGreaterThan(RUNS / 20);
  });

  const judgements = (events: DocumentEvent[]): DocumentEvent[] =>
    events.filter((event) => isGateHold(event) || event.type === 'GateWarned');

  it('never judges again what a person waived, nor what was warned of until that was held and released', () => {
    let passed = 0;
    check((events) => {
      const waived = (one: DocumentEvent): boolean =>
        one.type === 'HoldWaived' && one.data.holds.some((hold) => hold.kind === 'gate');
      for (const [at, { type }] of events.entries()) {
        if (type !== 'GateWarned' && !waived(events[at] as DocumentEvent)) continue;
        const since = events.slice(at + 1);
        const released = since.findIndex((one) => one.type === 'DocumentReleased');
        expect(judgements(type === 'GateWarned' && released >= 0 ? since.slice(0, released) : since)).toEqual([]);
        passed += 1;
      }
    });
    expect(passed).toBeGreaterThan(RUNS / 20);
  });
});
