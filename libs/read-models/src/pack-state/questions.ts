import type { Pool } from '#postgres';
import type { Packs } from '../port.js';
import { checkPacks } from './check.js';
import { listPacks, type PackTypes } from './list.js';
import { seriesFileOf } from './series-file.js';
import { stockOf } from './stock.js';

/** What the API and the command line ask about many packs. Changes nothing. */
export const packQuestions = (pool: Pool, types: PackTypes): Packs => ({
  list: (query) => listPacks(pool, query, types),
  stock: (query) => stockOf(pool, query, types),
  check: (query) => checkPacks(pool, query, types),
  series: (gtin, series) => seriesFileOf(pool, { gtin, series }, types),
});
