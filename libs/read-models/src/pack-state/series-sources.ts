import { PedigreeError } from '#kernel';
import type { Queryable } from '#postgres';
import { foreignCursor } from '../list-page.js';
import type { SeriesFile, SeriesPage, SeriesSources } from '../port.js';
import type { PackTypes } from './now.js';
import { knownUpTo } from './record-age.js';
import { tellers } from './tellers.js';

export interface Series {
  gtin: string;
  series: string;
}

/** A series of a product; null: the packs of the product whose series no document has told. */
export interface Asked {
  gtin: string;
  series: string | null;
}

/** $1 to $3 are `rangeOf`. An SSCC has 18 characters; in this form PostgreSQL's estimate of the rows is right. */
export const OF_SERIES = 's.series = $1 AND s.item > $2 AND s.item < $3 AND length(s.item) <> 18';
/** Packs of the product whose series no document has told; $1 is null. */
export const OF_NO_SERIES =
  '$1::text IS NULL AND s.series IS NULL AND s.item > $2 AND s.item < $3 AND length(s.item) <> 18';
export const rangeOf = ({ gtin, series }: Asked): (string | null)[] => [series, gtin, `${gtin}~`];

/** Sources of one page, when no number is asked for, and the most. */
const USUAL_LIMIT = 1_000;
const MOST_LIMIT = 10_000;

/**
 * A page of the sources that were known at log position $4, or are now, the largest first, after one of $5 packs and
 * position $6. What lies in a container came by the document that brought it, whoever told of it. `digest` is over all
 * sources, with their packs: it tells whether the list is still the same.
 */
const SOURCES = `WITH first AS (
    SELECT s.first_from, count(*)::int AS packs FROM pack_state s WHERE ${OF_SERIES} GROUP BY 1),
  source AS (
    SELECT coalesce(brought.known_from, first_from) AS told, sum(packs)::int AS packs
    FROM first JOIN movement_document d ON d.known_from = first_from
    LEFT JOIN movement_document brought ON d.channel = 'registry_answer' AND brought.document_id = d.document_id
      AND brought.channel <> 'registry_answer'
    GROUP BY 1 HAVING $4::bigint IS NULL OR coalesce(brought.known_from, first_from) <= $4),
  whole AS (
    SELECT count(*)::int AS sources, max(told) AS newest,
      coalesce(bit_xor(hashtextextended(told || ' ' || packs, 0)), 0)::text AS digest
    FROM source),
  page AS (
    SELECT told, packs FROM source
    WHERE $5::int IS NULL OR packs < $5 OR packs = $5 AND told > $6::bigint
    ORDER BY packs DESC, told LIMIT $7)
  SELECT sources, newest, digest, told AS "firstFrom", packs FROM whole LEFT JOIN page ON true
  ORDER BY packs DESC, told`;

interface SourceRow {
  sources: number;
  newest: bigint | null;
  digest: string;
  firstFrom: bigint | null;
  packs: number | null;
}

/** Where a list of sources goes on, at which log position it began, and what it was like there. */
interface Place {
  knownAt: bigint;
  packs: number;
  firstFrom: bigint;
  digest: string;
}

/** Opaque to callers. */
const writeCursor = ({ knownAt, packs, firstFrom, digest }: Place): string =>
  Buffer.from(`s1:${knownAt}:${packs}:${firstFrom}:${digest}`).toString('base64url');

const CURSOR = /^s1:(\d{1,18}):(\d{1,9}):(\d{1,18}):(-?\d{1,19})$/;

function readCursor(cursor: string): Place {
  const read = CURSOR.exec(Buffer.from(cursor, 'base64url').toString());
  const [, knownAt = '0', packs = '0', firstFrom = '0', digest = ''] = read ?? [];
  const place = { knownAt: BigInt(knownAt), packs: Number(packs), firstFrom: BigInt(firstFrom), digest };
  if (read === null || writeCursor(place) !== cursor) throw foreignCursor();
  return place;
}

function limitOf({ limit = USUAL_LIMIT }: SeriesPage): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_LIMIT) return limit;
  throw new PedigreeError('invalid_parameter', `limit must be a whole number from 1 to ${MOST_LIMIT}`, {
    field: 'limit',
  });
}

const latest = (position: bigint, other: bigint | null): bigint =>
  other !== null && other > position ? other : position;

/**
 * One page of the documents by which packs of a series came, the largest first: as they were known at the log position
 * of the first page. Documents that are told later are not in it. `db` reads one snapshot.
 * @throws PedigreeError `invalid_parameter`; `list_changed` when a source of the list has other packs than before.
 */
export async function sourcesOf(
  db: Queryable,
  asked: Series & SeriesPage,
  types: PackTypes,
): Promise<SeriesSources & Pick<SeriesFile, 'sources'>> {
  const limit = limitOf(asked);
  const after = asked.cursor === undefined ? undefined : readCursor(asked.cursor);
  const { sources, newest, digest, found } = await readSources(db, { ...asked, limit: limit + 1 }, after);
  const knownAt = after?.knownAt ?? latest(await knownUpTo(db), newest);
  const shown = found.slice(0, limit);
  const positions = shown.map(({ firstFrom }) => firstFrom);
  const tellerOf = await tellers(db, positions, types);
  const items = shown.flatMap(({ firstFrom, packs }) => {
    const by = tellerOf(firstFrom);
    return by === undefined ? [] : [{ packs, by }];
  });
  const last = shown.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return {
    ...{ knownAt: String(knownAt), sources, items },
    ...(hasMore ? { nextCursor: writeCursor({ knownAt, ...last, digest }) } : {}),
  };
}

type SourcesRead = Pick<SourceRow, 'sources' | 'newest' | 'digest'> & { found: { firstFrom: bigint; packs: number }[] };

async function readSources(
  db: Queryable,
  { limit, ...series }: Series & { limit: number },
  after: Place | undefined,
): Promise<SourcesRead> {
  const place = [after?.knownAt ?? null, after?.packs ?? null, after?.firstFrom ?? null];
  const { rows } = await db.query<SourceRow>(SOURCES, [...rangeOf(series), ...place, limit]);
  const { sources, newest, digest } = rows[0] as SourceRow;
  if (after !== undefined && after.digest !== digest)
    throw new PedigreeError('list_changed', 'the sources of the series have changed: begin with the first page again', {
      field: 'cursor',
    });
  const found = rows.flatMap(({ firstFrom, packs }) =>
    firstFrom === null || packs === null ? [] : [{ firstFrom, packs }],
  );
  return { sources, newest, digest, found };
}
