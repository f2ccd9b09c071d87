import { quoted } from '#duckdb';
import { wrongCheckDigit } from '../snapshots/codes.js';
import type { Leg } from './rules.js';
import type { RunRecord } from './run-record.js';
import { statusesOf, TELLING_PARTS } from './statuses.js';
import { withValues } from './values.js';

/** Whether the last digit of an item's GTIN or SSCC is wrong. */
export const WRONG_DIGIT = `CASE length(item) WHEN 18 THEN ${wrongCheckDigit('item', 18)}
  ELSE ${wrongCheckDigit('item', 14)} END`;

const isOneOf = (statuses: string[]): string => {
  // As a function of one column: DuckDB applies it to a file's dictionary instead of to each row.
  return `list_contains([${statuses.map(quoted).join(', ')}], status)`;
};

const SHELF = statusesOf('shelf');
const isWhole = (status: string): boolean => !TELLING_PARTS.some((prefix) => status.startsWith(prefix));

const FOUND = "answer = 'found'";
const NOT_EXPIRED = 'coalesce(expiry >= $day, true)';

/** What a side says by itself, over the columns of its file. */
const OF_LEG: Partial<Record<Leg, Record<string, string>>> = {
  stock: { s_calm: `copies = 1 AND ${NOT_EXPIRED} AND coalesce(part = '1/1', true)` },
  record: { r_shelf: isOneOf(SHELF), r_whole: `coalesce(part_left = '1/1', true)` },
  registry: {
    g_calm: `${FOUND} AND ${isOneOf(SHELF.filter(isWhole))} AND ${NOT_EXPIRED}
      AND coalesce(moved_at >= $moment - $hung, true)`,
    g_left: `${FOUND} AND ${isOneOf(statusesOf('sold', 'gone'))}`,
  },
};

/** Columns for {@link agrees} that are known before the sides are joined, each as ", CONDITION AS name". */
export function columnsOfAgreement(leg: Leg, run: RunRecord): string {
  const digits = leg === 'stock' && run.wrongCheckDigits ? ` AND NOT ${WRONG_DIGIT}` : '';
  // What is in a container of the stock is another question.
  const boxes = leg === 'stock' && run.containers ? ' AND length(item) <> 18' : '';
  return Object.entries(OF_LEG[leg] ?? {})
    .map(([name, when]) =>
      run.legs[leg] === undefined
        ? `, NULL::BOOLEAN AS ${name}`
        : `, ${withValues(when, run)}${digits}${boxes} AS ${name}`,
    )
    .join('');
}

/**
 * Whether sides agree about an item, so that no rule can hold: nearly all items, which need not be joined with anything
 * else. Either it is in stock and the registry has it on that shelf, or it is not in stock and has left circulation;
 * and our record, if it has it, says the same. What this calls agreeing, no rule may speak of: agreeing.int.spec.ts.
 */
export function agrees({ containers, legs, settings: { owner } }: RunRecord): string {
  const inStock = `s_calm AND g_calm AND s_place = g_place AND coalesce(s_series = g_series, true)
      AND coalesce(s_expiry = g_expiry, true) AND (r_shelf OR r_status IS NULL)
      AND coalesce(r_whole, true) AND coalesce(s_funding = g_funding, true)
      AND coalesce(coalesce(s_owner, ${owner === null ? 'NULL' : quoted(owner)}) = g_owner, true)
      AND (r_container IS NOT DISTINCT FROM g_container OR (r_container IS NULL AND r_known_from IS NULL))`;
  // An item in a container of the stock is in stock, and of one in a refused row nobody knows.
  const isRefused = legs.stock?.refused !== undefined;
  const loose = containers || isRefused ? 'AND r_container IS NULL AND g_container IS NULL' : '';
  const named = isRefused ? 'AND item NOT IN (FROM refused_in)' : '';
  const left = `copies IS NULL AND g_left AND (r_status = g_status OR r_status IS NULL) ${loose} ${named}`;
  return `coalesce((${inStock}) OR (${left}), false)`;
}
