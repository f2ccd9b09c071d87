import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decideSuspension, whyNotSuspension, type SuspensionCommand } from './decide.js';
import { SUSPENSION_ACTIONS, type SuspensionEvent } from './events.js';
import { evolveSuspension, NO_SUSPENSION, type SuspensionState } from './state.js';

const SEED = Number(process.env['PROPERTY_SEED'] ?? 20_261_123);
const ID = '3f6f0d1e-4c0b-5b7a-8a52-0f3f5f1c7b22';

const sha = fc.constantFrom('a', 'b').map((one) => one.repeat(64));
const action = fc.constantFrom(...SUSPENSION_ACTIONS);
const matches = fc.array(fc.record({ gtin: fc.constant('g'), series: fc.constantFrom('A1', 'А1') }), { maxLength: 2 });
const letter = { number: fc.constantFrom('1', '2'), date: fc.constant('2026-11-20'), from: fc.constant('f') };
const count = fc.nat(3);
const place = fc.record({ place: fc.constant('p'), found: count, quarantined: count, shipped: count, returned: count });
const version = { listSha256: sha, fetchedAt: fc.constant('2026-11-23T06:00:00.000Z') };
const of = <Type extends string>(type: Type) => ({ type: fc.constant(type), suspensionId: fc.constant(ID) });
const series = { gtin: fc.constant('g'), series: fc.constant('A1') };

const commands: fc.Arbitrary<SuspensionCommand>[] = [
  fc.record({ ...of('List'), ...version, ...series }),
  fc.record({ ...of('Unlist'), ...version }),
  fc.record({
    ...of('Enter'),
    action,
    product: fc.constant('p'),
    series: fc.constant('A1'),
    ...letter,
    letterSha256: sha,
  }),
  fc.record({ ...of('Match'), matches }),
  fc.record({ ...of('Change'), action, ...letter, letterSha256: sha }),
  fc.record({ ...of('Reply'), places: fc.array(place, { minLength: 1, maxLength: 2 }) }),
  fc.record({ ...of('Close') }),
];

describe('a suspension under any commands', () => {
  it('folds to what was decided, owes a reply to each version, and is closed only with one', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(...commands), { maxLength: 30 }), (given) => {
        let state: SuspensionState = NO_SUSPENSION;
        const stream: SuspensionEvent[] = [];
        for (const command of given) {
          const events = decideSuspension(state, command);
          if (whyNotSuspension(state, command) !== undefined) expect(events).toEqual([]);
          stream.push(...events);
          state = events.reduce(evolveSuspension, state);
          if (state.phase === 'absent') continue;
          const answered = state.reply?.version === state.versions;
          expect(answered).toBe(state.phase === 'replied' || state.phase === 'closed');
        }
        const versions = stream.filter(({ type }) => /Listed|Entered|Changed/.test(type)).length;
        if (state.phase !== 'absent') expect(state.versions).toBe(versions);
        expect(stream.reduce(evolveSuspension, NO_SUSPENSION)).toEqual(state);
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });
});
