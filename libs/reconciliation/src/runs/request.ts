import type { PlannedTask } from '#domain';
import type { Actor } from '#event-store';
import { canonicalJson, PedigreeError, uuid5 } from '#kernel';
import type { MigrationSet, Queryable } from '#postgres';

export const reconciliationSchema: MigrationSet = {
  name: 'reconciliation',
  directory: new URL('./migrations/', import.meta.url),
};

/** The lane that the reconciler serves. */
export const RECONCILE_LANE = 'reconcile';

export const runStream = (runId: string): string => `run-${runId}`;

/** A run that was asked for. */
export interface RunRequest {
  runId: string;
  reason: string;
  actor: Actor;
}

/** What a run compares. */
export type RunKind = 'documents' | 'packs';

/** Keeps the request, once; the caller schedules its task in the same transaction. */
export async function keepRequest(
  db: Queryable,
  { runId, reason, actor, kind = 'documents' }: RunRequest & { kind?: RunKind },
): Promise<void> {
  await db.query(
    'INSERT INTO reconciliation_request (run_id, reason, actor, kind) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
    [runId, reason, canonicalJson(actor), kind],
  );
}

/** The reason of the newest request of a kind that this actor made for one with such a beginning. */
export async function newestReason(
  db: Queryable,
  { kind, actor, beginning }: { kind: RunKind; actor: Actor; beginning: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ reason: string }>(
    `SELECT reason FROM reconciliation_request WHERE kind = $1 AND actor = $2 AND starts_with(reason, $3)
     ORDER BY requested_at DESC LIMIT 1`,
    [kind, canonicalJson(actor), beginning],
  );
  return rows[0]?.reason;
}

/** The task by which the reconciler takes a request: the same request is one task for ever. */
export const runTask = (runId: string): PlannedTask<'reconcile_documents'> => ({
  key: `reconcile:${runId}`,
  kind: 'reconcile_documents',
  lane: RECONCILE_LANE,
  priority: 900,
  dueAt: new Date(0),
  payload: { runId },
});

/** The day's own run has one id, so that however many reconcilers there are, it is asked for once. */
export const dailyRunId = (installationId: string, day: string): string =>
  uuid5(`reconciliation:${day}`, installationId);

/** How far a run is: of so many parts of a step, and how long that step takes at least, or goes on at this pace. */
export interface RunEstimate {
  step: string;
  done: number;
  of: number;
  /** Null: not known yet. */
  secondsLeft: number | null;
}

export type DryResult = { at: string } & ({ started: object; completed: object } | { problem: string });

/** A request as it is kept. */
export type KeptRequest = RunRequest & {
  kind: RunKind;
  requestedAt: Date;
  /** How far it is, or what its last attempt met, while it is being made. */ progress?: string;
  estimate?: RunEstimate;
  /** Neither log nor cases have it. */ dryRun?: true;
  /** What a dry run found, or why it failed: it is recorded nowhere else. */ dryResult?: DryResult;
  /** Since when its findings are gone, or going. */ findingsRemovedAt?: Date;
};

const COLUMNS = `run_id, kind, requested_at, reason, actor, findings_removed_at, progress, estimate, dry_result,
  (asked::json ->> 'dryRun')::boolean AS is_dry`;

export async function findRequest(db: Queryable, runId: string): Promise<KeptRequest | undefined> {
  const { rows } = await db.query<RequestRow>(`SELECT ${COLUMNS} FROM reconciliation_request WHERE run_id = $1`, [
    runId,
  ]);
  return rows[0] === undefined ? undefined : requestOf(rows[0]);
}

/**
 * Requests, newest first, from behind the run `before` on.
 * @throws PedigreeError `invalid_parameter` where no run has that id.
 */
export async function listRequests(
  db: Queryable,
  { before, limit }: { before?: string | undefined; limit: number },
): Promise<KeptRequest[]> {
  const { rows } = await db.query<RequestRow>(
    `SELECT ${COLUMNS} FROM reconciliation_request
     WHERE $1::text IS NULL OR (requested_at, run_id) < (SELECT requested_at, run_id FROM reconciliation_request
       WHERE run_id = $1) ORDER BY requested_at DESC, run_id DESC LIMIT $2`,
    [before ?? null, limit],
  );
  if (rows.length === 0 && before !== undefined && (await findRequest(db, before)) === undefined)
    throw new PedigreeError('invalid_parameter', `before names no run: ${before}`, { field: 'before' });
  return rows.map(requestOf);
}

interface RequestRow {
  run_id: string;
  kind: RunKind;
  requested_at: Date;
  reason: string;
  actor: string;
  findings_removed_at: Date | null;
  progress: string | null;
  estimate: string | null;
  dry_result: string | null;
  is_dry: boolean | null;
}

const MOST_PROGRESS = 1_000;

/** Says how far a run is. */
export async function noteProgress(
  db: Queryable,
  runId: string,
  { progress, estimate }: { progress: string; estimate?: RunEstimate | undefined },
): Promise<void> {
  await db.query('UPDATE reconciliation_request SET progress = $2, estimate = $3 WHERE run_id = $1', [
    ...[runId, progress.slice(0, MOST_PROGRESS), estimate === undefined ? null : canonicalJson(estimate)],
  ]);
}

/** Keeps what a dry run found, or why it failed, once: no event does. */
export async function noteDryResult(db: Queryable, runId: string, result: DryResult): Promise<void> {
  await db.query('UPDATE reconciliation_request SET dry_result = $2 WHERE run_id = $1 AND dry_result IS NULL', [
    ...[runId, canonicalJson(result)],
  ]);
}

/** Says that the findings of a run are gone. */
export async function noteRemoved(db: Queryable, runId: string): Promise<void> {
  await db.query(
    `UPDATE reconciliation_request SET findings_removed_at = statement_timestamp()
     WHERE run_id = $1 AND findings_removed_at IS NULL`,
    [runId],
  );
}

const requestOf = (row: RequestRow): KeptRequest => ({
  runId: row.run_id,
  kind: row.kind,
  requestedAt: row.requested_at,
  reason: row.reason,
  actor: JSON.parse(row.actor) as Actor,
  ...(row.progress === null ? {} : { progress: row.progress }),
  ...(row.estimate === null ? {} : { estimate: JSON.parse(row.estimate) as RunEstimate }),
  ...(row.is_dry === true ? { dryRun: true } : {}),
  ...(row.dry_result === null ? {} : { dryResult: JSON.parse(row.dry_result) as DryResult }),
  ...(row.findings_removed_at === null ? {} : { findingsRemovedAt: row.findings_removed_at }),
});
