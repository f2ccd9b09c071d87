import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type pg from 'pg';
import { changeSilenceLimit, silenceLimitOf } from './silence-limit.js';

/**
 * Longest that a transaction may last (principles 9): it holds locks, and keeps the server from clearing up what others
 * have deleted.
 */
export const TRANSACTION_LIMIT_MS = 30_000;

/**
 * Jobs whose transactions may last longer, with their limits and reasons. There are no others; docs/running.md names
 * them too.
 */
export const LONG_JOBS = {
  migration: {
    limitMs: 3_600_000,
    because: 'an index over a large table is built in one transaction, and programs wait for it anyway',
  },
  statistics: {
    limitMs: 3_600_000,
    because: 'pages of a large table and its partitions are read in one statement, and only the rebuild uses them yet',
  },
  restore: {
    limitMs: 3_600_000,
    because: 'all rows of a table are counted, in a database that nobody else uses yet',
  },
} as const;

/**
 * A transaction outlived its limit and was ended with its connection. Nothing of it took effect, unless its commit was
 * already under way.
 */
export class TransactionTooLong extends Error {
  /**
   * SQLSTATE transaction_timeout, whoever ended it: to callers it is a matter of the database, and not of what they
   * gave it.
   */
  readonly code = '25P04';

  constructor(
    /** What the transaction was, as its code names it. */
    readonly transaction: string,
    readonly limitMs: number,
  ) {
    super(`transaction "${transaction}" lasted longer than ${limitMs} ms and was ended; nothing of it took effect`);
    this.name = 'TransactionTooLong';
  }
}

/**
 * What a session carries of its limit. On the session itself, so that whoever stands before it (a test, a driver) finds
 * it too.
 */
const WATCH = Symbol('transaction limit');
type Session = pg.ClientBase & { [WATCH]?: Watch; connection?: EventEmitter & { stream: Socket } };

/** SQLSTATE transaction_timeout, from PostgreSQL 17 on. */
const TIMED_OUT = '25P04';
const NO_NAME = 'without a name';

class Watch {
  name = NO_NAME;
  ended: TransactionTooLong | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly session: Session,
    public limitMs: number,
  ) {}

  /**
   * Told by the server after each statement: I is outside of a transaction, T and E inside. However a transaction was
   * begun, it is seen here.
   */
  status(status: string): void {
    if (status === 'I') {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.name = NO_NAME;
    } else if (this.timer === undefined && this.ended === undefined) {
      this.timer = setTimeout(() => this.end(), this.limitMs);
      this.timer.unref();
    }
  }

  /**
   * The connection goes, and with it the transaction. A statement that runs on a server before 17 ends there by its own
   * limit at the latest.
   */
  private end(): void {
    this.session.connection?.stream.destroy(this.over());
  }

  over(): TransactionTooLong {
    return (this.ended ??= new TransactionTooLong(this.name, this.limitMs));
  }

  close(): void {
    clearTimeout(this.timer);
  }
}

/**
 * From now on no transaction of this session outlives the limit: a timer here sees to it, and the server where it can
 * (17 and later).
 */
export async function limitTransactions(session: pg.ClientBase, limitMs: number): Promise<void> {
  const watch = new Watch(session, limitMs);
  const { connection } = Object.assign(session as Session, { [WATCH]: watch });
  if (connection === undefined)
    throw new Error('this client of PostgreSQL shows no connection: its transactions cannot be limited');
  connection.on('readyForQuery', ({ status }: { status: string }) => watch.status(status));
  session.on('error', (error: Error & { code?: string }) => void (error.code === TIMED_OUT && watch.over()));
  session.on('end', () => watch.close());
  await setServerLimit(session, limitMs);
}

/** Asked by its version, because an older server refuses a name that it does not know. */
const SET_SERVER_LIMIT =
  `SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN set_config('transaction_timeout', ` +
  '$1, false) END';

async function setServerLimit(session: pg.ClientBase, limitMs: number): Promise<void> {
  await session.query(SET_SERVER_LIMIT, [String(limitMs)]);
}

/**
 * Says what the transaction of this session is that is under way or begins next: the error of one that lasts too long
 * carries it.
 */
export function nameTransaction(session: pg.ClientBase, name: string): void {
  const watch = (session as Session)[WATCH];
  if (watch !== undefined) watch.name = name;
}

/**
 * Transactions and statements of this session may last as long as that job needs, until `work` ends. Not to be called
 * inside a transaction. When it throws, the session must not be used again.
 */
export async function asLongJob<T>(
  session: pg.ClientBase,
  job: keyof typeof LONG_JOBS,
  work: () => Promise<T>,
): Promise<T> {
  const watch = (session as Session)[WATCH];
  if (watch === undefined) return work();
  const { limitMs } = watch;
  const silenceMs = silenceLimitOf(session);
  watch.limitMs = LONG_JOBS[job].limitMs;
  changeSilenceLimit(session, watch.limitMs);
  await setServerLimit(session, watch.limitMs);
  await session.query(`SET statement_timeout = ${watch.limitMs}`);
  const result = await work();
  await session.query('RESET statement_timeout');
  watch.limitMs = limitMs;
  changeSilenceLimit(session, silenceMs);
  await setServerLimit(session, limitMs);
  return result;
}

/** Why work in a transaction failed: that it lasted too long, where it did, else the error itself. */
export function transactionError(session: pg.ClientBase, error: unknown): unknown {
  const watch = (session as Session)[WATCH];
  if (watch !== undefined && (error as { code?: unknown } | undefined)?.code === TIMED_OUT) watch.over();
  return watch?.ended ?? error;
}
