import { createReadStream } from 'node:fs';
import type { Queryable, Transaction } from '#postgres';
import { NEW_ORDER, type ExportOrder, type ExportStep } from './export-order.js';
import type { ExportPhase, RegistryFetch } from './fetch.js';
import { writePage } from './pages.js';

/** A file lies in pieces of so many bytes, so that no row is large. */
const PIECE_BYTES = 1_048_576;
/** Of a file: a profile takes none of more than a gigabyte. */
const MOST_PIECES = 1_024;

export const orderOf = ({ exportOrder }: Pick<RegistryFetch, 'exportOrder'>): ExportOrder =>
  exportOrder === null ? NEW_ORDER : (JSON.parse(exportOrder) as ExportOrder);

/** Now, by the clock of the database. */
export async function databaseNow(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ at: Date }>('SELECT statement_timestamp() AS at');
  return (rows[0] as { at: Date }).at.toISOString();
}

/** What is to be done next, before it is. False when the export is not where it was read: another was faster. */
export async function keepIntent(
  db: Queryable,
  { fetchId, phase, exportOrder }: RegistryFetch,
  order: ExportOrder,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE registry_fetch SET export_order = $4
     WHERE fetch_id = $1 AND phase = $2 AND export_order IS NOT DISTINCT FROM $3`,
    [fetchId, phase, exportOrder, JSON.stringify(order)],
  );
  return rowCount === 1;
}

/** An answer of the registry to a step, and when it came. */
export interface StepAnswer {
  body: Buffer;
  at: Date;
}

export interface KeptStep {
  step: ExportStep;
  answer?: StepAnswer | undefined;
  /** Calls that it took. */
  calls: number;
  intervalMs: number;
}

/**
 * Keeps a step of an export and the answer behind it, in one transaction. False when the export is not where the step
 * was made for: another has been faster.
 */
export async function keepStep(
  tx: Transaction,
  { fetchId, phase, exportOrder, calls: before }: RegistryFetch,
  { step, answer, calls, intervalMs }: KeptStep,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE registry_fetch SET phase = $4, export_order = $5, interval_ms = $6, calls = calls + $7, failures = 0,
       problem = NULL, pages = NULL, next_page = 0
     WHERE fetch_id = $1 AND phase = $2 AND export_order IS NOT DISTINCT FROM $3`,
    [fetchId, phase, exportOrder, step.phase, JSON.stringify(step.order), intervalMs, calls],
  );
  if (rowCount !== 1) return false;
  if (answer !== undefined) {
    const page = { rows: [], missing: [], unanswered: [], answer: answer.body, fetchedAt: answer.at };
    // Phases come again, and calls only grow.
    await writePage(tx, { fetchId, phase: phase as ExportPhase, n: before }, page);
  }
  return true;
}

/**
 * Keeps a file piece by piece, each by itself: a transaction ends after 30 s. The step behind it makes them count.
 * Undefined when another was faster: what that one keeps has other numbers, and no piece of this one is read.
 */
export async function writePieces(
  db: Queryable,
  fetch: RegistryFetch,
  { path, at }: { path: string; at: Date },
): Promise<RegistryFetch | undefined> {
  const { fetchId } = fetch;
  const order = orderOf(fetch);
  const claimed = { ...order, firstPiece: order.firstPiece + MOST_PIECES };
  if (!(await keepIntent(db, fetch, claimed))) return undefined;
  const exportOrder = JSON.stringify(claimed);
  await db.query(`DELETE FROM registry_fetch_page WHERE fetch_id = $1 AND phase = 'export_file' AND n < $2`, [
    ...[fetchId, claimed.firstPiece],
  ]);
  let n = claimed.firstPiece;
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) {
    const page = { rows: [], missing: [], unanswered: [], answer: piece as Buffer, fetchedAt: at };
    await writePage(db, { fetchId, phase: 'export_file', n }, page);
    n += 1;
  }
  return { ...fetch, exportOrder };
}
