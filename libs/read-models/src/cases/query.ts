import { liveSighting, remedyOf, sightingsOf, type CaseEnd, type CaseSighting, type KnownCase } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { timelineOf } from '../document-timeline/timeline.js';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { CaseDetail, CaseListQuery, CaseSummary, Page } from '../port.js';
import { sentenceOfCaseEvent } from './event-sentences.js';
import { foldCase } from './fold.js';
import { RECONCILIATION_CASE, type CaseRow } from './row.js';
import { wordsForCase } from './words.js';

const OVERDUE = "(phase IN ('open', 'acknowledged') AND due_at < $now)";

/** One page of cases, the newest first. @throws PedigreeError `invalid_parameter` that names the parameter. */
export async function listCases(db: Queryable, query: CaseListQuery, now: Date): Promise<Page<CaseSummary>> {
  const limit = pageLimit(query.limit);
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const wanted: string[] = [];
  for (const [column, value] of Object.entries(filtersOf(query)))
    if (value !== undefined) wanted.push(`${column} = ${given(value)}`);
  if (query.unresolved === true) wanted.push("phase <> 'resolved'");
  if (query.overdue !== undefined) wanted.push(`${query.overdue ? '' : 'NOT '}${OVERDUE.replace('$now', given(now))}`);
  if (query.cursor !== undefined) wanted.push(`opened_position < ${given(readCursor(query.cursor))}`);
  const { rows } = await db.query<CaseRow>(
    `SELECT ${RECONCILIATION_CASE.select()} FROM reconciliation_case
     WHERE ${['true', ...wanted].join(' AND ')} ORDER BY opened_position DESC LIMIT ${given(limit + 1)}`,
    values,
  );
  return pageOf(rows, limit, { show: (row) => caseSummaryOf(row, now), positionOf: (row) => row.openedPosition });
}

const filtersOf = (query: CaseListQuery) => ({
  ...{ phase: query.state, severity: query.severity, code: query.code, place: query.place, document: query.document },
  ...{ container: query.container, gtin: query.gtin, series: query.series, assignee: query.assignee },
  ...{ part_of: query.partOf },
});

/** A case with its history, from its own stream; undefined when it was never opened. */
export function caseDetailOf(events: RecordedEvent[], now: Date): CaseDetail | undefined {
  const row = events.reduce<CaseRow | undefined>(foldCase, undefined);
  if (row === undefined) return undefined;
  const { lastSeen, parts, cause } = row.state;
  const packs = sightingsOf(row.state).packs?.seen;
  return {
    ...caseSummaryOf(row, now),
    lastRun: runOf(lastSeen),
    ...(packs === undefined || lastSeen.run.kind === 'packs' ? {} : { packsRun: runOf(packs) }),
    ...(cause.kind === 'part' ? { items: cause.items } : {}),
    ...present({ suggestedAction: remedyOf(row.state)?.action }),
    parts,
    timeline: timelineOf(events, sentenceOfCaseEvent),
  };
}

const runOf = ({ run, findingsSha256, rows }: CaseSighting) => ({
  ...{ ...run, findingsSha256 },
  ...(rows === undefined || rows.from === rows.to ? {} : present({ file: rows.file, from: rows.from, to: rows.to })),
});

const isOverdue = ({ phase, dueAt }: CaseRow, now: Date): boolean =>
  (phase === 'open' || phase === 'acknowledged') && dueAt < now;

function caseSummaryOf(row: CaseRow, now: Date): CaseSummary {
  const { caseId, code, severity, phase, causeKind, itemCount, runsSeen, position, state } = row;
  return {
    ...{ caseId, code, severity, state: phase, ...wordsForCase(state), cause: causeKind },
    ...present({
      ...{ document: row.document, container: row.container, gtin: row.gtin, series: row.series, place: row.place },
      ...{ partOf: row.partOf, assignee: row.assignee },
    }),
    itemCount,
    ...present({ unjudged: liveSighting(state, 'packs')?.seen.unjudged }),
    ...{ firstSeenAt: row.firstSeenAt.toISOString(), lastSeenAt: row.lastSeenAt.toISOString(), runsSeen },
    ...{ dueAt: row.dueAt.toISOString(), overdue: isOverdue(row, now) },
    ...endOf(state),
    ...present({ remedyRequestId: row.remedyRequestId }),
    position: String(position),
  };
}

function endOf({ end, resolvedAt }: Pick<KnownCase, 'end' | 'resolvedAt'>) {
  if (end === null || resolvedAt === null) return {};
  return { resolvedAt, resolvedBy: end.kind, ...present({ resolution: resolutionOf(end) }) };
}

const resolutionOf = (end: CaseEnd) => (end.kind === 'person' ? end.resolution : undefined);

/** Unresolved cases by severity, and how many of them are overdue. */
export async function caseFigures(
  db: Queryable,
  now: Date,
): Promise<{ severity: string; unresolved: number; overdue: number }[]> {
  const { rows } = await db.query<{ severity: string; unresolved: bigint; overdue: bigint }>({
    name: 'case-figures',
    text: `SELECT severity, count(*) AS unresolved, count(*) FILTER (WHERE ${OVERDUE.replace('$now', '$1')}) AS overdue
      FROM reconciliation_case WHERE phase <> 'resolved' GROUP BY severity`,
    values: [now],
  });
  return rows.map((one) => ({
    ...{ severity: one.severity, unresolved: Number(one.unresolved), overdue: Number(one.overdue) },
  }));
}
