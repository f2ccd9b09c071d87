import { expect, it } from '@jest/globals';
import { VirtualClock } from '#kernel';
import { boundedLog } from '#service';
import type { ApiKeyRow } from './key-table.js';
import { KeyWatch } from './key-watch.js';

const DAY_MS = 86_400_000;
const NOW = new Date('2026-01-01T00:00:00Z');
const row = (name: string, standing: ApiKeyRow['standing'], days = 365): ApiKeyRow => ({
  name,
  standing,
  keySha256: '',
  roles: ['erp'],
  madeAt: NOW,
  expiresAt: new Date(NOW.getTime() + days * DAY_MS),
  expiredAt: null,
  firstUsedAt: null,
  lastUsedAt: null,
  revokedAt: null,
  restorationId: null,
  version: 0,
});

/** Looks as often as there are lists (or faults); gives after each look what health tells. */
async function watched(lists: (ApiKeyRow[] | Error)[], { isKeyed = true, stepMs = 5_000 } = {}) {
  const clock = new VirtualClock(NOW);
  const warned: [object, string][] = [];
  let looks = 0;
  const list = async (): Promise<ApiKeyRow[]> => {
    const next = lists[Math.min(looks, lists.length) - 1];
    if (next instanceof Error) throw next;
    return next as ApiKeyRow[];
  };
  const register = { catchUp: async () => void (looks += 1) };
  const watch = new KeyWatch({
    register,
    list,
    isKeyed: async () => isKeyed,
    clock,
    log: { warn: (about, message) => warned.push([about, message]) },
  });
  const ending = new AbortController();
  const ended = watch.watch(ending.signal);
  const told: string[] = [];
  for (let look = 0; look < lists.length; look += 1) {
    if (look > 0) clock.advance(stepMs);
    for (let n = 0; n < 5; n += 1) await new Promise((resolve) => setImmediate(resolve));
    told.push(
      watch
        .troubles()
        .map(({ since, reason }) => `${since} ${reason}`)
        .join(),
    );
  }
  ending.abort();
  await ended;
  return { told, watch, warned, messages: warned.map(([, message]) => message.slice(0, 24)) };
}

it('says once in the log, and in health for as long as it is so, that no key is left', async () => {
  const [good, none] = [[row('erp', 'valid')], [row('erp', 'revoked'), row('old', 'expired', -1)]];
  const { told, messages } = await watched([good, none, none, new Error('away'), good, none]);
  expect(told.map((one) => one !== '')).toEqual([false, true, true, true, false, true]);
  expect(messages).toEqual(['no API key is valid, so ', 'the API keys could not b', 'no API key is valid, so ']);
  expect(told[1]).toMatch(
    /^2026-01-01T00:00:05.000Z no API key is valid.*pedigree keys add NAME --role admin --reason TEXT$/,
  );
  expect(told[2]).toBe(told[1]);
});

it('says it of a restored database that knows of no key, and not where none was ever needed', async () => {
  expect((await watched([[]])).told[0]).toContain('no API key is valid');
  expect((await watched([[]], { isKeyed: false })).told).toEqual(['']);
});

it('names the keys that a restore has suspended, also while another is good, and counts them', async () => {
  const { told, watch } = await watched([[row('erp', 'suspended'), row('old', 'suspended'), row('new', 'valid')]]);
  expect(told[0]).toMatch(/erp, old; on the host say of each pedigree keys confirm NAME --reason TEXT, or revoke it$/);
  expect(watch.figures()).toEqual({ suspended: 2, expiresSeconds: 365 * 86_400 });
});

it('warns once a day of a valid key that expires soon, and tells metrics the first of them', async () => {
  const keys = [
    row('erp', 'valid', 20),
    row('far', 'valid', 200),
    row('gone', 'revoked', 3),
    row('asleep', 'suspended', 2),
  ];
  const { warned, watch } = await watched([keys, keys, keys], { stepMs: DAY_MS / 2 });
  const ending = warned.filter(([, message]) => /^the API key \S+ expires soon$/.test(message)).map(([about]) => about);
  expect(ending).toMatchObject([
    { key: 'erp', thresholdDays: 30, daysLeft: 20 },
    { key: 'erp', thresholdDays: 30, daysLeft: 19 },
  ]);
  expect(watch.figures().expiresSeconds).toBe(19 * 86_400);
  expect((await watched([[row('gone', 'revoked', 3)]])).watch.figures().expiresSeconds).toBeUndefined();
});

it('names each of many keys that expire soon in the log of a gateway, which says nothing often', async () => {
  const said: string[] = [];
  const warn = (_: object, message: string): void => void said.push(message);
  const keys = Array.from({ length: 9 }, (_, n) => row(`erp-${n}`, 'valid', 20));
  const watch = new KeyWatch({
    register: { catchUp: async () => undefined },
    list: async () => keys,
    isKeyed: async () => true,
    clock: new VirtualClock(NOW),
    log: boundedLog({ warn, info: warn, error: warn }),
  });
  await watch.look();
  expect(said).toEqual(keys.map(({ name }) => `the API key ${name} expires soon`));
});
