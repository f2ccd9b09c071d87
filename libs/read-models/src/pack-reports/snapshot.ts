import { PedigreeError, Semaphore } from '#kernel';
import { inTransaction, type Pool, type Queryable } from '#postgres';
import { ageOfRecord } from '../pack-state/record-age.js';
import { present } from '../list-page.js';

/** From when on a report speaks: the log position up to which the record of packs was told, and the moment. */
export interface ReportPin {
  /** ISO 8601. All ages count from here. */
  asOf: string;
  knownAt: string;
  /** The registry's newest acceptance in it. */
  newestAcceptedAt?: string;
}

/** Tables that a rebuild puts in place of the old ones: named before the snapshot, so that none looks empty to it. */
const TABLES = 'pack_state, pack_stay, place_move, movement_document';

/** Reports that are made at once, each with a connection of its own; the others wait, so that intake has the rest. */
const turns = new Semaphore(2, 'reports about packs', 16);

/** Stock is asked for often, and counted soon: it waits for no report. */
const turnsOfStock = new Semaphore(2, 'questions about stock', 64);

/** Whoever asks about a suspension must act at once, and waits for no report. One at a time: it is counted soon. */
const turnsOfSuspensions = new Semaphore(1, 'questions about suspensions', 64);

/**
 * Everything that a report reads, in one snapshot of the database: its figures are those of one log position, whatever
 * is told meanwhile. It is ended by the limit of all statements and transactions (30 s).
 * @throws PedigreeError `unavailable` when too many wait for their turn.
 */
export const pinned = <T>(pool: Pool, asOf: Date, read: Reading<T>): Promise<T> =>
  turns.take(() => inSnapshot(pool, asOf, read));

/** The same for a question about stock. */
export const pinnedStock = <T>(pool: Pool, asOf: Date, read: Reading<T>): Promise<T> =>
  turnsOfStock.take(() => inSnapshot(pool, asOf, read));

/** The same for a question about a suspension. */
export const pinnedSuspension = <T>(pool: Pool, asOf: Date, read: Reading<T>): Promise<T> =>
  turnsOfSuspensions.take(() => inSnapshot(pool, asOf, read));

type Reading<T> = (db: Queryable, pin: ReportPin) => Promise<T>;

function inSnapshot<T>(pool: Pool, asOf: Date, read: Reading<T>): Promise<T> {
  const work = async (tx: Queryable): Promise<T> => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await tx.query(`LOCK TABLE ${TABLES} IN ACCESS SHARE MODE`);
    const { knownAt, newestAcceptedAt } = await ageOfRecord(tx);
    const newest = present({ newestAcceptedAt: newestAcceptedAt?.toISOString() });
    return read(tx, { asOf: asOf.toISOString(), knownAt: String(knownAt), ...newest });
  };
  return inTransaction(pool, work, { name: 'a report about packs' });
}

/** Lines of one report: as many as an Excel file has. */
export const MOST_LINES = 50_000;

export const tooMany = (most: number, { field, advice }: { field: string; advice: string }): PedigreeError =>
  new PedigreeError('too_many_items', `the report has more than ${most} lines: ${advice}`, { field });
