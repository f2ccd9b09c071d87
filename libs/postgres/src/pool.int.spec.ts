import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { inTransaction, openPool } from './pool.js';

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

it('sets the same where the address itself has options for the server, which count beside', async () => {
  const address = new URL(db.url);
  address.searchParams.set('options', '-c work_mem=5MB -c statement_timeout=0');
  const pool = openPool({ connectionString: address.href, maxConnections: 1, commitsWait: false });
  try {
    const names = ['TimeZone', 'statement_timeout', 'jit', 'synchronous_commit', 'work_mem'];
    const { rows } = await pool.query<{ setting: string }>(
      'SELECT current_setting(name) AS setting FROM unnest($1::text[]) WITH ORDINALITY AS n(name, i) ORDER BY i',
      [names],
    );
    expect(rows.map((row) => row.setting)).toEqual(['UTC', '30s', 'off', 'off', '5MB']);
  } finally {
    await pool.end();
  }
});
