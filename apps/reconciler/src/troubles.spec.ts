import { expect, it } from '@jest/globals';
import { PedigreeError, VirtualClock } from '#kernel';
import { Troubles } from './troubles.js';

const given = () => {
  const [clock, said] = [new VirtualClock(new Date('2026-03-01T00:00:00Z')), [] as string[]];
  return { clock, said, troubles: new Troubles({ error: (_, message) => void said.push(message) }, clock) };
};
const full = (): Promise<void> => Promise.reject(new Error('ENOSPC: no space left on device'));

it('what fails is named, since when and why, until it goes well', async () => {
  const { clock, said, troubles } = given();
  await troubles.trying('write segments', full);
  clock.advance(60_000);
  await troubles.trying('write segments', full);
  await troubles.trying('seal segments', () => Promise.resolve());
  expect(troubles.all()).toEqual([
    {
      name: 'write segments',
      since: '2026-03-01T00:00:00.000Z',
      reason: 'could not write segments: ENOSPC: no space left on device',
    },
  ]);
  expect(said).toEqual(['could not write segments', 'could not write segments']);
  await troubles.trying('write segments', () => Promise.resolve());
  expect(troubles.all()).toEqual([]);
});

it.each([
  ['the database', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })],
  ['the log', new PedigreeError('unavailable', 'the log is away', {})],
])('%s that is away is said, and is no trouble of the work, nor its end', async (_, away) => {
  const { said, troubles } = given();
  await troubles.trying('write segments', () => Promise.reject(away));
  expect([troubles.all(), said]).toEqual([[], ['could not write segments']]);
  await troubles.trying('write segments', full);
  await troubles.trying('write segments', () => Promise.reject(away));
  expect(troubles.all()).toMatchObject([{ name: 'write segments' }]);
});
