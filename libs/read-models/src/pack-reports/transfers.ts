import { typeKnowledge } from '#documents';
import type { Pool, Queryable } from '#postgres';
import { present } from '../list-page.js';
import { JOIN_STAY } from '../pack-state/now.js';
import { ownPlaces } from '../pack-state/own-places.js';
import { tellers } from '../pack-state/tellers.js';
import { transferParts } from '../pack-state/transfer.js';
import type { TellingDocument } from '../port.js';
import type { OverdueTransfers, TransferLine, TransferQuery } from '../report-port.js';
import type { ShelfContext } from './shelf.js';
import { MOST_LINES, pinned, tooMany, type ReportPin } from './snapshot.js';

const DAY_MS = 86_400_000;

const side = (n: number): string => `split_part(transfer, ' ', ${n})`;
/** As `transferParts` says it. */
const AWAITED = `CASE WHEN ${side(1)} = 'reverse' THEN ${side(2)} ELSE ${side(3)} END`;

const BEGINS = typeKnowledge.known.filter((docType) =>
  ['begins', 'is claimed'].includes(typeKnowledge.transferOf(docType) ?? ''),
);

/**
 * What is under way, by the document that began it: packs and containers that it, or their container, names. It told
 * status and place. What comes on the way tells one of them, as an arbitration does: then it is the other document.
 * $1 before, $2 partner, $3 whether we are awaited, $4 places of ours, $5 most rows; $2 and $3 null: all.
 */
const UNDER_WAY = `SELECT transfer, d.known_from AS "toldFrom", d.ordered_at AS since,
    sum(packs)::int AS packs, sum(containers)::int AS containers
  FROM (SELECT coalesce(s.transfer, y.transfer) AS transfer,
      coalesce(y.status_from, s.status_from, y.moved_from, s.position) AS status_from,
      coalesce(y.place_from, s.place_from) AS place_from,
      count(*) FILTER (WHERE length(s.item) = 27) AS packs, count(*) FILTER (WHERE length(s.item) = 18) AS containers
    FROM pack_state s ${JOIN_STAY} WHERE coalesce(s.transfer, y.transfer) IS NOT NULL GROUP BY 1, 2, 3) AS under_way
  CROSS JOIN LATERAL (SELECT known_from, ordered_at FROM movement_document
    WHERE known_from IN (status_from, place_from)
    ORDER BY doc_type IN (${BEGINS.join(', ')}) DESC, ordered_at, known_from LIMIT 1) AS d
  WHERE d.ordered_at < $1 AND ($2::text IS NULL OR $2 IN (${side(2)}, ${side(3)}))
    AND ($3::boolean IS NULL OR $3 = (${AWAITED} = ANY ($4::text[])))
  GROUP BY 1, 2, 3 ORDER BY since, "toldFrom", transfer LIMIT $5`;

interface UnderWay {
  transfer: string;
  toldFrom: bigint;
  since: Date;
  packs: number;
  containers: number;
}

/**
 * Transfers that the awaited side has not accepted for longer than so many days, the oldest first. `sent`: we wait for
 * a partner; `received`: a partner waits for us.
 */
export const overdueTransfers = (pool: Pool, query: TransferQuery, context: ShelfContext): Promise<OverdueTransfers> =>
  pinned(pool, context.asOf, async (db, pin) => {
    const before = new Date(context.asOf.getTime() - query.days * DAY_MS);
    const own = await ownPlaces(db);
    const isReceived = query.direction === undefined ? null : query.direction === 'received';
    const most = context.mostLines ?? MOST_LINES;
    const values = [before, query.partner ?? null, isReceived, [...own], most + 1];
    const { rows } = await db.query<UnderWay>(UNDER_WAY, values);
    if (rows.length > most) throw tooMany(most, SHORTER);
    const lines = await linesOf(db, rows, { own, pin, context });
    const packs = lines.reduce((all, one) => all + one.packs, 0);
    return { ...pin, days: query.days, sentBefore: before.toISOString(), packs, items: lines };
  });

/** What makes the report shorter. */
const SHORTER = { field: 'partner', advice: 'ask for a partner, a direction or more days' };

async function linesOf(
  db: Queryable,
  rows: readonly UnderWay[],
  { own, pin, context }: { own: ReadonlySet<string>; pin: ReportPin; context: ShelfContext },
): Promise<TransferLine[]> {
  const tellerOf = await tellers(
    db,
    rows.map(({ toldFrom }) => toldFrom),
    context.types,
  );
  return rows.map(({ transfer, toldFrom, since, packs, containers }) => {
    const { from, to, awaited } = transferParts(transfer);
    return {
      direction: own.has(awaited) ? 'received' : 'sent',
      ...present({ from: from || null, to: to || null, awaits: awaited || null }),
      ...{ packs, containers, since: since.toISOString() },
      days: Math.floor((context.asOf.getTime() - since.getTime()) / DAY_MS),
      toldBy: tellerOf(toldFrom) as TellingDocument,
      ...{ asOf: pin.asOf, knownAt: pin.knownAt },
    };
  });
}
