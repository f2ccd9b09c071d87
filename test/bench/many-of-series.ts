import { migrate, type Pool } from '#postgres';
import { readModelSchemas } from '#read-models';

export const GTIN = '04607001770001';
export const SERIES = 'BENCH-1';
const SEED = 20_261_125;
/** Packs of one document by which they came, and of one box. */
const PACKS_OF_SOURCE = 200;
const PACKS_AT_ONCE = 100_000;

/**
 * What becomes of a pack, by a number from 0 to 99 that its serial number gives it: up to which number, the document
 * that told it, the status, whose place it is. A single pack has a document of its own, as a sale at a till has.
 */
const FATES: readonly [fate: string, below: number, docType: number, status: string, place: string, way: string][] = [
  ['sold', 40, 511, 'in_sale', 'ours', 'single'],
  ['shipped', 70, 415, 'in_realization', 'customer', 'box'],
  ['shipped', 75, 607, 'in_circulation', 'customer', 'many'],
  ['written_off', 80, 552, 'out_of_circulation', 'ours', 'many'],
  ['dispensed', 83, 521, 'in_discount_prescription_sale', 'ours', 'many'],
  ['returned', 85, 417, 'confirm_return_paused', 'supplier', 'many'],
  ['on_hand', 90, 701, 'paused_circulation', 'ours', 'many'],
  ['incoming', 92, 415, 'in_realization', 'ours', 'many'],
  ['on_hand', 100, 701, 'in_circulation', 'ours', 'many'],
];

const DRAWN = `(SELECT n, n / ${PACKS_OF_SOURCE} AS source, fate.*,
    CASE way WHEN 'single' THEN 10000000 + n ELSE 1000000 * at + n / ${PACKS_OF_SOURCE} + 1 END AS told,
    CASE place_of WHEN 'ours' THEN '00000000000' || 100 + n / ${PACKS_OF_SOURCE} % 20
      WHEN 'supplier' THEN '00000000000' || 200 + n / ${PACKS_OF_SOURCE} % 100
      ELSE '0000000000' || 3000 + n / ${PACKS_OF_SOURCE} % 1000 END AS place
  FROM generate_series($1::bigint, $2::bigint) AS n
  CROSS JOIN LATERAL (SELECT * FROM (VALUES ${FATES.map(
    ([, below, docType, status, place, way], at) =>
      `(${at + 1}, ${below}, ${docType}, '${status}', '${place}', '${way}')`,
  ).join(', ')}) AS fate (at, below, doc_type, status, place_of, way)
    WHERE (n * 7919 + ${SEED}) % 100 < below ORDER BY below LIMIT 1) AS fate) AS pack`;

const document = (from: string): string => `
  INSERT INTO movement_document (known_from, request_id, doc_type, outcome, subject_id, counterparty_id, operation_date,
    accepted_at, ordered_at, document_sha256, receipt_sha256, recorded_at)
  SELECT DISTINCT told, md5('r' || told)::uuid::text, doc_type, 'accepted', '00000000000' || 100 + source % 20, other,
    '2026-01-15T10:00:00+03:00', at, at, repeat('ab', 32), repeat('cd', 32), at
  FROM (SELECT told, doc_type, source, other, '2024-01-01T00:00:00Z'::timestamptz + told * interval '1 s' AS at
    FROM ${from}) AS one`;

const SOURCES = document(`(SELECT DISTINCT source + 1 AS told, 701 AS doc_type, source,
  '00000000000' || 200 + source % 100 AS other FROM ${DRAWN}) AS source`);
const TELLERS = document(`(SELECT told, doc_type, source, CASE place_of WHEN 'ours' THEN NULL ELSE place END AS other
  FROM ${DRAWN}) AS teller`);
const BOX = "'4600' || lpad(source::text, 14, '0')";
const STAYS = `INSERT INTO pack_stay
    (container, position, at_micros, moved_from, status_from, place_from, status, paused_status, place)
  SELECT DISTINCT ${BOX}, source + 1, 1577836800000000 + source, told, told, told, status, 'paused_circulation', place
  FROM ${DRAWN} WHERE way = 'box'`;
/** In no order: packs of a document lie far apart after some years of sales. */
const PACKS = `INSERT INTO pack_state (item, at_micros, position, first_from, status_from, place_from, suspended,
    status, place, series, expires_on, series_from, container)
  SELECT '${GTIN}S' || lpad(n::text, 12, '0'), 1577836800000000 + told,
    CASE way WHEN 'box' THEN source + 1 ELSE told END,
    source + 1, CASE way WHEN 'box' THEN source + 1 ELSE told END, CASE way WHEN 'box' THEN source + 1 ELSE told END,
    status = 'paused_circulation', CASE way WHEN 'box' THEN 'in_circulation' ELSE status END,
    CASE way WHEN 'box' THEN '00000000000' || 100 + source % 20 ELSE place END,
    '${SERIES}', '2028-12-31', source + 1, CASE way WHEN 'box' THEN ${BOX} END
  FROM ${DRAWN} ORDER BY hashint8(n)`;

/** What is true of a series that was filled. */
export interface SeriesTruth {
  packs: number;
  sources: number;
  totals: Record<string, number>;
}

/** A series of so many packs: 200 of each document, of 20 branches and 1,000 customers, 4 in 10 sold one by one. */
export async function fillSeries(pool: Pool, packs: number): Promise<SeriesTruth> {
  await migrate(pool, readModelSchemas);
  for (let from = 0; from < packs; from += PACKS_AT_ONCE)
    for (const statement of [SOURCES, TELLERS, STAYS, PACKS])
      await pool.query(statement, [from, Math.min(packs, from + PACKS_AT_ONCE) - 1]);
  for (const table of ['movement_document', 'pack_state', 'pack_stay']) await pool.query(`VACUUM ANALYZE ${table}`);
  const totals: Record<string, number> = {};
  for (let n = 0; n < packs; n += 1) {
    const drawn = (n * 7919 + SEED) % 100;
    const fate = FATES.find(([, below]) => drawn < below)?.[0] as string;
    totals[fate] = (totals[fate] ?? 0) + 1;
  }
  return { packs, sources: Math.ceil(packs / PACKS_OF_SOURCE), totals };
}
