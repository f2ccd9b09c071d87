import type { Queryable } from '#postgres';
import type { RunStarted } from '../runs/run.js';

/** Reason codes of documents that ended badly, and that nothing has replaced. */
export const TROUBLED_CODES = ['rejected_document', 'failed_document', 'halted_in_group'];

interface Troubled {
  code: string;
  document: string;
  /** When it ended so. */
  since: Date;
}

/**
 * Documents that ended rejected or failed within the window of a run, by its moment, however long they had waited, and
 * were not sent again. Those of a group that halted before they were processed say so. In pages, by request_id.
 */
export async function* troubledDocuments(
  db: Queryable,
  { asOf, rules }: RunStarted,
  limit: number,
): AsyncGenerator<Troubled[]> {
  const since = new Date(Date.parse(asOf) - rules.windowMs);
  for (let after = ''; ;) {
    const { rows } = await db.query<Troubled>(
      `SELECT request_id AS document, CASE WHEN cause = 'not_processed' THEN 'halted_in_group'
          ELSE outcome || '_document' END AS code, concluded_at AS since
       FROM document_outcome WHERE request_id > $1 AND outcome IN ('rejected', 'failed') AND superseded_by IS NULL
         AND resent_as IS NULL
         AND concluded_at >= $2 AND concluded_at <= $3 ORDER BY request_id LIMIT $4`,
      [after, since, new Date(asOf), limit],
    );
    if (rows.length > 0) yield rows;
    if (rows.length < limit) return;
    after = rows.at(-1)?.document ?? '';
  }
}
