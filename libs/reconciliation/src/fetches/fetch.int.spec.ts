import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { checkDigitOf } from '#kernel';
import { inTransaction } from '#postgres';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import {
  ASKED_AT_ONCE,
  findFetch,
  keepFetch,
  MOST_ASKED,
  resumeFetch,
  watchedSince,
  type FetchPhase,
  type FetchWay,
  type RegistryFetch,
} from './fetch.js';
import { failFetch } from './pages.js';
import { registryFetchSchema } from './schema.js';

const GTIN = `0460123456789${checkDigitOf('0460123456789')}`;
const SOME = Array.from({ length: ASKED_AT_ONCE }, (_, n) => `${GTIN}${String(n).padStart(13, '0')}`);

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([registryFetchSchema]);
});
afterAll(() => db.drop());

async function* named(packs: number): AsyncGenerator<string[]> {
  for (let n = 0; n < packs; n += SOME.length) yield SOME.slice(0, packs - n);
  await Promise.resolve();
}

async function kept(way: FetchWay, packs: number): Promise<{ items: number | undefined; rows: number }> {
  const fetchId = randomUUID();
  const about = { reason: 'spec', actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' } as const };
  const request = { fetchId, account: 'main', way, expected: packs, ...about };
  await keepFetch(db.pool, request, { items: named(packs), schedule: () => Promise.resolve() });
  const { rows } = await db.pool.query('SELECT n FROM registry_fetch_asked WHERE fetch_id = $1', [fetchId]);
  return { items: (await findFetch(db.pool, fetchId))?.items, rows: rows.length };
}

describe('the names of a fetch', () => {
  it('are kept where they are asked for, and counted where they only tell which way costs less', async () => {
    expect(await kept('list', ASKED_AT_ONCE + 1)).toEqual({ items: ASKED_AT_ONCE + 1, rows: 2 });
    for (const way of ['auto', 'filter'] as const)
      expect(await kept(way, ASKED_AT_ONCE + 1)).toEqual({ items: ASKED_AT_ONCE + 1, rows: 0 });
  });

  it('limit no fetch that reads all packs', async () => {
    expect(await kept('filter', MOST_ASKED + 1)).toEqual({ items: MOST_ASKED + 1, rows: 0 });
  }, 120_000);
});

/** A fetch by filter that is in this phase. */
async function fetchIn(phase: FetchPhase): Promise<RegistryFetch> {
  const fetchId = randomUUID();
  const about = { reason: 'spec', actor: { kind: 'system', name: 'spec', authenticatedBy: 'test' } as const };
  const request = { fetchId, account: 'main', way: 'filter' as const, expected: 0, ...about };
  await keepFetch(db.pool, request, { items: named(0), schedule: () => Promise.resolve() });
  await db.pool.query('UPDATE registry_fetch SET phase = $2 WHERE fetch_id = $1', [fetchId, phase]);
  return (await findFetch(db.pool, fetchId)) as RegistryFetch;
}

it.each(['complete', 'gathered'] as const)('a fetch that is %s does not fail any more', async (phase) => {
  const fetch = await fetchIn(phase);
  await failFetch(db.pool, fetch, 'late');
  expect(await findFetch(db.pool, fetch.fetchId)).toMatchObject({ phase, problem: null });
});

it('a fetch with which somebody has gone on does not fail by what was wrong before', async () => {
  const before = await fetchIn('filter');
  await failFetch(db.pool, before, 'its task failed for good');
  await inTransaction(db.pool, (tx) => resumeFetch(tx, before.fetchId), { name: 'spec' });
  await failFetch(db.pool, before, 'its task failed for good');
  expect(await findFetch(db.pool, before.fetchId)).toMatchObject({ phase: 'filter', problem: null, resumed: 1 });
});

it('the watch for suspensions is known by its readings, and off two days after the last one', async () => {
  const daysAgo = (days: number) =>
    db.pool.query(`UPDATE registry_fetch SET requested_at = requested_at - $1::int * interval '1 day'`, [days]);
  expect(await watchedSince(db.pool)).toBeUndefined();
  await kept('suspended', 0);
  await daysAgo(30);
  await kept('decisions', 0);
  const since = await watchedSince(db.pool);
  expect(Math.round((Date.now() - (since?.getTime() ?? 0)) / 86_400_000)).toBe(30);
  await daysAgo(2);
  expect(await watchedSince(db.pool)).toBeUndefined();
});
