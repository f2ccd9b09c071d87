import { DOCUMENT_STREAM_PREFIX, requestIdOfStream } from '#domain';
import type { Transaction } from '#postgres';
import type { Projection } from '#subscriptions';
import { foldPage } from '../fold-page.js';
import { foldDocumentOutcome, tallyChange, type OutcomeTally } from './fold.js';
import { DOCUMENT_COUNT, DOCUMENT_OPEN, DOCUMENT_OUTCOME, type DocumentOutcomeRow } from './row.js';

/**
 * Keeps the document list. A page costs four statements, whatever its size: load the touched rows, write them, note the
 * phases of those without an outcome, count.
 */
export function documentOutcomesProjection(): Projection {
  return {
    name: 'document-outcomes',
    filter: { streamPrefixes: [DOCUMENT_STREAM_PREFIX] },
    project: async (events, tx) => {
      const folding = { table: DOCUMENT_OUTCOME, keyOf: requestIdOfStream, fold: foldDocumentOutcome };
      const { before, after } = await foldPage(tx, events, folding);
      await notePhases(tx, after);
      await addToTally(tx, tallyChange(before, after));
    },
    tables: [DOCUMENT_OUTCOME.name, DOCUMENT_COUNT.name, DOCUMENT_OPEN.name],
  };
}

const NOTE_PHASES = {
  name: 'document-open-write',
  text: `WITH page AS MATERIALIZED (
      SELECT * FROM unnest(${DOCUMENT_OPEN.arrays}, $${DOCUMENT_OPEN.columns.length + 1}::boolean[])
        AS given (${DOCUMENT_OPEN.names}, is_open)
    ), concluded AS (
      DELETE FROM document_open WHERE registered_position = ANY (ARRAY(SELECT registered_position FROM page
        WHERE NOT is_open))
    )
    INSERT INTO document_open AS known (${DOCUMENT_OPEN.names}) SELECT ${DOCUMENT_OPEN.names} FROM page WHERE is_open
    ON CONFLICT (registered_position) DO UPDATE SET phase = excluded.phase WHERE known.phase <> excluded.phase`,
};

async function notePhases(tx: Transaction, rows: DocumentOutcomeRow[]): Promise<void> {
  if (rows.length === 0) return;
  const values = [...DOCUMENT_OPEN.values(rows), rows.map((row) => row.outcome === null)];
  await tx.query({ ...NOTE_PHASES, values });
}

const ADD_TO_TALLY = {
  name: 'document-outcome-tally',
  text: `INSERT INTO document_outcome_count AS total (${DOCUMENT_COUNT.names})
    SELECT * FROM unnest(${DOCUMENT_COUNT.arrays})
    ON CONFLICT (single) DO UPDATE SET ${DOCUMENT_COUNT.columns
      .filter(({ isUpdated }) => isUpdated)
      .map(({ name }) => `${name} = total.${name} + excluded.${name}`)
      .join(', ')}`,
};

async function addToTally(tx: Transaction, change: OutcomeTally): Promise<void> {
  if (Object.values(change).every((one) => one === 0n)) return;
  await tx.query({ ...ADD_TO_TALLY, values: DOCUMENT_COUNT.values([change]) });
}
