import type { Queryable } from '#postgres';
import { isSurelyGone } from './process-name.js';

const HOLDERS = `SELECT DISTINCT holder FROM task WHERE lease_until > statement_timestamp() AND holder IS NOT NULL`;
/** A lease that ends now is one that ran out: whoever claims the task next is told so. */
const END_LEASES = `UPDATE task SET lease_until = statement_timestamp() WHERE holder = ANY ($1::text[]) AND lease_until > statement_timestamp()`;

/**
 * Ends the leases of processes of this machine that are surely gone, so that a restart after a crash need not wait for them to run out. Returns
 * how many. It keeps DESIGN promise 2: a lease protects against a holder that may still write, and one that is gone cannot; what it
 * wrote in its last moment is covered as ever, by the unknown outcome and its grace, which counts from the take-over.
 */
export async function endLeasesOfTheDead(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ holder: string }>(HOLDERS);
  const dead = rows.map((row) => row.holder).filter(isSurelyGone);
  if (dead.length === 0) return 0;
  return (await db.query(END_LEASES, [dead])).rowCount ?? 0;
}
