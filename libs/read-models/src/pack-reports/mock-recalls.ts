import type { MockRecallEvent } from '#domain';
import { actorShown, typedEvent, type RecordedEvent } from '#event-store';
import type { Pool, Queryable } from '#postgres';
import { pageLimit, pageOf, present, readCursor } from '../list-page.js';
import { fateOf, groupsOfSeries } from '../pack-state/series-file.js';
import type { Page } from '../port.js';
import type { MockRecallSummary, TracedSeries } from '../report-port.js';
import { unknownContents } from '../sgtin-history/content-question.js';
import { affectedBranches } from '../suspensions/affected.js';
import { pinned } from './snapshot.js';
import type { ShelfContext } from './shelf.js';

const SERIES_UNKNOWN = `SELECT count(*)::int AS packs FROM pack_state
  WHERE item > $1 AND item < $2 AND length(item) = 27 AND series IS NULL`;

/** Where every pack of a series is, by branch and place, at one log position. */
export const tracedSeries = (
  pool: Pool,
  { gtin, series }: { gtin: string; series: string },
  { types, asOf }: ShelfContext,
): Promise<TracedSeries> =>
  pinned(pool, asOf, async (db, { knownAt }) => {
    const { branches } = await affectedBranches(db, { gtin, series }, { types, recentFrom: new Date(0) });
    const { groups, own } = await groupsOfSeries(db, { gtin, series }, types);
    const unknown = await db.query<{ packs: number }>(SERIES_UNKNOWN, [gtin, `${gtin}~`]);
    const containersUnknown = await unknownContents(db);
    const lines = branches.map(({ recent: _, ...line }) => line);
    const ours = groups.filter((one) => fateOf(one, own) !== 'not_received');
    const all = ours.reduce((sum, { packs }) => sum + packs, 0);
    const of = (standing: string): number =>
      lines.reduce((sum, line) => sum + (line.standing === standing ? line.packs : 0), 0);
    const stands = { inStock: of('in_stock'), inTransit: of('in_transit'), shipped: of('shipped') };
    const told = stands.inStock + stands.inTransit + stands.shipped + of('unknown');
    return {
      ...{ gtin, series, asOf: asOf.toISOString(), knownAt },
      packs: { ...stands, gone: all - told, unknown: of('unknown') },
      seriesUnknown: unknown.rows[0]?.packs ?? 0,
      containersUnknown,
      places: new Set(lines.map(({ branch, place }) => place ?? branch)).size,
      lines,
    };
  });

/** A mock recall, from its own stream; undefined when it never began. */
export function mockRecallOf(events: readonly RecordedEvent[]): MockRecallSummary | undefined {
  const [begun, traced] = [events.find(isBegun), events.find(({ type }) => type === 'MockRecallTraced')];
  if (begun === undefined) return undefined;
  const { recallId, gtin, series } = typedEvent<MockRecallEvent>(begun).data;
  const started = {
    ...{ recallId, gtin, series, begunAt: begun.recordedAt.toISOString(), actor: actorShown(begun.metadata.actor) },
    ...present({ reason: begun.metadata.reason }),
  };
  if (traced === undefined) return { ...started, state: 'begun' };
  const {
    recallId: _id,
    gtin: _gtin,
    series: _series,
    ...data
  } = (typedEvent<MockRecallEvent>(traced) as { data: Extract<MockRecallEvent, { type: 'MockRecallTraced' }>['data'] })
    .data;
  const tookMs = traced.recordedAt.getTime() - begun.recordedAt.getTime();
  // Answers of before did not count containers, and stay what they are.
  const { packs, seriesUnknown, containersUnknown = 0 } = data;
  const isComplete = packs.unknown + seriesUnknown + containersUnknown === 0;
  return { ...started, state: 'traced', tracedAt: traced.recordedAt.toISOString(), tookMs, isComplete, ...data };
}

const isBegun = ({ type }: RecordedEvent): boolean => type === 'MockRecallBegun';

/** One page of streams of mock recalls, the newest first. */
export async function mockRecallStreams(
  db: Queryable,
  query: { limit?: number; cursor?: string },
): Promise<Page<string>> {
  const limit = pageLimit(query.limit);
  const before = query.cursor === undefined ? null : readCursor(query.cursor);
  const { rows } = await db.query<{ stream: string; position: bigint }>(
    `SELECT stream, position FROM access_entry WHERE kind = 'override' AND type = 'MockRecallBegun'
       AND ($1::bigint IS NULL OR position < $1) ORDER BY position DESC LIMIT $2`,
    [before, limit + 1],
  );
  return pageOf(rows, limit, { show: ({ stream }) => stream, positionOf: ({ position }) => position });
}
