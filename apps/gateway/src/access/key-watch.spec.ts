import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import type { KeyStanding } from './api-keys.js';
import { KeyWatch } from './key-watch.js';

const REVOKED: KeyStanding = { kind: 'all_revoked', since: new Date('2026-03-01T00:00:00Z') };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('says once in the log, and in health for as long as it is so, that no key is left', async () => {
  const clock = new VirtualClock();
  const looks: (KeyStanding | Error)[] = [{ kind: 'valid' }, REVOKED, REVOKED, new Error('away'), { kind: 'valid' }, REVOKED];
  const warned: string[] = [];
  const standing = async (): Promise<KeyStanding> => {
    const next = looks.shift() as KeyStanding | Error;
    if (next instanceof Error) throw next;
    return next;
  };
  const watch = new KeyWatch({ keys: { standing }, clock, log: { warn: (_, message) => warned.push(message) } });
  const ending = new AbortController();
  const watched = watch.watch(ending.signal);
  const troubled: number[] = [];
  for (let minute = 0; minute < 6; minute += 1) {
    await settled();
    troubled.push(watch.troubles().length);
    clock.advance(60_000 * Math.sign(5 - minute));
  }
  ending.abort();
  await watched;
  expect(troubled).toEqual([0, 1, 1, 1, 0, 1]);
  expect(warned.map((message) => message.slice(0, 24))).toEqual(['every API key is revoked', 'the API keys could not b', 'every API key is revoked']);
  expect(watch.troubles()).toEqual([{ name: 'api keys', since: '2026-03-01T00:00:00.000Z', reason: expect.stringContaining('pedigree keys add NAME --role admin') as unknown }]);
});
