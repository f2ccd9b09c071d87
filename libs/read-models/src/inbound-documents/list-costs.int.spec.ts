import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import type { Queryable } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { planOf, rowsVisited } from '../../../../test/support/plan.js';
import { readModelSchemas } from '../schema.js';
import { listInbound } from './query.js';

const DOCUMENTS = 40_000;
const GIVEN_UP = 400;
const FOLLOWED = 60;
const PAGE = 50;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  // The oldest were given up, and the oldest of the others are followed: each page is as far away as it can be.
  await db.pool.query(
    `INSERT INTO inbound_document (document_id, seen_position, position, direction, channel, account, phase, status,
       outcome, error_count, document_sha256, seen_at)
     SELECT 'd' || n, n, n, 'incoming', 'counterparty', CASE WHEN n % 2 = 0 THEN 'main' ELSE 'north' END,
       CASE WHEN n > $2 AND n <= $2 + $3 THEN 'followed' ELSE 'concluded' END, 'processed',
       'accepted', 0, CASE WHEN n > $2 THEN repeat('a', 64) END, now() FROM generate_series(1, $1) n`,
    [DOCUMENTS, GIVEN_UP, FOLLOWED],
  );
  await db.pool.query('ANALYZE inbound_document');
});
afterAll(() => db.drop());

it.each([
  [{ givenUp: true }, GIVEN_UP],
  [{ givenUp: true, account: 'main' }, GIVEN_UP],
  [{ phase: 'followed' as const }, FOLLOWED],
])('what was given up, or is followed, is found without the rest of the list %j', async (chosen, most) => {
  const visited: number[] = [];
  const watched = {
    query: async (text: string, values: unknown[]) => {
      visited.push(rowsVisited(await planOf(db.pool, text, values)));
      return db.pool.query(text, values);
    },
  } as unknown as Queryable;
  const page = await listInbound(watched, { limit: PAGE, ...chosen }, typeKnowledge);
  expect(page.items).toHaveLength(PAGE);
  expect(visited).toEqual([expect.any(Number)]);
  expect(visited[0]).toBeLessThanOrEqual(most);
});
