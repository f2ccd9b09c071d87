import pg from 'pg';
import { ANSWER_TIMEOUT_MS, limitSilence } from './silence-limit.js';
import { limitTransactions, nameTransaction, TRANSACTION_LIMIT_MS, transactionError } from './transaction-limit.js';

export type Pool = pg.Pool;
/** A client inside a transaction: what a caller hands to a library so that its writes join that transaction. */
export type Transaction = pg.PoolClient;
/** Either: for statements that need no transaction of their own. */
export type Queryable = Pick<pg.Pool, 'query'>;

export interface PoolOptions {
  connectionString: string;
  /** Most connections of this process. */
  maxConnections?: number;
  applicationName?: string;
  /**
   * Longest wait for a connection, a free one of the pool included. Default 30,000: a server that takes no connection
   * is then told as away.
   */
  connectTimeoutMs?: number;
  /** Longest silence of the server while a statement runs, before the connection is ended. Default 35,000. */
  answerTimeoutMs?: number;
  /** Longest that a transaction may last. Default 30,000. */
  transactionLimitMs?: number;
  /**
   * False: a commit does not wait for the disk. Only for what can be done again: a fault of the server loses the newest
   * of these transactions, whole and in order, and never one that waited after them.
   */
  commitsWait?: boolean;
  /** Schemas in which tables are looked for, in order; plain names. Default: the server's. */
  searchPath?: string[];
}

// int8 comes as bigint, never as a float that loses digits and never as text; timestamptz as Date; date stays text.
pg.types.setTypeParser(20, (text) => BigInt(text));
pg.types.setTypeParser(1082, (text) => text);

/** An `integer` at most: a registry may count whatever it likes. */
export const MOST_INTEGER = 2_147_483_647;

/**
 * What each session is set to. Compiled expressions (jit) are on in a server as it is installed, and cost a statement
 * of ours more than they save: the planner expects many more rows than there are.
 */
const SESSION = {
  TimeZone: 'UTC',
  statement_timeout: '30s',
  idle_in_transaction_session_timeout: '30s',
  jit: 'off',
};

/**
 * Options for the server that the address itself has, such as a schema, would take the place of all that is set here:
 * they are taken out of it, and go before, so that what both name is as it is here.
 */
function addressOf(connectionString: string): { connectionString: string; given: string[] } {
  const url = URL.canParse(connectionString) ? new URL(connectionString) : undefined;
  const given = url?.searchParams.getAll('options').slice(-1) ?? [];
  if (url === undefined || given.length === 0) return { connectionString, given: [] };
  url.searchParams.delete('options');
  return { connectionString: url.href, given };
}

/**
 * A pool whose sessions speak UTC and whose statements and transactions, idle or busy, end after 30 s (principles 9). A
 * statement over a connection that went silent ends soon after, with its connection.
 */
export function openPool(options: PoolOptions): Pool {
  const settings = {
    ...SESSION,
    ...(options.searchPath && { search_path: options.searchPath.join(',') }),
    ...(options.commitsWait === false && { synchronous_commit: 'off' }),
  };
  const { connectionString, given } = addressOf(options.connectionString);
  const pool = new pg.Pool({
    connectionString,
    max: options.maxConnections ?? 10,
    application_name: options.applicationName ?? 'pedigree',
    connectionTimeoutMillis: options.connectTimeoutMs ?? 30_000,
    keepAlive: true,
    // Before anybody has the connection: the pool waits for it, though the type does not say so.
    onConnect: ((client) => {
      limitSilence(client, options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS);
      return limitTransactions(client, options.transactionLimitMs ?? TRANSACTION_LIMIT_MS);
    }) as (client: pg.ClientBase) => void,
    options: [...given, ...Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)].join(' '),
  });
  // An idle connection that the server closes is replaced by the pool at the next query; without a listener it would
  // end the process.
  pool.on('error', () => undefined);
  // The same for a connection that is lost while it is lent out: its query rejects, and that is how its borrower learns
  // of it.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Runs `work` with a session of its own, which is kept out of the pool meanwhile. When it throws, the session is
 * closed: it may still hold a lock or an open transaction, and the server frees both.
 */
export async function onSession<T>(pool: Pool, work: (session: Transaction) => Promise<T>): Promise<T> {
  const session = await pool.connect();
  let broken: Error | undefined;
  try {
    return await work(session);
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    session.release(broken);
  }
}

const UNLOCK = 'SELECT pg_advisory_unlock_all()';

/**
 * Runs `work` while a session of its own holds these locks, each a number or a name; `busy` where another session has
 * one of them. Nothing is waited for. The server frees them when the process dies.
 */
export function underLocks<T>(
  pool: Pool,
  locks: readonly (number | string)[],
  work: () => Promise<T>,
): Promise<T | 'busy'> {
  return onSession(pool, async (session) => {
    for (const lock of locks)
      if (!(await tryLock(session, lock))) {
        await session.query(UNLOCK);
        return 'busy';
      }
    const done = await work().catch(async (error: unknown) => {
      // Before the session is closed: a server may notice only later that it is gone.
      await session.query(UNLOCK).catch(() => undefined);
      throw error;
    });
    await session.query(UNLOCK);
    return done;
  });
}

/** Whether this session has the lock from now on, until it ends or gives it up. */
export async function tryLock(session: Queryable, lock: number | string): Promise<boolean> {
  const key = typeof lock === 'number' ? '$1::bigint' : 'hashtextextended($1, 0)';
  const { rows } = await session.query<{ mine: boolean }>(`SELECT pg_try_advisory_lock(${key}) AS mine`, [lock]);
  return rows[0]?.mine === true;
}

/**
 * Runs `work` in one transaction: commits its result, or rolls back and rethrows. `name` says what it is in the error
 * of one that lasts too long (TransactionTooLong).
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (tx: Transaction) => Promise<T>,
  { name }: { name?: string } = {},
): Promise<T> {
  const tx = await pool.connect();
  let broken: Error | undefined;
  try {
    if (name !== undefined) nameTransaction(tx, name);
    await tx.query('BEGIN');
    const result = await work(tx);
    const { command } = await tx.query('COMMIT');
    // What the server answers to a commit after a statement that failed: it says no more of it.
    if (command === 'ROLLBACK')
      throw new Error('the transaction was undone at its end: its work went on after a statement that had failed');
    return result;
  } catch (error) {
    // When even the rollback fails the connection is of no more use and is thrown away.
    await tx.query('ROLLBACK').catch((failure: Error) => (broken = failure));
    throw transactionError(tx, error);
  } finally {
    tx.release(broken);
  }
}
