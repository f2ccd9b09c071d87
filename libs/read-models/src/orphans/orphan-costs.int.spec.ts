import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { migrate } from '#postgres';
import { subscriptionsSchema } from '#subscriptions';
import { fillDocuments } from '../../../../test/bench/many-documents.js';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { planOf, rowsVisited } from '../../../../test/support/plan.js';
import { CANDIDATES } from './query.js';

const ENDED = 60_000;
const SEED = 20_261_122;

let db: TestDatabase;
let open: number;

/**
 * Tables of an installation with far more that has ended than is open; what is open waits for one document, or has a
 * task.
 */
beforeAll(async () => {
  db = await testDatabase();
  await fillDocuments(db.pool, { rows: ENDED, seed: SEED });
  await migrate(db.pool, [subscriptionsSchema]);
  await db.pool.query('CREATE TABLE IF NOT EXISTS task (key text NOT NULL, kind text NOT NULL)');
  await db.pool.query(
    `INSERT INTO checkpoint (name, position, updated_at) VALUES ('saga:document', 9000000000, now())`,
  );
  await db.pool.query(
    `UPDATE document_outcome SET outcome = 'accepted', phase = 'concluded' WHERE outcome IS NULL AND ` +
      'registered_position % 5 <> 0',
  );
  const { rows } = await db.pool.query<{ id: string }>(
    'SELECT request_id AS id FROM document_outcome WHERE outcome IS NULL ORDER BY request_id LIMIT 1',
  );
  await db.pool.query(
    `UPDATE document_outcome SET phase = 'waiting', waiting_for = ` +
      `jsonb_build_array(jsonb_build_object('requestId', $1::text)) WHERE outcome IS NULL AND request_id <> $1`,
    [rows[0]?.id],
  );
  await db.pool.query(`INSERT INTO task (key, kind) VALUES ('send:' || $1 || ':1', 'send')`, [rows[0]?.id]);
  await db.pool.query('VACUUM ANALYZE document_outcome');
  open = (await db.pool.query('SELECT FROM document_outcome WHERE outcome IS NULL')).rowCount ?? 0;
});
afterAll(() => db.drop());

it('looks at what is open, and not at all that has ever ended', async () => {
  expect(open).toBeGreaterThan(500);
  expect(open).toBeLessThan(ENDED / 20);
  const plan = await planOf(db.pool, CANDIDATES, []);
  expect({ found: plan['Actual Rows'], cheap: rowsVisited(plan) < 12 * open || JSON.stringify(plan) }).toEqual({
    found: 0,
    cheap: true,
  });
});
