import { isSgtin, PedigreeError, splitSgtin, type Sgtin } from '#kernel';
import type { Queryable } from '#postgres';
import { present } from '../list-page.js';
import type { HistoryQuery, Movement, SgtinHistory } from '../port.js';
import { fieldsOf } from '../shapes.js';
import { movement } from './shape.js';
import { MOVEMENT_DOCUMENT, MOVEMENT_EFFECT, type MovementDocument, type MovementEffectRow } from './row.js';

const NOW = 9_223_372_036_854_775_807n;
/** Containers within containers are followed so far; real ones are three or four deep. */
const MAX_NESTING = 8;

const OF_DOCUMENT = [
  'knownFrom',
  'requestId',
  'channel',
  'docType',
  'subjectId',
  'counterpartyId',
  'operationDate',
  'acceptedAt',
  'documentSha256',
  'receiptSha256',
] as const satisfies (keyof MovementDocument)[];
const OF_EFFECT = [
  'result',
  'errorCode',
  'errorText',
  'status',
  'place',
] as const satisfies (keyof MovementEffectRow)[];

/**
 * $1 item, $2 known at, $3 as of, $4 nesting. `held`: who carried the pack between which two moments (acceptance, log
 * position).
 */
const MOVEMENTS = `
  WITH RECURSIVE held AS (
    SELECT $1::text COLLATE "C" AS item, '-infinity'::timestamptz AS from_at, 0::bigint AS from_position,
      'infinity'::timestamptz AS to_at, 9223372036854775807::bigint AS to_position, 0 AS depth
    UNION ALL
    SELECT c.parent COLLATE "C", starts.at, starts.at_position, ends.at, ends.at_position, held.depth + 1
    FROM held
    CROSS JOIN LATERAL containment_of(held.item, $2, $3) c
    CROSS JOIN LATERAL (
      SELECT at, at_position FROM (VALUES (held.from_at, held.from_position), (c.valid_from,
        c.from_position)) AS m (at, at_position)
      ORDER BY at DESC, at_position DESC LIMIT 1
    ) starts
    CROSS JOIN LATERAL (
      SELECT at, at_position FROM (VALUES (held.to_at, held.to_position), (c.valid_to, c.to_position)) AS m (at,
        at_position)
      ORDER BY at, at_position LIMIT 1
    ) ends
    WHERE held.depth < $4 AND (starts.at, starts.at_position) < (ends.at, ends.at_position)
  )
  SELECT DISTINCT ON (d.ordered_at, d.known_from, m.ordinal)
    held.depth, m.item, coalesce(d.document_id, s.document_id) AS "documentId",
    ${MOVEMENT_DOCUMENT.select({ of: 'd', only: OF_DOCUMENT })}, ${MOVEMENT_EFFECT.select({ of: 'e', only: OF_EFFECT })}
  FROM held
  JOIN item_movement m ON m.item = held.item
  JOIN movement_document d ON d.known_from = m.known_from
  JOIN movement_effect e ON e.known_from = m.known_from AND e.effect = m.effect
  LEFT JOIN sent_document s ON s.request_id = d.request_id AND d.document_id IS NULL
  WHERE d.known_from <= $2 AND (d.known_to IS NULL OR d.known_to > $2) AND d.ordered_at <= $3
    AND (held.depth = 0 OR ((d.ordered_at, d.known_from) > (held.from_at, held.from_position) AND (d.ordered_at,
      d.known_from) <= (held.to_at, held.to_position)))
  ORDER BY d.ordered_at, d.known_from, m.ordinal, held.depth, m.item`;

const HEARD_OF = `
  SELECT EXISTS (SELECT FROM item_movement WHERE item = $1 AND known_from <= $2) AS heard,
    (SELECT parent FROM containment_of($1, $2, $3) WHERE valid_to = 'infinity' ORDER BY valid_from DESC,
      from_position DESC LIMIT 1) AS container`;

/** NULL is `null` as it is read, and an instant a Date. */
type Read<T> = { [K in keyof T]: undefined extends T[K] ? Exclude<T[K], undefined> | null : T[K] };
type MovementRow = { depth: number; item: string; documentId: string | null; acceptedAt: Date | null } & Read<
  Pick<MovementDocument, Exclude<(typeof OF_DOCUMENT)[number], 'acceptedAt'>>
> &
  Read<Pick<MovementEffectRow, (typeof OF_EFFECT)[number]>>;

/**
 * One pack's life in the order in which the registry accepted it (then log position): its own movements, and those of
 * every container, nested ones too, while that held it. `undefined` when by `knownAt` no document had named it. A
 * container's movement counts after the pack went in, up to and including the moment that ended the stay.
 * @param titleOf the plain name of a document type.
 * @throws PedigreeError `invalid_identifier` when `sgtin` has not the shape of one.
 */
export async function historyOf(
  db: Queryable,
  sgtin: Sgtin,
  options: HistoryQuery & { titleOf: (docType: number) => string },
): Promise<SgtinHistory | undefined> {
  if (!isSgtin(sgtin))
    throw new PedigreeError('invalid_identifier', 'an SGTIN has 14 digits (GTIN) and 13 letters or digits (serial)', {
      item: sgtin,
    });
  const knownAt = options.knownAt ?? NOW;
  const asOf = options.asOf ?? 'infinity';
  const about = (await db.query<{ heard: boolean; container: string | null }>(HEARD_OF, [sgtin, knownAt, asOf]))
    .rows[0];
  if (about?.heard !== true) return undefined;
  const { rows } = await db.query<MovementRow>(MOVEMENTS, [sgtin, knownAt, asOf, MAX_NESTING]);
  const applied = rows.filter((row) => row.result === 'applied');
  const status = applied.findLast((row) => row.status !== null)?.status;
  const place = applied.findLast((row) => row.place !== null)?.place;
  const { container } = about;
  return {
    sgtin,
    ...splitSgtin(sgtin),
    ...present({ status, place, container }),
    movements: rows.map((row) => movementOf(row, options.titleOf(row.docType))),
  };
}

const shown = fieldsOf(movement);

function movementOf({ depth, requestId, knownFrom, ...row }: MovementRow, title: string): Movement {
  return {
    ...shown(row),
    title,
    ...(depth > 0 ? { through: 'container' } : {}),
    ...(requestId === '' ? {} : { requestId }),
    knownAt: String(knownFrom),
  };
}
