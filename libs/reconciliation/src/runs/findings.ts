import { canonicalJson } from '#kernel';
import type { Queryable } from '#postgres';
import type { Finding, FindingKind } from '../documents/finding.js';

/** Stores findings of one attempt. */
export async function writeFindings(
  db: Queryable,
  { runId, attempt, findings }: { runId: string; attempt: string; findings: { n: number; finding: Finding }[] },
): Promise<void> {
  if (findings.length === 0) return;
  await db.query(
    'INSERT INTO reconciliation_finding (run_id, attempt, n, kind, finding) SELECT $1, $2, * FROM ' +
      'unnest($3::int[], $4::text[], $5::text[])',
    [
      runId,
      attempt,
      findings.map((one) => one.n),
      findings.map((one) => one.finding.kind),
      findings.map((one) => canonicalJson(one.finding)),
    ],
  );
}

/** Removes what attempts have left that came to no event. */
export async function removeOtherAttempts(db: Queryable, runId: string, attempt: string): Promise<void> {
  await db.query('DELETE FROM reconciliation_finding WHERE run_id = $1 AND attempt <> $2', [runId, attempt]);
}

/** Findings of a run in their order, after number `after`. */
export async function readFindings(
  db: Queryable,
  {
    runId,
    attempt,
    kind,
    after,
    limit,
  }: { runId: string; attempt: string; kind?: FindingKind | undefined; after: number; limit: number },
): Promise<{ n: number; finding: Finding }[]> {
  const { rows } = await db.query<{ n: number; finding: string }>(
    'SELECT n, finding FROM reconciliation_finding WHERE run_id = $1 AND attempt = $2 AND n > $3 AND ($4::text ' +
      'IS NULL OR kind = $4) ORDER BY n LIMIT $5',
    [runId, attempt, after, kind ?? null, limit],
  );
  return rows.map(({ n, finding }) => ({ n, finding: JSON.parse(finding) as Finding }));
}

/**
 * Removes at most `limit` findings of runs that were asked for more than `keptDays` days ago, and returns how many rows
 * went. The run itself, its counts and its digest stay in the log; the request says since when its findings are gone.
 */
export async function removeFindings(
  db: Queryable,
  { keptDays, limit }: { keptDays: number; limit: number },
): Promise<number> {
  const { rows } = await db.query<{ removed: bigint }>(
    `WITH old AS (
       SELECT f.run_id, f.attempt, f.n FROM reconciliation_request r JOIN reconciliation_finding f USING (run_id)
       WHERE r.requested_at < statement_timestamp() - $1::int * interval '1 day' LIMIT $2
     ), removed AS (
       DELETE FROM reconciliation_finding f USING old WHERE (f.run_id, f.attempt, f.n) = (old.run_id, old.attempt,
         old.n) RETURNING f.run_id
     ), noted AS (
       UPDATE reconciliation_request SET findings_removed_at = statement_timestamp() WHERE findings_removed_at IS NULL
         AND run_id IN (SELECT run_id FROM removed)
     ) SELECT count(*) AS removed FROM removed`,
    [keptDays, limit],
  );
  return Number(rows[0]?.removed ?? 0n);
}
