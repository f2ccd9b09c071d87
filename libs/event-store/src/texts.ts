import { canonicalJson } from '#kernel';
import { isoInstant, UNPARSED, type Queryable } from '#postgres';
import type { EventText, RecordedEvent, TextPage } from './port.js';

/** A page, and whether the log ended with it at that moment. */
export interface TextRead<Made> extends TextPage<Made> {
  reachedHead: boolean;
}

/** The text of an event that was read. */
export const textOf = ({ recordedAt, data, metadata, ...event }: RecordedEvent): EventText => ({
  ...event,
  recordedAt: recordedAt.toISOString(),
  data: canonicalJson(data),
  metadata: canonicalJson(metadata),
});

/** Bytes of data and metadata that one statement gives, but for its last event. */
const BYTES_AT_ONCE = 8 * 1024 * 1024;
const READ = `SELECT position, id, stream, version, type, schema_version, recorded_at, convert_from(data, 'UTF8'),
    convert_from(metadata, 'UTF8')
  FROM (SELECT *, sum(bytes) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - bytes AS before
    FROM (SELECT *, octet_length(data) + octet_length(metadata) AS bytes
      FROM event WHERE position > $1 ORDER BY position LIMIT $2) AS chosen) AS counted
  WHERE before < ${BYTES_AT_ONCE} ORDER BY position`;
/** In the order of the statement. */
type TextRow = [string, string, string, string, string, string, string, string, string];
/** Rows of one statement; the texts of two statements are in memory at a time, however long a page is, or an event. */
const ROWS_AT_ONCE = 1_000;

const eventOf = ([position, id, stream, version, type, schemaVersion, at, data, metadata]: TextRow): EventText => ({
  position: BigInt(position),
  id,
  stream,
  version: Number(version),
  type,
  schemaVersion: Number(schemaVersion),
  recordedAt: isoInstant(at),
  data,
  metadata,
});

async function readRows(db: Queryable, after: bigint, limit: number): Promise<TextRow[]> {
  const query = { name: 'event-read-texts', text: READ, values: [after, limit] };
  return (await db.query<TextRow>({ ...query, rowMode: 'array', types: UNPARSED })).rows;
}

/** UTF-8 takes three bytes at most for a UTF-16 unit. */
const MOST_BYTES_OF_UNIT = 3;

/** Whether the log ended with these rows. Where their bytes may be as many as a statement gives, more may follow. */
function endWith(rows: TextRow[], asked: number): boolean {
  const units = rows.reduce((sum, [, , , , , , , data, metadata]) => sum + data.length + metadata.length, 0);
  return rows.length < asked && units * MOST_BYTES_OF_UNIT < BYTES_AT_ONCE;
}

/**
 * What `each` makes of the events after a position, at most `limit`. The next rows are read while it works on those
 * before.
 */
export async function readTextPage<Made>(
  db: Queryable,
  after: bigint,
  { limit, each }: { limit: number; each: (event: EventText) => Made },
): Promise<TextRead<Made>> {
  const events: Made[] = [];
  const asked = (): number => Math.min(ROWS_AT_ONCE, limit - events.length);
  let readUpTo = after;
  let next: Promise<TextRow[]> | undefined = readRows(db, after, asked());
  let reachedHead = false;
  while (next !== undefined) {
    const rows: TextRow[] = await next;
    const last = rows.at(-1);
    if (last !== undefined) readUpTo = BigInt(last[0]);
    const wanted = limit - events.length - rows.length;
    reachedHead = endWith(rows, asked());
    next = reachedHead || wanted === 0 ? undefined : readRows(db, readUpTo, Math.min(ROWS_AT_ONCE, wanted));
    // Where `each` throws, nobody asks for it any more.
    next?.catch(() => undefined);
    for (const row of rows) events.push(each(eventOf(row)));
  }
  return { events, readUpTo, reachedHead };
}

/** Reads on as soon as a page is read, where there is more: the next one is there, or nearly, when it is asked for. */
export function readingAhead<Made>(
  read: (after: bigint) => Promise<TextRead<Made>>,
): (after: bigint) => Promise<TextRead<Made>> {
  let ahead: Promise<TextRead<Made>> | undefined;
  return async (after) => {
    const page = await (ahead ?? read(after));
    ahead = page.reachedHead ? undefined : read(page.readUpTo);
    // A failure is thrown when its turn comes; whoever ends before does not ask for it.
    ahead?.catch(() => undefined);
    return page;
  };
}
