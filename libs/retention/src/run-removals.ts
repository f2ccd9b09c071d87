import { systemClock, type Clock } from '#kernel';
import { inTransaction, type Pool, type Transaction } from '#postgres';

/** What is removed from one table, and when a row may go. */
export interface Removal {
  /** The table. One process at a time removes under this name. */
  table: string;
  /**
   * Removes at most `limit` rows, and returns how many it removed. What it commits counts: the next call finds only
   * what is left.
   */
  removeSome(tx: Transaction, limit: number): Promise<number>;
}

export interface RemovalOptions {
  pool: Pool;
  removals: Removal[];
  signal: AbortSignal;
  /** Between two rounds. Default: an hour. */
  everyMs?: number;
  /**
   * Most rows of one statement, most statements and most time of one round for each table. Defaults 1,000, 200 and
   * 60,000: the rest goes in the next round.
   */
  batchSize?: number;
  mostBatches?: number;
  roundMs?: number;
  /** Hears of a table from which nothing could be removed. The other tables go on. */
  report(table: string, error: unknown): void;
  clock?: Clock;
}

/** One statement may take so long. Then the round ends for that table, and the next one begins again. */
const STATEMENT_MS = 10_000;
/** The first key of the advisory locks; the second is the hash of the table's name. */
const LOCK_SPACE = 1_919_251_566;

/** Removes what is old, round by round, until `signal` aborts. Never rejects. */
export async function runRemovals(options: RemovalOptions): Promise<void> {
  const { signal, everyMs = 3_600_000, clock = systemClock } = options;
  while (!signal.aborted) {
    await removeOldRows(options);
    await clock.wait(everyMs, signal);
  }
}

/** One round over all tables. Returns how many rows went, by table. */
export async function removeOldRows(options: RemovalOptions): Promise<Map<string, number>> {
  const removed = new Map<string, number>();
  for (const removal of options.removals) {
    if (options.signal.aborted) break;
    const count = await removeFrom(removal, options).catch((error: unknown) => {
      options.report(removal.table, error);
      return 0;
    });
    removed.set(removal.table, count);
  }
  return removed;
}

/** Each batch is a transaction of its own, so that no lock and no work outlives one. */
async function removeFrom(removal: Removal, options: RemovalOptions): Promise<number> {
  const { pool, signal, batchSize = 1_000, mostBatches = 200, roundMs = 60_000, clock = systemClock } = options;
  const endMs = clock.monotonicMs() + roundMs;
  let total = 0;
  for (let batch = 0; batch < mostBatches && !signal.aborted && clock.monotonicMs() < endMs; batch += 1) {
    const removed = await inTransaction(pool, (tx) => removeBatch(tx, removal, batchSize));
    if (removed === undefined) break;
    total += removed;
    if (removed < batchSize) break;
  }
  return total;
}

/** Undefined where another process removes from this table now. */
async function removeBatch(
  tx: Transaction,
  { table, removeSome }: Removal,
  limit: number,
): Promise<number | undefined> {
  const { rows } = await tx.query<{ mine: boolean }>('SELECT pg_try_advisory_xact_lock($1, hashtext($2)) AS mine', [
    LOCK_SPACE,
    table,
  ]);
  if (rows[0]?.mine !== true) return undefined;
  await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_MS}`);
  return removeSome(tx, limit);
}
