import { migrate, migrationNames, type Pool } from '#postgres';
import { readModelSchemas, type DocumentListQuery } from '#read-models';

const ROWS_AT_ONCE = 100_000;

/**
 * Rows of the document list by the hundred thousand, the same for the same seed: one every 30 s, the newest tenth
 * without an outcome. Unkind to a list that is read through the wrong index: the account `closed`, the type 911 and the
 * reference ERP-OLD are found in the oldest twentieth alone, the phase `unconfirmed` in the oldest of the backlog, and
 * account `north` never sends the type 415 that all the others do.
 */
const FILL = `
INSERT INTO document_outcome (request_id, registered_position, position, command_id, reference, account, doc_type,
  subject_id, operation_date, item_count, phase,
  waiting_for, attempts, document_id, outcome, cause, error_count, document_sha256, duplicate, registered_at,
    concluded_at)
SELECT md5('r' || n), n * 7, n * 7 + 5, 'command-' || n, CASE WHEN place < 0.05
  AND n % 500 = 0 THEN 'ERP-OLD' ELSE 'ERP-' || n END,
  CASE WHEN place < 0.05 AND chance % 2 = 0 THEN 'closed' WHEN is_north THEN 'north' ELSE 'account-' || chance % 9 END,
  CASE WHEN place < 0.05 AND chance % 3 = 0 THEN 911 WHEN is_north THEN 701 ELSE (ARRAY[415, 701, 431,
    552])[1 + chance % 4] END,
  '00000000000464', '2026-01-01T00:00:00+03:00', 100,
  CASE WHEN place < 0.9 THEN 'concluded' WHEN place < 0.902 AND n % 10 = 0 THEN 'unconfirmed' ELSE (ARRAY['ready',
    'waiting', 'sent'])[1 + chance % 3] END,
  '[]', 1, md5('d' || n), CASE WHEN place >= 0.9 THEN NULL WHEN n % 300 < 3 THEN (ARRAY['partial', 'rejected',
    'failed'])[1 + n % 300] ELSE 'accepted' END,
  CASE WHEN place < 0.9 AND n % 300 = 2 THEN 'registry_failed' END, 0, repeat('ab', 32), n % 20000 = 7,
    '2025-01-01T00:00:00Z'::timestamptz + n * interval '30 s', CASE
    WHEN place < 0.9 THEN '2025-01-01T00:10:00Z'::timestamptz + n * interval '30 s' END
FROM (
  SELECT n, n::float8 / $3 AS place, (hashint8extended(n, $4) >> 20) & 65535 AS chance, (hashint8extended(n,
    $4) >> 40) & 3 = 0 AS is_north
  FROM generate_series($1::bigint, $2::bigint) AS n
) AS drawn`;

/** The last migration before the list had an index for each filter. */
const LAST_OLD = '0011-document-outcome-resend.sql';

/**
 * Makes the tables of the document list as they were before, fills them, and upgrades them in place. The database must
 * be empty.
 */
export async function fillDocuments(pool: Pool, { rows, seed }: { rows: number; seed: number }): Promise<void> {
  const old = (await migrationNames(readModelSchemas)).filter(
    (name) => !name.startsWith('read-models/document-outcomes/') || name.slice(name.lastIndexOf('/') + 1) <= LAST_OLD,
  );
  await migrate(pool, readModelSchemas, { only: new Set(old) });
  for (let from = 1; from <= rows; from += ROWS_AT_ONCE)
    await pool.query(FILL, [from, Math.min(rows, from + ROWS_AT_ONCE - 1), rows, seed]);
  await migrate(pool, readModelSchemas);
  for (const table of ['document_outcome', 'document_open']) await pool.query(`VACUUM ANALYZE ${table}`);
}

/**
 * Every filter of the list, at the place in these rows where it is hardest. `day`: some day of the log, in from 0 to 1.
 */
export function hardQueries(rows: number): Record<string, DocumentListQuery> {
  const day = (place: number): Date => new Date(Date.UTC(2025, 0, 1) + Math.floor(rows * place) * 30_000);
  return {
    none: {},
    account: { account: 'closed' },
    type: { docType: 911 },
    account_and_type: { account: 'north', docType: 415 },
    outcome_accepted: { outcome: 'accepted' },
    outcome_failed: { outcome: 'failed' },
    cause: { cause: 'registry_failed' },
    phase_concluded: { phase: 'concluded' },
    phase_unconfirmed: { phase: 'unconfirmed' },
    phase_sent: { phase: 'sent' },
    reference: { reference: 'ERP-OLD' },
    duplicate: { duplicate: true },
    not_duplicate: { duplicate: false },
    old_day: { registeredFrom: day(0.3), registeredTo: day(0.31) },
    until_an_old_day: { registeredTo: day(0.5) },
    type_of_an_old_day: { docType: 701, registeredFrom: day(0.2), registeredTo: day(0.21) },
  };
}
