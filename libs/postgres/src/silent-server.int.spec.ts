import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { testDatabase, type TestDatabase } from '../../../test/support/database.js';
import { tcpProxy, type TcpProxy } from '../../../test/support/tcp-proxy.js';
import { databaseIsAway } from './away.js';
import { copyText } from './copy-rows.js';
import { inTransaction, openPool, type Pool, type Transaction } from './pool.js';
import { asLongJob } from './transaction-limit.js';

/** As short as a busy machine allows: what is alive answers well within it. */
const LIMIT_MS = 800;
const SLEEPS_LONGER = `SELECT pg_sleep(${(LIMIT_MS + 500) / 1_000})`;

let db: TestDatabase;
let proxy: TcpProxy;
let pool: Pool;
beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query('CREATE TABLE note (n int PRIMARY KEY)');
});
beforeEach(async () => {
  const url = new URL(db.url);
  proxy = await tcpProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  pool = openPool({ connectionString: url.href, maxConnections: 1, answerTimeoutMs: LIMIT_MS });
});
afterEach(async () => {
  proxy.cut();
  await pool.end();
  await proxy.close();
});
afterAll(() => db?.drop());

const pidOf = async (client: Pick<Pool, 'query'>): Promise<number> =>
  (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid as number;
const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const frozen = (work: () => Promise<unknown>): Promise<unknown> => (proxy.freeze(), work());

describe('a server that goes silent and breaks no connection', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a query', () => frozen(() => pool.query('SELECT 1'))],
    ['the begin of a transaction', () => frozen(() => inTransaction(pool, (tx) => tx.query('SELECT 1')))],
    ['a statement of one', () => inTransaction(pool, (tx) => frozen(() => tx.query('SELECT 1')))],
    ['its commit', () => inTransaction(pool, () => Promise.resolve(proxy.freeze()))],
    [
      'a query of a session that was idle for longer',
      async () => {
        const client = await pool.connect();
        await db.pool.query(SLEEPS_LONGER);
        await frozen(() => client.query('SELECT 1')).finally(() => client.release(true));
      },
    ],
    ['a COPY', () => inTransaction(pool, (tx) => frozen(() => copyText(tx, 'note (n)', '1\n')))],
  ])(
    'ends %s as one that is away, and its connection is used no more',
    async (_, work) => {
      const before = await pidOf(pool);
      const error = await errorOf(work());
      const message = `PostgreSQL gave no answer for ${LIMIT_MS} ms: the connection was ended`;
      expect(error).toMatchObject({ message });
      expect(databaseIsAway(error)).toBe(true);
      expect(await pidOf(pool)).not.toBe(before);
    },
    20_000,
  );

  it('leaves what it did before its answer was lost', async () => {
    await pool.query('SELECT 1');
    proxy.freeze('answers');
    const insert = 'INSERT INTO note VALUES (7) ON CONFLICT DO NOTHING';
    expect(databaseIsAway(await errorOf(pool.query(insert)))).toBe(true);
    expect((await pool.query(insert)).rowCount).toBe(0);
  });
});

describe('what is not ended', () => {
  const session = async (work: (session: Transaction) => Promise<unknown>): Promise<void> => {
    const client = await pool.connect();
    try {
      await work(client);
    } finally {
      client.release();
    }
  };

  it('is a session that nobody asks anything', () =>
    session(async (client) => {
      const before = await pidOf(client);
      await db.pool.query(SLEEPS_LONGER);
      expect(await pidOf(client)).toBe(before);
    }));

  it('is an answer that goes on coming', () =>
    session(async (client) => {
      const slow = `SELECT repeat('x', 20000), pg_sleep(0.3) FROM generate_series(1, ${Math.ceil(LIMIT_MS / 200)})`;
      expect((await client.query(slow)).rowCount).toBe(Math.ceil(LIMIT_MS / 200));
    }));

  it('is a migration, which the server limits', () =>
    session(async (client) => {
      await asLongJob(client, 'migration', () => client.query(SLEEPS_LONGER));
      expect(await errorOf(client.query(SLEEPS_LONGER))).toMatchObject({ code: 'ETIMEDOUT' });
    }));
});

it('every pool has the limit, a little above the 30 s of the server', async () => {
  const client = await db.pool.connect();
  const { timeout } = (client as unknown as { connection: { stream: { timeout?: number } } }).connection.stream;
  client.release();
  expect(timeout).toBe(35_000);
});
