import type { Pool } from '#postgres';
import { tracedSeries } from '../pack-reports/mock-recalls.js';
import { expiringPacks, unmovedPacks } from '../pack-reports/shelf.js';
import { pinned, pinnedStock } from '../pack-reports/snapshot.js';
import { overdueTransfers } from '../pack-reports/transfers.js';
import type { PackFilter, Packs } from '../port.js';
import { recordedInForce } from '../suspensions/in-force.js';
import { checkPacks } from './check.js';
import { dayAfter, dayIn } from './day-in.js';
import { listPacks } from './list.js';
import type { PackTypes } from './now.js';
import { knownUpTo } from './record-age.js';
import { seriesFileOf } from './series-file.js';
import { sourcesOf } from './series-sources.js';
import { stockOf } from './stock.js';

export interface PackQuestionOptions {
  /** Offset of the zone in which a pack's last day of use ends, such as `+03:00`. Default: that of UTC. */
  zone?: string;
  /** For tests. */
  mostLines?: number;
  now?: () => Date;
}

/** What the API and the command line ask about many packs. Changes nothing. */
export const packQuestions = (
  pool: Pool,
  types: PackTypes,
  { zone = '+00:00', now = () => new Date(), ...limits }: PackQuestionOptions = {},
): Packs => ({
  list: async (query, asOf = now()) => {
    // Read before: what is told meanwhile may be in the page, and is not claimed.
    const knownAt = String(await knownUpTo(pool));
    return { knownAt, ...(await listPacks(pool, dated(query, zone, asOf), types)) };
  },
  stock: (query, asOf = now()) =>
    pinnedStock(pool, asOf, (db) => stockOf(db, dated(query, zone, asOf), { types, ...limits })),
  check: (query) => checkPacks(pool, { ...query, day: query.day ?? dayIn(zone, now()) }, types),
  unmoved: (query, asOf) => unmovedPacks(pool, query, { types, asOf, ...limits }),
  expiring: (query, asOf) => expiringPacks(pool, query, { types, asOf, zone, ...limits }),
  overdueTransfers: (query, asOf) => overdueTransfers(pool, query, { types, asOf, ...limits }),
  trace: (gtin, series, asOf) => tracedSeries(pool, { gtin, series }, { types, asOf }),
  series: async (gtin, series, first) => {
    const suspendedBy = (await recordedInForce(pool, [gtin])).of(gtin, series);
    return pinned(pool, new Date(), (db) => seriesFileOf(db, { gtin, series, suspendedBy, ...first }, types));
  },
  seriesSources: (gtin, series, page) =>
    pinned(pool, new Date(), async (db) => {
      const { sources: _, ...found } = await sourcesOf(db, { gtin, series, ...page }, types);
      return found;
    }),
});

/** The last day that is meant, as the report of what expires counts it. */
function dated<Query extends PackFilter>(query: Query, zone: string, asOf: Date): Query {
  const { expiresWithin, expiresBy } = query;
  if (expiresWithin === undefined) return query;
  const last = dayAfter(expiresWithin, { zone, asOf });
  return { ...query, expiresBy: expiresBy === undefined || last < expiresBy ? last : expiresBy };
}
