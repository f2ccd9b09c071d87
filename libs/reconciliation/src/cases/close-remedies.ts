import type { DocumentOutcome } from '#domain';
import type { Queryable } from '#postgres';
import type { CaseLog } from './case-log.js';

const AT_ONCE = 1_000;

interface Ended {
  case_id: string;
  request_id: string;
  outcome: DocumentOutcome;
  document_id: string | null;
  receipt_sha256: string | null;
  concluded_at: Date;
}

/**
 * Tells each case whose released document has ended how that was: an accepted receipt resolves it. Returns how many
 * were told. The same again changes nothing.
 */
export async function closeRemedies(db: Queryable, log: CaseLog): Promise<number> {
  const { rows } = await db.query<Ended>({
    name: 'case-remedies-ended',
    text: `SELECT case_id, request_id, outcome, document_id, receipt_sha256, concluded_at
      FROM reconciliation_case JOIN document_outcome ON request_id = remedy_request_id
      WHERE remedy_request_id IS NOT NULL AND outcome IS NOT NULL AND concluded_at IS NOT NULL
      ORDER BY case_id LIMIT $1`,
    values: [AT_ONCE],
  });
  let told = 0;
  for (const { case_id: caseId, request_id: requestId, outcome, concluded_at, ...receipt } of rows) {
    const at = concluded_at.toISOString();
    const { events } = await log.tell(
      {
        ...{ type: 'ConcludeRemedy', caseId, at, requestId, outcome },
        ...(receipt.document_id === null ? {} : { documentId: receipt.document_id }),
        ...(receipt.receipt_sha256 === null ? {} : { receiptSha256: receipt.receipt_sha256 }),
      },
      { actor: { kind: 'system', name: 'reconciler', authenticatedBy: 'process' }, id: `remedy:${requestId}`, at },
    );
    if (events.length > 0) told += 1;
  }
  return told;
}
