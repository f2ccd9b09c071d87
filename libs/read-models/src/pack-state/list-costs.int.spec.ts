import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { typeKnowledge } from '#documents';
import { migrate, type Queryable } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { planOf, rowsVisited, type PlanNode } from '../../../../test/support/plan.js';
import type { PackListQuery } from '../port.js';
import { readModelSchemas } from '../schema.js';
import { listPacks } from './list.js';
import { IS_RECALLED } from './load.js';

const ROWS = 100_000;
const PRODUCTS = 20;
const STAYS = 100;
/** A page, with the row that tells whether another one follows, and a look for each row into the few stays. */
const MOST_VISITED = 2 * 101 + STAYS + 10;
const GTIN = '04607001770003';
/** Packs that one document names. */
const NAMED = 100;
/** Two ranges of 16 pages in each of the 8 parts of item_movement, for the index by document knows ranges alone. */
const MOST_OF_MOVEMENTS = 2 * 16 * 8 * 110;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  await migrate(db.pool, [subscriptionsSchema, ...readModelSchemas]);
  await db.pool.query(`INSERT INTO pack_state (item, at_micros, position, first_from, suspended, status, place, series)
    SELECT '0460700177' || lpad((n % ${PRODUCTS})::text, 4, '0') || lpad(n::text, 13, '0'), n, 1, 1, false,
      CASE WHEN n % 5 = 0 THEN 'in_sale' ELSE 'in_circulation' END, lpad((n % 3)::text, 14, '0'), 'S' || n % 50
    FROM generate_series(1, ${ROWS}) AS n`);
  // Containers elsewhere: with them there are figures of a column that is never NULL where there is a stay.
  await db.pool.query(`INSERT INTO pack_stay (container, position, at_micros, place, place_from, status, status_from)
    SELECT lpad(n::text, 18, '0'), 1, 1, lpad('9', 14, '0'), 1, 'disposed', 1 FROM generate_series(1, ${STAYS}) AS n`);
  await db.pool.query(
    "UPDATE pack_state SET container = lpad((at_micros / 1000)::text, 18, '0') WHERE at_micros % 1000 = 0",
  );
  await db.pool.query(`INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id,
      operation_date, ordered_at, document_sha256, items)
    SELECT n, 'request-' || n, 701, 'accepted', '00000000000001', '2026-01-01', now(), 'sha', ${NAMED}
    FROM generate_series(1, ${ROWS / NAMED}) AS n`);
  await db.pool.query(`INSERT INTO item_movement (known_from, effect, ordinal, item)
    SELECT (at_micros - 1) / ${NAMED} + 1, 0, 0, item FROM pack_state`);
  await db.pool.query('VACUUM ANALYZE pack_state, pack_stay, movement_document, item_movement');
});
afterAll(() => db.drop());

/** How the database looks for a page, and for the one that follows. */
async function plansOf(query: PackListQuery): Promise<PlanNode[]> {
  const asked: [string, unknown[]][] = [];
  const watched = {
    query: (text: unknown, values?: unknown[]) => {
      if (typeof text === 'string' && text.startsWith('SELECT * FROM (')) asked.push([text, values ?? []]);
      return db.pool.query(text as string, values);
    },
  } as unknown as Queryable;
  const { nextCursor: cursor } = await listPacks(watched, query, typeKnowledge);
  if (cursor !== undefined) await listPacks(watched, { ...query, cursor }, typeKnowledge);
  expect(asked).toHaveLength(cursor === undefined ? 1 : 2);
  return Promise.all(asked.map(([text, values]) => planOf(db.pool, text, values)));
}

describe(`a page of the list of ${ROWS} packs`, () => {
  it.each<PackListQuery>([
    {},
    { gtin: GTIN },
    { place: '00000000000001' },
    { status: 'in_circulation' },
    { series: 'S3' },
    { gtin: GTIN, place: '00000000000001' },
    { gtin: GTIN, status: 'in_circulation' },
  ])('visits no more rows than it may show: %j', async (query) => {
    for (const plan of await plansOf(query)) expect(rowsVisited(plan)).toBeLessThanOrEqual(MOST_VISITED);
  });

  it('looks a pack up that a document names, and reads no others', async () => {
    const plans = await plansOf({ document: 'request-7', limit: 60 });
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      expect(rowsVisited(plan, 'pack_state')).toBeLessThanOrEqual(NAMED);
      expect(rowsVisited(plan)).toBeLessThanOrEqual(MOST_OF_MOVEMENTS);
    }
  });
});

it('looks for recalls of a notification without request_id, and reads no others of these', async () => {
  await db.pool.query(`INSERT INTO movement_document (known_from, request_id, document_id, channel, doc_type, outcome,
      subject_id, operation_date, ordered_at, document_sha256)
    SELECT n, '', 'told-' || n, 'counterparty', 629, 'accepted', '', '', now(), ''
    FROM generate_series(${ROWS + 1}, ${ROWS + 2_000}) AS n`);
  await db.pool.query('VACUUM ANALYZE movement_document');
  expect(typeKnowledge.isRecallable(629)).toBe(true);
  const asked = `SELECT ${IS_RECALLED} FROM movement_document d WHERE d.known_from = $1`;
  expect(rowsVisited(await planOf(db.pool, asked, [ROWS + 1]), 'movement_document')).toBeLessThanOrEqual(5);
});
