import { looksAlike, REGISTRY_LISTS, type RegistryList, type SuspensionVersion } from '#domain';
import type { RecordedEvent } from '#event-store';
import type { Queryable } from '#postgres';
import { timelineOf } from '../document-timeline/timeline.js';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import type { Page, SuspendedListVersion, SuspensionDetail, SuspensionListQuery, SuspensionSummary } from '../port.js';
import { fieldsOf } from '../shapes.js';
import type { AffectedRecord } from './affected.js';
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
export async function suspensionDetailOf<Affected extends Partial<AffectedRecord>>(
  events: RecordedEvent[],
  affectedBy: (row: SuspensionRow) => Promise<Affected>,
): Promise<(Omit<SuspensionDetail, keyof AffectedRecord> & Affected) | undefined> {
  const row = events.reduce<SuspensionRow | undefined>(foldSuspension, undefined);
  if (row === undefined) return undefined;
  return {
    ...summaryOf(row),
    ...present({ reply: row.state.reply }),
    ...(await affectedBy(row)),
    timeline: timelineOf(events, sentenceOfSuspensionEvent),
  };
}

export function summaryOf(row: SuspensionRow): SuspensionSummary {
  const { suspensionId, source, phase, action, inForce, changedAt, position, state } = row;
  const { product, series, matches, versions, newest } = state;
  const { from, letterSha256, listSha256 } = { ...newest } as Partial<Record<string, string>>;
  return {
    ...{ suspensionId, source, state: phase, action, inForce, product, series, matches, versions },
    lookAlikes: [...new Set(matches.map((one) => one.series))].filter((one) => looksAlike(one, series)),
    ...present({ ...saidBy(newest), from, letterSha256, listSha256 }),
    ...{ changedAt: changedAt.toISOString(), position: String(position) },
  };
}

/** Number and date of the letter or the decision that last said how a suspension stands. */
export function saidBy(newest: SuspensionVersion): { number?: string; date?: string; decisionId?: string } {
  if ('letterSha256' in newest) return { number: newest.number, date: newest.date };
  return newest.decision ?? {};
}

const versionFields = fieldsOf(suspendedListVersion);
export const listVersionOf = (row: SuspendedListRow): SuspendedListVersion =>
  versionFields(row) as SuspendedListVersion;

/** One page of the versions of the lists that we held, the newest first. */
export async function listSuspendedLists(
  db: Queryable,
  query: { limit?: number; cursor?: string; source?: RegistryList },
): Promise<Page<SuspendedListVersion>> {
  const limit = pageLimit(query.limit);
  const before = query.cursor === undefined ? null : readCursor(query.cursor);
  const { rows } = await db.query<SuspendedListRow>(
    `SELECT ${SUSPENDED_LIST.select()} FROM suspended_list 
     WHERE ($1::bigint IS NULL OR position < $1) AND ($3::text IS NULL OR source = $3)
     ORDER BY position DESC LIMIT $2`,
    [before, limit + 1, query.source ?? null],
  );
  return pageOf(rows, limit, { show: listVersionOf, positionOf: (row) => row.position });
}

/**
 * Of the newest versions: the age of the older one, whether one is doubted, and how many entries nobody understands,
 * without those of which a person has said that they are all right. A list that never came is as old as the first
 * version of the other one. Undefined: none was held.
 */
export async function suspendedListFigures(
  db: Queryable,
  now: Date,
): Promise<{ ageSeconds: number; isDoubted: boolean; notUnderstood: number } | undefined> {
  const found = await Promise.all(REGISTRY_LISTS.map((source) => listHeldAt(db, source, now)));
  const held = found.filter((one) => one !== undefined);
  if (held.length === 0) return undefined;
  const since = [...held.map(({ fetchedAt }) => fetchedAt), ...(held.length < found.length ? await firstHeld(db) : [])];
  const ages = since.map((at) => (now.getTime() - at.getTime()) / 1_000);
  return {
    ageSeconds: Math.max(0, ...ages),
    isDoubted: held.some(isDoubted),
    notUnderstood: held.reduce((sum, one) => sum + (one.notUnderstood ?? 0) - confirmedIn(one), 0),
  };
}

const isDoubted = ({ doubt, confirmedAt }: SuspendedListRow): boolean => doubt !== null && confirmedAt === null;

/** A list is believed only where a person has confirmed all its entries without an id. */
const confirmedIn = (one: SuspendedListRow): number => (isDoubted(one) ? 0 : (one.unnamed ?? 0));

async function firstHeld(db: Queryable): Promise<Date[]> {
  const { rows } = await db.query<{ at: Date }>('SELECT held_at AS at FROM suspended_list ORDER BY position LIMIT 1');
  return rows.map(({ at }) => at);
}

/** The newest version of a list that we held at a moment; undefined: none was held yet. */
export async function listHeldAt(db: Queryable, source: RegistryList, at: Date): Promise<SuspendedListRow | undefined> {
  const { rows } = await db.query<SuspendedListRow>(
    `SELECT ${SUSPENDED_LIST.select()} FROM suspended_list WHERE held_at <= $1 AND source = $2
     ORDER BY held_at DESC, position DESC LIMIT 1`,
    [at, source],
  );
  return rows[0];
}
