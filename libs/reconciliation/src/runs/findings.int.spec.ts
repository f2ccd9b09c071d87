import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { removeFindings } from './findings.js';
import { findRequest, keepRequest, reconciliationSchema } from './request.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([reconciliationSchema]);
});
afterAll(() => db.drop());

it('removes findings of old runs, a few at a time, and says so of the run', async () => {
  const actor = { kind: 'system', name: 't', authenticatedBy: 't' } as const;
  for (const runId of ['old', 'new']) {
    await keepRequest(db.pool, { runId, reason: 'why', actor });
    await db.pool.query(
      `INSERT INTO reconciliation_finding SELECT $1, 'a', n, 'missing', '{}' FROM generate_series(1, 5) AS n`,
      [runId],
    );
  }
  await db.pool.query(
    `UPDATE reconciliation_request SET requested_at = now() - interval '1101 days' WHERE run_id = 'old'`,
  );
  expect((await findRequest(db.pool, 'old'))?.findingsRemovedAt).toBeUndefined();
  const removed = [await removeFindings(db.pool, { keptDays: 1_100, limit: 3 })];
  // From the first row on: a part is never shown for the whole.
  expect((await findRequest(db.pool, 'old'))?.findingsRemovedAt).toBeInstanceOf(Date);
  removed.push(
    await removeFindings(db.pool, { keptDays: 1_100, limit: 3 }),
    await removeFindings(db.pool, { keptDays: 1_100, limit: 3 }),
  );
  expect(removed).toEqual([3, 2, 0]);
  expect((await db.pool.query('SELECT DISTINCT run_id FROM reconciliation_finding')).rows).toEqual([{ run_id: 'new' }]);
  expect((await findRequest(db.pool, 'new'))?.findingsRemovedAt).toBeUndefined();
});
