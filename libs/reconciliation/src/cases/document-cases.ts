import {
  caseIdOf,
  liveSighting,
  sightingsOf,
  type CaseCommand,
  type CaseRun,
  type CaseSeverity,
  type KnownCase,
} from '#domain';
import type { EventStore } from '#event-store';
import type { Sha256 } from '#kernel';
import type { Queryable } from '#postgres';
import { RECONCILIATION_CASE, type CaseRow } from '#read-models';
import type { Finding } from '../documents/finding.js';
import { readFindings } from '../runs/findings.js';
import { findRun, type RunShown } from '../runs/query.js';
import type { RunStarted } from '../runs/run.js';
import type { CaseAct, CaseLog } from './case-log.js';
import { count, dueAt, noOpening, type DueDays, type Opening } from './opening.js';
import { TROUBLED_CODES, troubledDocuments } from './troubled-documents.js';

export interface DocumentCasesOptions {
  db: Queryable;
  store: Pick<EventStore, 'readStream'>;
  log: CaseLog;
  dueDays: DueDays;
  onWarning?: (text: string) => void;
}

const AT_ONCE = 1_000;

const SEVERITY_OF: Record<string, CaseSeverity> = {
  missing_in_registry: 'critical',
  status_mismatch: 'critical',
  duplicate_in_registry: 'critical',
  overdue_document: 'warning',
  rejected_document: 'critical',
  failed_document: 'critical',
  halted_in_group: 'warning',
};

interface Looked {
  run: CaseRun;
  findingsSha256: Sha256;
  act: CaseAct;
  started: RunStarted;
}

/**
 * Opens a case for each finding of a run, and for each document that ended badly by the moment of the run; resolves
 * those that the run looked for and did not find. Once: a repeat after a crash changes what is left. Undefined when the
 * run was not made, or its findings are kept no longer.
 */
export async function openDocumentCases(options: DocumentCasesOptions, runId: string): Promise<Opening | undefined> {
  const shown = await findRun(options.db, options.store, runId);
  if (shown?.started === undefined || shown.completed === undefined || shown.findingsRemovedAt !== undefined) return;
  const { started, completed } = shown;
  const run: CaseRun = { id: runId, kind: 'documents', moment: started.asOf };
  const act: CaseAct = { actor: shown.actor, reason: shown.reason, id: `reconcile:${runId}`, at: started.asOf };
  const looked: Looked = { run, findingsSha256: completed.findingsDigest, act, started };
  const opening = noOpening();
  const told = async (commands: CaseCommand[]): Promise<void> =>
    count(opening, await options.log.tellAll(commands, act));
  const found = new Set<string>();
  for await (const page of commandsOf(options, shown, looked)) {
    for (const { caseId } of page) found.add(caseId);
    await told(page);
  }
  // Where not all findings are kept, one that is not found may be among the others.
  const left = completed.findingsLeftOut;
  if (left !== undefined)
    options.onWarning?.(
      `${left} of ${completed.findings} findings are not kept: they open no case, and none is resolved`,
    );
  else
    for await (const { missed, notCovered } of casesNotFound(options, looked, found)) {
      opening.notCovered += notCovered;
      await told(missed);
    }
  return opening;
}

async function* commandsOf(
  options: DocumentCasesOptions,
  { runId, completed }: RunShown,
  looked: Looked,
): AsyncGenerator<CaseCommand[]> {
  const attempt = completed?.attempt ?? '';
  for (let after = 0; ;) {
    const found = await readFindings(options.db, { runId, attempt, after, limit: AT_ONCE });
    if (found.length > 0) yield found.map((one) => seenIn(options, looked, one));
    if (found.length < AT_ONCE) break;
    after = found.at(-1)?.n ?? 0;
  }
  for await (const page of troubledDocuments(options.db, looked.started, AT_ONCE))
    yield page.map(({ since, ...one }) => ({ ...sightingOf(options, looked, one), since: since.toISOString() }));
}

const seenIn = (
  options: DocumentCasesOptions,
  looked: Looked,
  { n, finding: { reasonCode, requestId } }: { n: number; finding: Finding },
): CaseCommand => sightingOf(options, looked, { code: reasonCode, document: requestId, n });

function sightingOf(
  { dueDays }: DocumentCasesOptions,
  { run, findingsSha256 }: Looked,
  { code, document, n }: { code: string; document: string; n?: number },
): CaseCommand {
  const cause = { document, kind: 'document' } as const;
  const severity = SEVERITY_OF[code] ?? 'warning';
  const rows = n === undefined ? {} : { rows: { from: n, to: n + 1 } };
  // In the order of canonical JSON, so that nothing is sorted when the log takes it.
  return {
    ...{ type: 'See', caseId: caseIdOf(code, cause), cause, code, dueAt: dueAt(severity, run.moment, dueDays) },
    ...{ seen: { count: 1, findingsSha256, ...rows, run }, severity },
  };
}

/** Unresolved cases of documents that this run did not find: which of them it has looked for. */
async function* casesNotFound(
  { db }: DocumentCasesOptions,
  { run, findingsSha256, started }: Looked,
  found: ReadonlySet<string>,
): AsyncGenerator<{ missed: CaseCommand[]; notCovered: number }> {
  for (let after = ''; ;) {
    const { rows } = await db.query<CaseRow>({
      name: 'document-cases-unresolved',
      text: `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case
        WHERE phase <> 'resolved' AND case_id > $1 AND documents_seen_at < $2 ORDER BY case_id LIMIT $3`,
      values: [after, new Date(run.moment), AT_ONCE],
    });
    const gone = rows.filter(({ caseId, state }) => isLive(state) && !found.has(caseId));
    const covered = await coveredBy(db, started, gone);
    const missed = covered.map(({ caseId }): CaseCommand => ({ type: 'Miss', caseId, run, findingsSha256 }));
    yield { missed, notCovered: gone.length - missed.length };
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)?.caseId ?? '';
  }
}

const isLive = (state: KnownCase): boolean => liveSighting(state, 'documents') !== undefined;

/**
 * Those that the run would have found, were they still there: overdue ones that have an outcome; others within its
 * window, and behind it, where what was sent in their place is there, too, and a run of packs has found that their
 * items are as they should be; and one that was missing only where the account's list was read without a gap, and for
 * long enough after its end.
 */
async function coveredBy(db: Queryable, started: RunStarted, rows: CaseRow[]): Promise<CaseRow[]> {
  const { rows: own } = await db.query<OwnDocument>({
    name: 'case-documents-mended',
    text: MENDED,
    values: [rows.map(({ document }) => document), MOST_RESENDS],
  });
  const known = new Map(own.map((one) => [one.request_id, one]));
  return rows.filter(({ code, document, state }) => {
    const one = known.get(document ?? '');
    if (one === undefined) return false;
    // What was sent in its place speaks for itself: while it can still be found, the packs prove nothing.
    const isFollowed = one.replaced && (!one.last_ended || isInWindow(one.last_ended_at, started));
    const mended = one.mended || (sightingsOf(state).packs?.missed === true && !isFollowed);
    return isCovered(code, { ...one, mended }, started);
  });
}

/** Documents that were sent one in the place of another, of which the last one counts. */
const MOST_RESENDS = 100;
const MENDED = `WITH RECURSIVE sent AS (
    SELECT request_id AS first, request_id, 0 AS n FROM document_outcome WHERE request_id = ANY ($1::text[])
    UNION ALL SELECT s.first, coalesce(d.resent_as, d.superseded_by), s.n + 1
      FROM sent s JOIN document_outcome d USING (request_id)
      WHERE coalesce(d.resent_as, d.superseded_by) IS NOT NULL AND s.n < $2),
  last AS (SELECT DISTINCT ON (first) first, request_id, n FROM sent ORDER BY first, n DESC)
  SELECT o.request_id, o.account, o.registered_at,
    CASE WHEN o.outcome IS NOT NULL THEN o.concluded_at END AS concluded_at,
    l.n > 0 AS replaced, d.concluded_at AS last_ended_at,
    d.outcome IS NOT NULL AS last_ended,
    CASE WHEN l.n = 0 THEN coalesce(o.outcome NOT IN ('rejected', 'failed'), true)
      ELSE coalesce(d.outcome IN ('accepted', 'partial'), false) END AS mended
  FROM last l JOIN document_outcome o ON o.request_id = l.first
    LEFT JOIN document_outcome d ON d.request_id = l.request_id`;

interface OwnDocument {
  request_id: string;
  account: string;
  registered_at: Date;
  /** null: it has no outcome. */
  concluded_at: Date | null;
  /** Another was sent in its place. */
  replaced: boolean;
  /** When the last of these did; null: it has not, or is not known yet. */
  last_ended_at: Date | null;
  last_ended: boolean;
  /** It did not end badly after all, or what was sent in its place was accepted, or its items are as they should be. */
  mended: boolean;
}

const isInWindow = (at: Date | null, { asOf, rules }: RunStarted): boolean =>
  at !== null && at.getTime() >= Date.parse(asOf) - rules.windowMs;

function isCovered(code: string, own: OwnDocument, started: RunStarted): boolean {
  // A higher limit tells it no more, and it is still waited for.
  if (code === 'overdue_document') return own.concluded_at !== null;
  const isRecent = isInWindow(own.registered_at, started);
  if (TROUBLED_CODES.includes(code)) return own.mended || (isRecent && !own.replaced);
  return isRecent && (code !== 'missing_in_registry' || isListed(own, started));
}

/** As the comparison has it: else it has not looked for the document. */
function isListed({ account, registered_at: from, concluded_at: ended }: OwnDocument, started: RunStarted): boolean {
  const list = started.coverage.find((one) => one.account === account);
  if (list === undefined || ended === null) return false;
  const behindMs = Date.parse(list.to) - ended.getTime();
  return Date.parse(list.from) <= from.getTime() && behindMs >= started.rules.missingAfterMs;
}
