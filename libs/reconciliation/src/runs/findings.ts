import { canonicalJson } from '#kernel';
import type { Queryable } from '#postgres';
import type { Finding, FindingKind } from '../documents/finding.js';

/** Stores findings of one attempt. */
export async function writeFindings(db: Queryable, { runId, attempt, findings }: { runId: string; attempt: string; findings: { n: number; finding: Finding }[] }): Promise<void> {
  if (findings.length === 0) return;
  await db.query('INSERT INTO reconciliation_finding (run_id, attempt, n, kind, finding) SELECT $1, $2, * FROM unnest($3::int[], $4::text[], $5::text[])', [
    runId,
    attempt,
    findings.map((one) => one.n),
    findings.map((one) => one.finding.kind),
    findings.map((one) => canonicalJson(one.finding)),
  ]);
}

/** Removes what attempts have left that came to no event. */
export async function removeOtherAttempts(db: Queryable, runId: string, attempt: string): Promise<void> {
  await db.query('DELETE FROM reconciliation_finding WHERE run_id = $1 AND attempt <> $2', [runId, attempt]);
}

/** Findings of a run in their order, after number `after`. */
export async function readFindings(
  db: Queryable,
  { runId, attempt, kind, after, limit }: { runId: string; attempt: string; kind?: FindingKind | undefined; after: number; limit: number },
): Promise<{ n: number; finding: Finding }[]> {
  const { rows } = await db.query<{ n: number; finding: string }>(
    'SELECT n, finding FROM reconciliation_finding WHERE run_id = $1 AND attempt = $2 AND n > $3 AND ($4::text IS NULL OR kind = $4) ORDER BY n LIMIT $5',
    [runId, attempt, after, kind ?? null, limit],
  );
  return rows.map(({ n, finding }) => ({ n, finding: JSON.parse(finding) as Finding }));
}
