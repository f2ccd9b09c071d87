import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { temporaryFolder, type TemporaryFolder } from '../../../test/support/temporary-folder.js';
import { until } from '../../../test/support/until.js';
import { databaseIsAway } from './away.js';
import { migrate } from './migrate.js';
import { inTransaction, openPool, type Pool, type Transaction } from './pool.js';
import { LONG_JOBS, nameTransaction, TRANSACTION_LIMIT_MS, TransactionTooLong } from './transaction-limit.js';

const LIMIT_MS = 300;

let db: TestDatabase;
let pool: Pool;
let version: number;
let folder: TemporaryFolder;

beforeAll(async () => {
  db = await testDatabase();
  folder = await temporaryFolder();
  pool = openPool({
    connectionString: db.url,
    transactionLimitMs: LIMIT_MS,
    maxConnections: 1,
    applicationName: 'short',
  });
  version = Number(
    (await db.pool.query<{ v: string }>(`SELECT current_setting('server_version_num') AS v`)).rows[0]?.v,
  );
  await db.pool.query('CREATE TABLE note (n int)');
});
afterAll(async () => {
  await pool?.end();
  await db?.drop();
  await folder?.remove();
});

/** What is left is the timer of the pool alone, as with a server before 17. */
const withoutServerLimit = async (tx: Transaction): Promise<void> => {
  if (version >= 170_000) await tx.query('SET LOCAL transaction_timeout = 0');
};
/** Ends when the connection does, however it ends. */
const whenLost = (tx: Transaction): Promise<void> => new Promise((lost) => tx.once('end', lost));
const notes = async (): Promise<number> => (await db.pool.query('SELECT FROM note')).rowCount ?? 0;

describe('a transaction that lasts too long', () => {
  it.each<[string, (tx: Transaction) => Promise<unknown>]>([
    ['while it works in this process', whenLost],
    ['between two statements', (tx) => whenLost(tx).then(() => tx.query('SELECT 1'))],
    ['in a statement', (tx) => tx.query('SELECT pg_sleep(20)')],
  ])('is ended by the pool %s, says what it was, and leaves nothing', async (_, work) => {
    const lasting = inTransaction(
      pool,
      async (tx) => {
        await withoutServerLimit(tx);
        await tx.query('INSERT INTO note VALUES (1)');
        await work(tx);
      },
      { name: 'page of a trial' },
    );
    const error = await lasting.catch((thrown: unknown) => thrown);
    expect(error).toEqual(new TransactionTooLong('page of a trial', LIMIT_MS));
    expect((error as Error).message).toBe(
      `transaction "page of a trial" lasted longer than ${LIMIT_MS} ms and was ended; nothing of it took effect`,
    );
    expect(databaseIsAway(error)).toBe(false);
    expect(await notes()).toBe(0);
    // The only connection of this pool is gone, and another one takes its place.
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  it('is ended by the server too, from version 17 on, under the same error', async () => {
    const { rows } = await db.pool.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings WHERE name = 'transaction_timeout'`,
    );
    expect(rows).toEqual(
      version >= 170_000 ? [{ name: 'transaction_timeout', setting: String(TRANSACTION_LIMIT_MS) }] : [],
    );
    if (version < 170_000) return;
    const lasting = inTransaction(
      db.pool,
      async (tx) => {
        await tx.query('SET LOCAL transaction_timeout = 0');
        await tx.query(`SET LOCAL transaction_timeout = ${LIMIT_MS}`);
        await tx.query('SELECT pg_sleep(20)');
      },
      { name: 'seen by the server' },
    );
    await expect(lasting).rejects.toEqual(new TransactionTooLong('seen by the server', TRANSACTION_LIMIT_MS));
  });

  it('is seen however it was begun', async () => {
    const session = await pool.connect();
    nameTransaction(session, 'by hand');
    await session.query('BEGIN');
    await withoutServerLimit(session);
    await whenLost(session);
    await expect(session.query('SELECT 1')).rejects.toThrow();
    session.release();
    // A server notices a little later that a session is gone.
    await until('the server has ended the transaction', async () => {
      const { rows } = await db.pool.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'short' AND state LIKE 'idle in transaction%'`,
      );
      return rows.length === 0;
    });
  });

  it('does not end what comes after it: the timer stops with the transaction', async () => {
    // A limit that no other timer has.
    const limitMs = 29_876;
    const limited = openPool({ connectionString: db.url, transactionLimitMs: limitMs });
    const [started, stopped] = [jest.spyOn(globalThis, 'setTimeout'), jest.spyOn(globalThis, 'clearTimeout')];
    await inTransaction(limited, (tx) => tx.query('SELECT 1'));
    const ours = started.mock.results
      .filter((_, n) => started.mock.calls[n]?.[1] === limitMs)
      .map(({ value }) => value as NodeJS.Timeout);
    expect(ours).toHaveLength(1);
    expect(stopped).toHaveBeenCalledWith(ours[0]);
    await limited.end();
    jest.restoreAllMocks();
  });
});

describe('jobs that may last longer', () => {
  it('are these, and a migration is one: it may, and is held to the limit again after it', async () => {
    expect(Object.keys(LONG_JOBS)).toEqual(['migration', 'statistics', 'restore']);
    await mkdir(join(folder.path, 'long'));
    await writeFile(join(folder.path, 'long', '0001-sleeps.sql'), `SELECT pg_sleep(${(LIMIT_MS * 3) / 1_000});`);
    const sets = [{ name: 'long', directory: pathToFileURL(join(folder.path, 'long/')) }];
    // One of the two waits for the other's migrations, for longer than the limit.
    const other = openPool({ connectionString: db.url, transactionLimitMs: LIMIT_MS });
    expect((await Promise.all([migrate(pool, sets), migrate(other, sets)])).flat()).toEqual(['long/0001-sleeps.sql']);
    await other.end();
    await expect(inTransaction(pool, whenLost, { name: 'after it' })).rejects.toEqual(
      new TransactionTooLong('after it', LIMIT_MS),
    );
  });
});
