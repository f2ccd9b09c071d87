import { expect, it } from '@jest/globals';
import { suspensionAnswerParameters } from '../api/suspension-parameters.js';
import { suspensionActionBody } from './suspension-body.js';

it('a reply names each place once: its packs would count twice', () => {
  const place = { place: '00000000100101', found: 2, quarantined: 2, shipped: 0, returned: 0 };
  const reply = (...places: object[]) =>
    suspensionActionBody.safeParse({ action: 'reply', reason: 'looked at', places }).success;
  expect(reply(place, { ...place, place: '00000000100102' })).toBe(true);
  expect(reply(place, { ...place, place: ' 00000000100101', found: 3 })).toBe(false);
});

it('a reply puts no more packs into quarantine than were found or came back: a typing error would stand there', () => {
  const place = { place: '00000000100101', found: 12, quarantined: 12, shipped: 40, returned: 3 };
  const parsed = (over: object) =>
    suspensionActionBody.safeParse({ action: 'reply', reason: 'looked at', places: [{ ...place, ...over }] });
  expect(parsed({}).success).toBe(true);
  expect(parsed({ found: 0, quarantined: 3 }).success).toBe(true);
  expect(parsed({ found: 0, quarantined: 4 }).success).toBe(false);
  expect(parsed({ quarantined: 120 }).error?.issues).toMatchObject([
    { path: ['places', 0, 'quarantined'], message: 'must not be more than were found and returned' },
  ]);
});

it('nobody is told how a series stands at a moment that has not come', () => {
  const asked = (ms: number) =>
    suspensionAnswerParameters.safeParse({ at: new Date(Date.now() + ms).toISOString() }).success;
  expect([asked(-1_000), asked(3_600_000)]).toEqual([true, false]);
});
