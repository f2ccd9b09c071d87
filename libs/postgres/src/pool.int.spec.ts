import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { inTransaction } from './pool.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([]);
});
afterAll(() => db.drop());

it('sets itself what the server as it is installed has otherwise', async () => {
  const names = ['TimeZone', 'statement_timeout', 'idle_in_transaction_session_timeout', 'jit'];
  const { rows } = await db.pool.query<{ setting: string; source: string }>(
    `SELECT current_setting(name) AS setting, source FROM pg_settings
     WHERE name = ANY ($1::text[]) ORDER BY array_position($1::text[], name)`,
    [names],
  );
  expect(rows).toEqual(['UTC', '30s', '30s', 'off'].map((setting) => ({ setting, source: 'client' })));
});

it('says so when a transaction is undone at its end, because its work went on after a statement that failed', async () => {
  await db.pool.query('CREATE TABLE swallowed (n int)');
  const work = inTransaction(db.pool, async (tx) => {
    await tx.query('INSERT INTO swallowed VALUES (1)');
    await tx.query('SELECT 1 / 0').catch(() => undefined);
    return 'stored';
  });
  await expect(work).rejects.toThrow(/was undone/);
  expect((await db.pool.query('SELECT FROM swallowed')).rowCount).toBe(0);
});
