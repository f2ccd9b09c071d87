import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { planOf, rowsVisited } from '../../../../test/support/plan.js';
import { readModelSchemas } from '../schema.js';
import { SELECT_TOLD } from './figures.js';
import { selectRows } from './query.js';

const ROWS = 20_000;
const LIMIT = 50;
/** One a minute; a type and an account that only the oldest documents have, and one in ten told to us. */
const FILL = `INSERT INTO document_timing (stream, first_position, position, kind, id, account, channel, doc_type,
    operation_at, known_at, day_at)
  SELECT 'document-' || n, n, n, CASE WHEN n % 10 = 0 THEN 'incoming' ELSE 'own' END, n,
    CASE WHEN n < 100 THEN 'closed' ELSE 'main' END, 'api',
    CASE WHEN n < 100 THEN 911 WHEN n % 10 = 0 THEN 601 ELSE 415 END, at, at, at
  FROM (SELECT n, '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 minute' AS at
    FROM generate_series(1, ${ROWS}) AS n) AS many`;

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  await db.pool.query(FILL);
  await db.pool.query('VACUUM ANALYZE document_timing');
});
afterAll(() => db.drop());

describe(`of ${ROWS} documents`, () => {
  it.each<[string, object]>([
    ['any', {}],
    ['a rare type', { docType: 911 }],
    ['a type that never came', { docType: 912 }],
    ['a rare account', { account: 'closed' }],
    ['an account that is none', { account: 'mian' }],
    ['an old day', { operationTo: new Date('2026-01-02T00:00:00Z') }],
  ])('a page of the report visits few more than it shows: %s', async (_, query) => {
    const { text, values } = selectRows({ ...query, after: undefined, limit: LIMIT });
    expect(rowsVisited(await planOf(db.pool, text, values))).toBeLessThan(2 * LIMIT + 10);
  });

  it('those that await an answer are found among the answered, and not among those of ours', async () => {
    const answered = (n: number): string => `document-${10 * n}`;
    const client = await db.pool.connect();
    // What a statement becomes after a few runs: a plan for an array of any length.
    await client.query('SET plan_cache_mode = force_generic_plan');
    await client.query(`PREPARE told (int[], timestamptz[], text[]) AS ${SELECT_TOLD}`);
    const known = Array.from({ length: 1_900 }, (_, n) => answered(n + 1));
    const plan = await planOf(client, `EXECUTE told ('{601}', '{2026-01-01T00:00:00Z}', '{${known.join(',')}}')`, []);
    client.release(true);
    expect(plan['Actual Rows']).toBe(100);
    // Each document told to us, and for each that is not answered the types.
    expect(rowsVisited(plan)).toBeLessThan(ROWS / 5);
  });
});
