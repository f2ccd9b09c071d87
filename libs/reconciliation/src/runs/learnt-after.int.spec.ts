import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Queryable } from '#postgres';
import { readModelSchemas } from '#read-models';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { firstLearntAfter } from './learnt-after.js';

const DOCUMENTS = 20_000;
const BEGIN_MS = Date.parse('2026-03-01T08:00:00Z');
/** The moment when the log recorded the end of a document: one a second, two of them at once. */
const recordedAt = (n: number): string => new Date(BEGIN_MS + Math.ceil(n / 2) * 2_000).toISOString();

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([subscriptionsSchema, ...readModelSchemas]);
  await db.pool.query(
    `INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, operation_date, ordered_at,
       document_sha256, channel, recorded_at)
     SELECT 10 * n, 'r-' || n, 702, 'accepted', '', '', now(), '', 'api',
       $1::timestamptz + ((n + 1) / 2) * interval '2 s'
     FROM generate_series(1, ${DOCUMENTS}) n`,
    [new Date(BEGIN_MS)],
  );
  await db.pool.query('ANALYZE movement_document');
});
afterAll(() => db.drop());

it('the first document after a moment is the one of the lowest log position, up to one', async () => {
  const first = (n: number, at: number) => firstLearntAfter(db.pool, { moment: recordedAt(n), at: BigInt(at) });
  expect(await first(0, 1_000)).toBe('10');
  expect(await first(8, 1_000)).toBe('90');
  expect(await first(8, 90)).toBe('90');
  expect(await first(8, 89)).toBeUndefined();
  expect(await first(DOCUMENTS, 10 * DOCUMENTS)).toBeUndefined();
});

it('it is found by one look at the documents by moment, not by a walk of all', async () => {
  const plans: string[] = [];
  const explaining: Pick<Queryable, 'query'> = {
    query: async (text: string, values: unknown[]) => {
      const { rows } = await db.pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE, COSTS off) ${text}`, values);
      plans.push(...rows.map((line) => line['QUERY PLAN']));
      return db.pool.query(text, values);
    },
  } as never;
  // Also where the record is as of long ago.
  for (const at of [10 * DOCUMENTS, 100])
    await firstLearntAfter(explaining as Queryable, { moment: recordedAt(DOCUMENTS / 2), at: BigInt(at) });
  const plan = plans.join('\n');
  expect(plan).toContain('using movement_document_recorded');
  expect(plan).not.toMatch(/movement_document_pkey|Seq Scan|Removed by Filter/);
});
