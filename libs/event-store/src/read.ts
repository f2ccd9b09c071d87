import type { Queryable } from '#postgres';
import type { JsonObject } from '#kernel';
import type { EventFilter, EventMetadata, ReadPage, RecordedEvent } from './port.js';

/** Brings an event of an older schema version to the newest one. Pure; the identity where there is nothing to do. */
export type Upcast = (event: RecordedEvent) => RecordedEvent;

interface EventRow {
  position: bigint;
  stream: string;
  version: number;
  id: string;
  type: string;
  schema_version: number;
  data: string;
  metadata: string;
  recorded_at: Date;
}

// The bytes come as text: canonical JSON is valid UTF-8 without NUL, and text spares the hexadecimal form that bytea
// takes on the wire.
const COLUMNS =
  `position, stream, version, id, type, schema_version, convert_from(data, 'UTF8') AS data, convert_from(metadata, ` +
  `'UTF8') AS metadata, recorded_at`;

function toEvent(row: EventRow): RecordedEvent {
  return {
    position: row.position,
    stream: row.stream,
    version: row.version,
    id: row.id,
    type: row.type,
    schemaVersion: row.schema_version,
    data: JSON.parse(row.data) as JsonObject,
    metadata: JSON.parse(row.metadata) as EventMetadata,
    recordedAt: row.recorded_at,
  };
}

const decode = (rows: EventRow[], upcast: Upcast | undefined): RecordedEvent[] =>
  upcast === undefined ? rows.map(toEvent) : rows.map((row) => upcast(toEvent(row)));

/** What is wanted of one stream: its events from a version on. */
export interface StreamRange {
  stream: string;
  fromVersion: number;
  limit: number;
}

const READ_STREAMS = `SELECT asked.n, found.* FROM unnest($1::text[], $2::int[],
    $3::int[]) WITH ORDINALITY AS asked (stream, from_version, most, n)
  CROSS JOIN LATERAL (SELECT ${COLUMNS} FROM event WHERE event.stream = asked.stream AND version >= from_version
    ORDER BY version LIMIT most) AS found
  ORDER BY asked.n, version`;

/** Events of streams, each as it was asked for, in one statement. */
export async function readStreamRows(
  db: Queryable,
  asked: StreamRange[],
  upcast: Upcast | undefined,
): Promise<RecordedEvent[][]> {
  const values = [asked.map((one) => one.stream), asked.map((one) => one.fromVersion), asked.map((one) => one.limit)];
  const { rows } = await db.query<EventRow & { n: bigint }>({ name: 'event-read-streams', text: READ_STREAMS, values });
  const found = asked.map((): EventRow[] => []);
  for (const row of rows) found[Number(row.n) - 1]?.push(row);
  return found.map((each) => decode(each, upcast));
}

/** A page, whether the log ended with it at that moment, and the bytes of its events as they are stored. */
export interface PageRead extends ReadPage {
  reachedHead: boolean;
  bytes: number;
}

interface AllRange {
  filter: EventFilter | undefined;
  limit: number;
  /**
   * Most positions that one read with a filter looks at, so that a rare type in a long log cannot make a statement
   * without end.
   */
  maxScan: number;
  upcast: Upcast | undefined;
}

/**
 * Events after a position. Positions are gapless, so an unfiltered page is exactly the next `limit` positions, and a
 * filtered one is bounded by a window of positions that the primary key serves. The head comes from the same snapshot
 * as the rows: nothing can slip between.
 */
export async function readAllRows(db: Queryable, after: bigint, range: AllRange): Promise<PageRead> {
  const { query, windowEnd } = pageQuery(after, range);
  const { rows } = await db.query<EventRow & { head: bigint }>(query);
  const [first] = rows;
  const head = first?.head ?? 0n;
  const found = first === undefined || first.position === null ? [] : rows;
  const events = decode(found, range.upcast);
  const last = events.at(-1);
  const lookedAt = windowEnd < head ? windowEnd : head;
  // A full page may have stopped anywhere in its window.
  const readUpTo = events.length === range.limit && last !== undefined ? last.position : lookedAt;
  const bytes = found.reduce((sum, row) => sum + row.data.length + row.metadata.length, 0);
  return { events, readUpTo: readUpTo > after ? readUpTo : after, reachedHead: readUpTo >= head, bytes };
}

/**
 * The statement of a page, and the last position that it looks at. Each has a name of its own, because the plan that a
 * session keeps must not be shared between the bounded range and the filtered one.
 */
function pageQuery(after: bigint, { filter, limit, maxScan }: AllRange) {
  const { streamPrefixes = null, types = null } = filter ?? {};
  if (streamPrefixes === null && types === null) {
    const windowEnd = after + BigInt(limit);
    return { windowEnd, query: { name: 'event-read-all', text: UNFILTERED, values: [after, windowEnd] } };
  }
  const windowEnd = after + BigInt(Math.max(maxScan, limit));
  const values = [after, windowEnd, limit, streamPrefixes, types];
  return { windowEnd, query: { name: 'event-read-all-filtered', text: FILTERED, values } };
}

// The head is joined from the left, so that it comes back also when no event does.
const HEAD = `(SELECT coalesce(max(position), 0) AS head FROM event) AS newest`;
const UNFILTERED = `SELECT head, found.* FROM ${HEAD} LEFT JOIN (
  SELECT ${COLUMNS} FROM event WHERE position > $1 AND position <= $2
) AS found ON true ORDER BY position`;
const FILTERED = `SELECT head, found.* FROM ${HEAD} LEFT JOIN (
  SELECT ${COLUMNS} FROM event
  WHERE position > $1 AND position <= $2
    AND ($5::text[] IS NULL OR type = ANY ($5))
    AND ($4::text[] IS NULL OR EXISTS (SELECT 1 FROM unnest($4::text[]) AS prefix WHERE starts_with(stream, prefix)))
  ORDER BY position LIMIT $3
) AS found ON true ORDER BY position`;

/** Position of the newest event, 0 when there is none. */
export async function readHead(db: Queryable): Promise<bigint> {
  const { rows } = await db.query<{ head: bigint }>({
    name: 'event-head',
    text: `SELECT coalesce(max(position), 0) AS head FROM event`,
  });
  return rows[0]?.head ?? 0n;
}
