import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { postgresDependency } from './dependency.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase([]);
});
afterAll(() => db.drop());

const look = async (): Promise<void> => {
  const dependency = postgresDependency(db.url);
  await dependency.check(new AbortController().signal).finally(() => dependency.close?.());
};

it('a PostgreSQL that takes writes is there, and one that only reads is not', async () => {
  await look();
  const { rows } = await db.pool.query<{ name: string }>('SELECT quote_ident(current_database()) AS name');
  await db.pool.query(`ALTER DATABASE ${rows[0]?.name} SET default_transaction_read_only = on`);
  await expect(look()).rejects.toThrow('PostgreSQL is read-only');
});
