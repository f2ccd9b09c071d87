import { looksAlike } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { timelineOf } from '../document-timeline/timeline.js';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type {
  AffectedPacks,
  Page,
  SuspendedListVersion,
  SuspensionDetail,
  SuspensionListQuery,
  SuspensionSummary,
} from '../port.js';
import { fieldsOf } from '../shapes.js';
import { sentenceOfSuspensionEvent } from './event-sentences.js';
import { foldSuspension } from './fold.js';
import { SUSPENDED_LIST, SUSPENSION, type SuspendedListRow, type SuspensionRow } from './row.js';
import { suspendedListVersion } from './shape.js';

/** One page of suspensions, the newest first. @throws PedigreeError `invalid_parameter` that names the parameter. */
export async function listSuspensions(db: Queryable, query: SuspensionListQuery): Promise<Page<SuspensionSummary>> {
  const limit = pageLimit(query.limit);
  const values: unknown[] = [];
  const given = (value: unknown): string => `$${values.push(value)}`;
  const { state: phase, source, action, inForce: in_force, gtin, series } = query;
  const wanted = Object.entries(present({ phase, source, action, in_force })).map(
    ([column, value]) => `${column} = ${given(value)}`,
  );
  const match = present({ gtin, series });
  if (Object.keys(match).length > 0) wanted.push(`state @> ${given(JSON.stringify({ matches: [match] }))}::jsonb`);
  if (query.cursor !== undefined) wanted.push(`opened_position < ${given(readCursor(query.cursor))}`);
  const { rows } = await db.query<SuspensionRow>(
    `SELECT ${SUSPENSION.select()} FROM suspension
     WHERE ${['true', ...wanted].join(' AND ')} ORDER BY opened_position DESC LIMIT ${given(limit + 1)}`,
    values,
  );
  return pageOf(rows, limit, { show: summaryOf, positionOf: (row) => row.openedPosition });
}

/** A suspension with its history, from its own stream; undefined when it never began. */
export async function suspensionDetailOf(
  events: RecordedEvent[],
  affectedBy: (row: SuspensionRow) => Promise<AffectedPacks[]>,
): Promise<SuspensionDetail | undefined> {
  const row = events.reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  if (row === undefined) return undefined;
  return {
    ...summaryOf(row),
    ...present({ reply: row.state.reply }),
    affected: await affectedBy(row),
    timeline: timelineOf(events, sentenceOfSuspensionEvent),
  };
}

function summaryOf(row: SuspensionRow): SuspensionSummary {
  const { suspensionId, source, phase, action, inForce, changedAt, position, state } = row;
  const { product, series, matches, versions, newest } = state;
  const { number, date, from, letterSha256, listSha256 } = { ...newest } as Partial<Record<string, string>>;
  return {
    ...{ suspensionId, source, state: phase, action, inForce, product, series, matches, versions },
    lookAlikes: [...new Set(matches.map((one) => one.series))].filter((one) => looksAlike(one, series)),
    ...present({ number, date, from, letterSha256, listSha256 }),
    ...{ changedAt: changedAt.toISOString(), position: String(position) },
  };
}

const versionFields = fieldsOf(suspendedListVersion);
export const listVersionOf = (row: SuspendedListRow): SuspendedListVersion =>
  versionFields(row) as SuspendedListVersion;

/** One page of the versions of the list that we held, the newest first. */
export async function listSuspendedLists(
  db: Queryable,
  query: { limit?: number; cursor?: string },
): Promise<Page<SuspendedListVersion>> {
  const limit = pageLimit(query.limit);
  const before = query.cursor === undefined ? null : readCursor(query.cursor);
  const { rows } = await db.query<SuspendedListRow>(
    `SELECT ${SUSPENDED_LIST.select()} FROM suspended_list WHERE $1::bigint IS NULL OR position < $1
     ORDER BY position DESC LIMIT $2`,
    [before, limit + 1],
  );
  return pageOf(rows, limit, { show: listVersionOf, positionOf: (row) => row.position });
}

/** How old the newest version is, and whether it is doubted; undefined: none was ever held. */
export async function suspendedListFigures(
  db: Queryable,
  now: Date,
): Promise<{ ageSeconds: number; isDoubted: boolean } | undefined> {
  const held = await listHeldAt(db, now);
  if (held === undefined) return undefined;
  const ageSeconds = Math.max(0, (now.getTime() - held.fetchedAt.getTime()) / 1_000);
  return { ageSeconds, isDoubted: held.doubt !== null && held.confirmedAt === null };
}

/** The newest version that we held at a moment; undefined: none was held yet. */
export async function listHeldAt(db: Queryable, at: Date): Promise<SuspendedListRow | undefined> {
  const { rows } = await db.query<SuspendedListRow>(
    `SELECT ${SUSPENDED_LIST.select()} FROM suspended_list WHERE held_at <= $1
     ORDER BY held_at DESC, position DESC LIMIT 1`,
    [at],
  );
  return rows[0];
}
